"""Group commit: what many callers want kept at the same time goes to disk in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar

from anyio import CapacityLimiter, to_thread

from dashboard.errors import StoreUnavailable

Item = TypeVar("Item")
Kept = TypeVar("Kept")

Commit: TypeAlias = Callable[[Sequence[Item]], Sequence[Kept]]
"""Keeps items in one transaction, in a thread; an error keeps none of them."""

LARGEST_GROUP: Final = 100
"""Items of one transaction: more would hold the write lock for longer than others like to wait."""


class TooManyWaiting(Exception):
    """So many items wait already that no more are taken."""


class _Submission(Generic[Item, Kept]):
    """What one caller wants kept, and what became of each item so far."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.outcomes: list[Kept | Exception] = []
        self.done = asyncio.Event()

    def take(self, outcome: Kept | Exception) -> None:
        """Note what became of the next item; they are committed in their order."""
        self.outcomes.append(outcome)
        if len(self.outcomes) == len(self.items):
            self.done.set()


class GroupCommit(Generic[Item, Kept]):
    """Gathers items while a transaction is under way, and commits them in the next one.

    One writer for all callers, on one event loop. It begins with the first item and ends with
    the last, so nothing has to be started or stopped; who waits for it waits for the disk.
    """

    def __init__(self, commit: Commit[Item, Kept], most_waiting: int) -> None:
        """Take items until `most_waiting` wait."""
        self._commit = commit
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[Item, _Submission[Item, Kept]]] = deque()
        self._thread = CapacityLimiter(1)
        self._writer: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many items are not yet being written."""
        return len(self._waiting)

    async def keep(self, items: Sequence[Item]) -> list[Kept | Exception]:
        """Return what became of each item, when all of it is on disk or has failed.

        An item is kept whole or not at all, even where its caller has left. TooManyWaiting:
        nothing is kept. More items than that wait only where one caller brought them at once.
        """
        if not items:
            return []
        if len(self._waiting) >= self._most_waiting:
            raise TooManyWaiting
        submission: _Submission[Item, Kept] = _Submission(items)
        self._waiting.extend((item, submission) for item in items)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        await submission.done.wait()
        return submission.outcomes

    async def _write(self) -> None:
        try:
            while self._waiting:
                size = min(len(self._waiting), LARGEST_GROUP)
                group = [self._waiting.popleft() for _ in range(size)]
                items = [item for item, _ in group]
                outcomes = await self._committed(items)
                for (_, submission), outcome in zip(group, outcomes, strict=True):
                    submission.take(outcome)
        finally:
            self._writer = None

    async def _committed(self, items: Sequence[Item]) -> Sequence[Kept | Exception]:
        try:
            return await to_thread.run_sync(self._outcomes, items, limiter=self._thread)
        except Exception as error:  # noqa: BLE001 - no thread could be had; nobody waits for ever
            return [error] * len(items)

    def _outcomes(self, items: Sequence[Item]) -> Sequence[Kept | Exception]:
        """Commit a group; where one item may be what spoils it, commit each by itself."""
        try:
            return self._commit(items)
        except StoreUnavailable as error:
            return [error] * len(items)
        except Exception as error:  # noqa: BLE001 - its callers are told; the others' items go on
            if len(items) == 1:
                return [error]
        return [outcome for item in items for outcome in self._outcomes([item])]
