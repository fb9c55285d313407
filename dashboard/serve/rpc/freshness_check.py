"""Looks at a store that is a round trip away: the event loop waits for none, many share one.

Why a round trip and no notification of PostgreSQL's: a notification comes some time after the
commit of which it tells, and nothing says that none is under way. What another process has
acknowledged would for that time be told as not rejected.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from anyio import CapacityLimiter, to_thread

Found = TypeVar("Found")

_ONE: Final = 1


class SharedLook(Generic[Found]):
    """Looks in a thread, one look after the other, while somebody waits; on one event loop."""

    def __init__(self, look: Callable[[], Found], take_in: Callable[[Found], bool]) -> None:
        """Hand what `look` finds to `take_in`, which runs on the event loop."""
        self._look = look
        self._take_in = take_in
        self._thread = CapacityLimiter(_ONE)
        self._next: asyncio.Future[bool] | None = None
        self._looking: asyncio.Task[None] | None = None

    async def join(self) -> bool:
        """Return what `take_in` says of a look that began after this call, or raise its error.

        A look that is under way may have passed what this caller must see, so it is no use.
        """
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        if self._looking is None:
            self._looking = asyncio.create_task(self._go_on())
        return await asyncio.shield(self._next)  # others wait for it, too

    async def _go_on(self) -> None:
        try:
            while (waiting := self._next) is not None:
                self._next = None
                try:
                    found = await to_thread.run_sync(self._look, limiter=self._thread)
                    waiting.set_result(self._take_in(found))
                except Exception as error:  # noqa: BLE001 - whoever waits is told
                    waiting.set_exception(error)
                    waiting.exception()  # or it is reported where all who waited have left
                finally:
                    waiting.cancel()  # nothing, unless the loop ends before the look does
        finally:
            self._looking = None


class OneByOne:
    """Asks in a thread, one question after the other; on one event loop."""

    def __init__(self) -> None:
        """Ask nothing yet."""
        self._thread = CapacityLimiter(_ONE)

    async def ask(self, question: Callable[[], Found]) -> Found:
        """Return what `question` does, in its turn.

        It has a task of its own: asyncio's cancelling of a caller lets go of the limiter, although
        the thread goes on, and the next question would come into the middle of this one.
        """
        asking = asyncio.create_task(to_thread.run_sync(question, limiter=self._thread))
        asking.add_done_callback(_hear)
        return await asyncio.shield(asking)


def _hear(asked: asyncio.Task[Any]) -> None:
    """Hear of an error, or it is reported where whoever asked has left."""
    if not asked.cancelled():
        asked.exception()
