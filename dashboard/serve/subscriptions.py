"""Subscriptions to new rejections, the sessions they push to, and the feed that all share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, Protocol, TypeAlias
from uuid import UUID

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import checkpoint_if_cancelled
from msgspec import Raw, json
from msgspec.structs import replace

from dashboard.domain.people.access import ApiKey
from dashboard.domain.rejections.exclusion import ArchivedRejection
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.errors import StoreError
from dashboard.logs import get_logger, warn_of
from dashboard.serve.counters import Counters
from dashboard.store.engine.engine import Store, installation_id
from dashboard.store.rejections.archive import (
    PageRequest,
    all_arrivals,
    archive_page,
    last_rejection_id,
)
from dashboard.wire.rejection_query import (
    LARGEST_ANSWER,
    encode_cursor,
    encode_rejection,
    within_bounds,
)

PERIOD: Final = timedelta(milliseconds=50)
"""How often the store is read for what other processes saved, while there are subscriptions."""

_AT_ONCE: Final = 200
_CATCH_UP_THREADS: Final = 2
"""Threads that read the past for subscriptions; new rejections have a thread of their own, as the
past may be a million rows."""

_LARGEST_BACKLOG: Final = 100_000
"""Bytes of past rejections in memory for one subscription while its client's queue is full."""

OpenSessions: TypeAlias = dict[asyncio.Task[Any], Callable[[], None]]
"""The task of each open WebSocket, with the function that asks it to finish."""

EncodedArrivals: TypeAlias = Sequence[tuple[ArchivedRejection, bytes]]

_log = get_logger(__name__)


class Feed:
    """Pushes to subscriptions every rejection that arrives after their position, once and in order.

    A subscription first catches up from the store, at its client's pace, and becomes live when its
    position is that of the live ones; nothing else runs on the event loop between that comparison
    and going live. `run` has to run.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._place = 0
        self._live: dict[Subscription, None] = {}
        self._catching_up: dict[Subscription, CancelScope] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_arrivals = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._live_thread = CapacityLimiter(1)
        self._catch_up_threads = CapacityLimiter(_CATCH_UP_THREADS)

    def wake(self) -> None:
        """Push at once what was saved; may be called by any thread."""
        if self._live and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._has_arrivals.set)

    def join(self, subscription: Subscription) -> None:
        """Begin to push what came after the position of a subscription."""
        scope = self._catching_up[subscription] = CancelScope()
        task = asyncio.get_running_loop().create_task(self._join(subscription, scope))
        self._tasks.add(task)
        task.add_done_callback(self._joined)

    def leave(self, subscription: Subscription) -> None:
        self._live.pop(subscription, None)
        if scope := self._catching_up.pop(subscription, None):
            scope.cancel()  # unlike a cancelled task, it leaves no thread alone that still reads

    async def run(self) -> None:
        """Push new rejections until cancelled."""
        self._loop = asyncio.get_running_loop()
        is_failing = False
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PERIOD.total_seconds() if self._live else None):
                    await self._has_arrivals.wait()
            self._has_arrivals.clear()
            try:
                await self._push_new()
                is_failing = False
            except Exception as error:  # noqa: BLE001 - top of a loop on which all subscribers depend
                if not is_failing:
                    warn_of(_log, "Subscribers wait: new rejections cannot be read now", error)
                is_failing = True
                await asyncio.sleep(PERIOD.total_seconds())

    async def _push_new(self) -> None:
        while self._live:
            place = self._place
            arrivals = await to_thread.run_sync(self._read, place, limiter=self._live_thread)
            for archived, item in arrivals:
                if self._place != place:
                    break  # all have left, and another began at another place
                place = self._place = archived.rejection.rejection_id
                for subscription in self._live:
                    subscription.push(archived, item)
                await asyncio.sleep(0)
            for subscription in self._live:
                subscription.push_missed()
            if not arrivals and self._place == place:
                return

    async def _join(self, subscription: Subscription, scope: CancelScope) -> None:
        try:
            with scope:
                await self._catch_up(subscription)
        finally:
            self._catching_up.pop(subscription, None)

    async def _catch_up(self, subscription: Subscription) -> None:
        while True:
            try:
                arrivals, end, is_whole = await to_thread.run_sync(
                    self._read_for,
                    subscription.wanted,
                    subscription.place,
                    limiter=self._catch_up_threads,
                )
            except StoreError:
                await asyncio.sleep(PERIOD.total_seconds())
                continue
            await checkpoint_if_cancelled()
            for archived, item in arrivals:
                await subscription.push_when_ready(archived, item)
            subscription.place = max(subscription.place, end)
            if is_whole and (not self._live or subscription.place >= self._place):
                self._go_live(subscription)
                return

    def _joined(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.error("A subscription failed unexpectedly", exc_info=error)

    def _go_live(self, subscription: Subscription) -> None:
        if not self._live:
            self._place = subscription.place
        self._live[subscription] = None
        self._has_arrivals.set()

    def _read(self, place: int) -> EncodedArrivals:
        with self._store.read() as connection:
            installation = installation_id(connection)
            found = all_arrivals(connection, place, _AT_ONCE)
        return _encode(found, installation)

    def _read_for(self, wanted: RejectionFilter, place: int) -> tuple[EncodedArrivals, int, bool]:
        """Return matches after `place`, the position they reach, and whether that is all."""
        networks = wanted.network_ids or frozenset()
        part = PageRequest(_AT_ONCE, place, is_newest_first=False)
        with self._store.read() as connection:
            installation = installation_id(connection)
            found = archive_page(connection, replace(wanted, network_ids=None), networks, part)
            end = last_rejection_id(connection)
        arrivals = _encode(found, installation, _LARGEST_BACKLOG)
        is_whole = len(arrivals) == len(found) < _AT_ONCE
        return arrivals, end if is_whole else arrivals[-1][0].rejection.rejection_id, is_whole


def _encode(
    found: Sequence[ArchivedRejection], installation: UUID, most: int = LARGEST_ANSWER
) -> EncodedArrivals:
    """Encode rejections once for all subscriptions, about `most` bytes of them."""
    items = within_bounds((encode_rejection(each, installation) for each in found), most)
    return list(zip(found, items, strict=False))


NOTIFICATION: Final = "linewatch_subscription"


class Session(Protocol):
    """An open WebSocket, as methods use it."""

    @property
    def caller(self) -> ApiKey:
        """The owner of the key that opened it."""

    def push(self, text: bytes) -> bool:
        """Queue a message; False if the client's queue is full, and nothing is queued.

        Once full, a queue accepts nothing until half of it was read.
        """

    async def room(self) -> None:
        """Wait until the queue accepts a message."""

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the answers to the present messages were sent."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the session has ended, for whatever reason."""


class Subscription:
    """Turns rejections into pushes to one session.

    `wanted.network_ids` are the networks that the caller's key may read. `place` is the newest
    arrival that was pushed, did not match or was missed; none is pushed twice.
    """

    def __init__(
        self,
        subscription_id: str,
        wanted: RejectionFilter,
        session: Session,
        place: int,
        installation: UUID,
        counters: Counters,
    ) -> None:
        self.subscription_id = subscription_id
        self.wanted = wanted
        self.place = place
        self._session = session
        self._installation = installation
        self._counters = counters
        self._missed = 0
        self._missed_after = place

    def push(self, archived: ArchivedRejection, item: bytes) -> None:
        """Push a rejection if it matches and is new; count it as missed if the queue is full."""
        rejection = archived.rejection
        before, place = self.place, rejection.rejection_id
        if place <= before:
            return
        self.place = place
        if not self.wanted.fits(rejection):
            return
        self.push_missed()
        if not self._missed and self._push(item):
            return
        if not self._missed:
            self._missed_after = before
        self._missed += 1
        self._counters.missed += 1

    async def push_when_ready(self, archived: ArchivedRejection, item: bytes) -> None:
        """Push a rejection of the past, as soon as the client's queue accepts it."""
        while not self._push(item):
            await self._session.room()
        self.place = archived.rejection.rejection_id

    def push_missed(self) -> None:
        """Tell a client that reads again how many rejections it missed, and after which."""
        if not self._missed:
            return
        cursor = encode_cursor(self._missed_after, self._installation)
        if self._push(json.encode({"missed": self._missed, "cursor": cursor})):
            self._missed = 0

    def _push(self, result: bytes) -> bool:
        params = {"subscription": self.subscription_id, "result": Raw(result)}
        message = {"jsonrpc": "2.0", "method": NOTIFICATION, "params": params}
        is_queued = self._session.push(json.encode(message))
        self._counters.pushes += is_queued
        return is_queued
