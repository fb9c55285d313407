"""Group commit: items of many callers are written to disk in one transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar

from anyio import CapacityLimiter, to_thread

from dashboard.errors import StoreUnavailable

Item = TypeVar("Item")
Written = TypeVar("Written")

Commit: TypeAlias = Callable[[Sequence[Item]], Sequence[Written]]
"""Writes items in one transaction, in a thread; an error writes none of them."""

LARGEST_GROUP: Final = 100
"""Items of one transaction: more would hold the write lock for too long."""


class QueueFull(Exception):
    """So many items wait already that no more are accepted."""


class _Submission(Generic[Item, Written]):
    """The items of one caller, and the outcomes so far."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.outcomes: list[Written | Exception] = []
        self.done = asyncio.Event()

    def add_outcome(self, outcome: Written | Exception) -> None:
        """Add the outcome of the next item; they are committed in their order."""
        self.outcomes.append(outcome)
        if len(self.outcomes) == len(self.items):
            self.done.set()


class GroupCommit(Generic[Item, Written]):
    """Collects items while a transaction is under way, and commits them in the next one.

    One writer for all callers, on one event loop. Its task begins with the first item and ends
    with the last, so nothing has to be started or stopped.
    """

    def __init__(self, commit: Commit[Item, Written], most_waiting: int) -> None:
        """Accept items until `most_waiting` wait."""
        self._commit = commit
        self._most_waiting = most_waiting
        self._waiting: deque[tuple[Item, _Submission[Item, Written]]] = deque()
        self._thread = CapacityLimiter(1)
        self._writer: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many items are not yet being written."""
        return len(self._waiting)

    async def write(self, items: Sequence[Item]) -> list[Written | Exception]:
        """Return the outcome of each item, when all are on disk or have failed.

        An item is written whole or not at all, even where its caller has left. QueueFull: nothing
        is written. One caller may submit more items at once than may wait.
        """
        if not items:
            return []
        if len(self._waiting) >= self._most_waiting:
            raise QueueFull
        submission: _Submission[Item, Written] = _Submission(items)
        self._waiting.extend((item, submission) for item in items)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write_all())
        await submission.done.wait()
        return submission.outcomes

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                size = min(len(self._waiting), LARGEST_GROUP)
                group = [self._waiting.popleft() for _ in range(size)]
                items = [item for item, _ in group]
                outcomes = await self._committed(items)
                for (_, submission), outcome in zip(group, outcomes, strict=True):
                    submission.add_outcome(outcome)
        finally:
            self._writer = None

    async def _committed(self, items: Sequence[Item]) -> Sequence[Written | Exception]:
        try:
            return await to_thread.run_sync(self._outcomes, items, limiter=self._thread)
        except Exception as error:  # noqa: BLE001 - no thread could be started; its callers must not wait for ever
            return [error] * len(items)

    def _outcomes(self, items: Sequence[Item]) -> Sequence[Written | Exception]:
        """Commit a group; where one item may have failed it, commit each by itself."""
        try:
            return self._commit(items)
        except StoreUnavailable as error:
            return [error] * len(items)
        except Exception as error:  # noqa: BLE001 - returned to its callers; the items of others go on
            if len(items) == 1:
                return [error]
        return [outcome for item in items for outcome in self._outcomes([item])]
