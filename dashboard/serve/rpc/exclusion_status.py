"""Lookups of one hash: its visible record or null, mostly from memory, always current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from dashboard.domain.people.access import ApiKey
from dashboard.errors import StoreError, WireError
from dashboard.logs import get_logger
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.rpc.dispatch import CallResult
from dashboard.store.rejections.archive import queryable_record
from dashboard.store.rejections.known_hashes import TooManyVersions, load_heads
from dashboard.wire.exclusion import StatusRequest, decode_hash_param, encode_record
from dashboard.wire.jsonrpc import RpcError

_READERS: Final = 16
_READ_AT_ONCE: Final = 1_000
"""Records of one message that are read on the event loop: 20 ms, for which others wait. In a
thread, through SQLAlchemy, they would hold the interpreter for half a second."""

_PAUSE_AFTER_FAILURE: Final = 1.0

_log = get_logger(__name__)

Found = TypeVar("Found")
_ONE: Final = 1


async def load_known_hashes(dependencies: ServeDependencies) -> None:
    """Load which hashes have rejections; until then every answer comes from a thread."""
    while True:
        try:
            dependencies.known.adopt(await to_thread.run_sync(load_heads, dependencies.store))
            return
        except StoreError as error:
            _log.warning("The known hashes cannot be loaded", error=str(error))
        except Exception:  # noqa: BLE001 - top of a loop; without it lookups are slow, not wrong
            _log.exception("Loading the known hashes failed unexpectedly")
        await anyio.sleep(_PAUSE_AFTER_FAILURE)


class StatusReader:
    """Answers status requests: usual ones at once, all others from a thread."""

    def __init__(self, dependencies: ServeDependencies) -> None:
        """Answer from the store and for the networks of `dependencies`."""
        self._dependencies = dependencies
        self._counts = dependencies.counters.lookups
        self._reader = dependencies.rejections
        self._known = dependencies.known
        self._store_freshness = dependencies.store_freshness
        self._limiter = CapacityLimiter(_READERS)
        self._shared_read = SharedRead(self._known.read_arrivals, self._known.take_in)
        self._sequential_reads = SequentialReads()

    def is_current(self) -> bool:
        """Whether the known hashes are current for requests received before this call.

        Where the store is a round trip away, only `refresh` can find out.
        """
        if self._store_freshness.is_fresh:
            return True
        if not self._reader.is_near:
            return False
        try:
            is_current = self._known.is_current()
        except StoreError:
            return False  # the thread that answers instead will find and report the same
        if is_current:
            self._store_freshness.mark_fresh()
        return is_current

    async def refresh(self) -> bool:
        """Check a store that is a round trip away, while other requests are answered."""
        if self._reader.is_near:
            return False  # `is_current` could not read it
        try:
            return await self._shared_read.read()
        except StoreError:
            return False

    def expire(self) -> None:
        """Check the store again for the next request."""
        self._store_freshness.expire()

    async def records(self, request: StatusRequest, caller: ApiKey) -> Mapping[int, bytes] | None:
        """Find what `statuses` would, with little work; None where that is not possible.

        Returns records as JSON, by the place of the call; the result of all other calls is null.
        """
        heads = self._known.among(request.heads)
        if not heads:
            self._counts["null"] += len(request.ids)
            return {}
        places = list(compress(range(len(request.ids)), map(heads.__contains__, request.heads)))
        if len(places) > _READ_AT_ONCE:
            return None
        try:
            records = await self._visible_to(caller, request, places)
        except (StoreError, TooManyVersions):
            return None
        self._counts["record"] += len(records)
        self._counts["null"] += len(request.ids) - len(records)
        return records

    async def _visible_to(
        self, caller: ApiKey, request: StatusRequest, places: Sequence[int]
    ) -> dict[int, bytes]:
        """Return the visible records of those calls, as JSON."""
        networks = self._dependencies.networks_of(caller)
        now = self._dependencies.clock()
        hashes = {place: request.tx_hash(place) for place in places}
        read = partial(self._dependencies.records.queryable_records, networks, hashes.values(), now)
        records = read() if self._reader.is_near else await self._sequential_reads.run(read)
        return {
            place: encode_record(records[tx_hash])
            for place, tx_hash in hashes.items()
            if tx_hash in records
        }

    async def statuses(self, calls: Sequence[Any], caller: ApiKey) -> Sequence[CallResult]:
        """Look each hash up in a thread, on the networks that the caller's key opens."""
        read = partial(self._read, calls, caller)
        outcomes = await to_thread.run_sync(read, limiter=self._limiter)
        for outcome in outcomes:
            if not isinstance(outcome, RpcError):
                self._counts["null" if outcome == b"null" else "record"] += 1
        return outcomes

    def _read(self, calls: Sequence[Any], caller: ApiKey) -> list[CallResult]:
        networks = self._dependencies.networks_of(caller)
        now = self._dependencies.clock()
        outcomes: list[CallResult] = []
        with self._dependencies.store.read() as connection:
            for params in calls:
                try:
                    tx_hash = decode_hash_param(params)
                except WireError as error:
                    outcomes.append(RpcError.invalid_params(str(error)))
                else:
                    outcomes.append(
                        encode_record(queryable_record(connection, networks, tx_hash, now))
                    )
        return outcomes


class SharedRead(Generic[Found]):
    """Reads in a thread while callers wait, each time for all of them; on one event loop.

    Used for a store that is a round trip away. A notification of PostgreSQL's could not replace
    the read: it comes some time after its commit, and nothing says that none is under way. What
    another process has acknowledged would meanwhile be answered as not rejected.
    """

    def __init__(self, read: Callable[[], Found], apply: Callable[[Found], bool]) -> None:
        """Pass what `read` returns to `apply`, which runs on the event loop."""
        self._read = read
        self._apply = apply
        self._thread = CapacityLimiter(_ONE)
        self._next: asyncio.Future[bool] | None = None
        self._reading: asyncio.Task[None] | None = None

    async def read(self) -> bool:
        """Return what `apply` does with a read that began after this call, or raise its error.

        A read that is under way may have missed what this caller must see.
        """
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_while_awaited())
        return await asyncio.shield(self._next)  # others wait for it, too

    async def _read_while_awaited(self) -> None:
        try:
            while (waiting := self._next) is not None:
                self._next = None
                try:
                    found = await to_thread.run_sync(self._read, limiter=self._thread)
                    waiting.set_result(self._apply(found))
                except Exception as error:  # noqa: BLE001 - raised where it is awaited
                    waiting.set_exception(error)
                    waiting.exception()  # retrieved, or asyncio logs it where all callers have left
                finally:
                    waiting.cancel()  # does nothing, unless the loop ends before the read
        finally:
            self._reading = None


class SequentialReads:
    """Runs reads in a thread, one after the other; on one event loop."""

    def __init__(self) -> None:
        """Run nothing yet."""
        self._thread = CapacityLimiter(_ONE)

    async def run(self, read: Callable[[], Found]) -> Found:
        """Return what `read` does, when all before it have ended.

        It has a task of its own: when asyncio cancels a caller, the limiter is released although
        the thread goes on, and the next read would begin in the middle of this one.
        """
        reading = asyncio.create_task(to_thread.run_sync(read, limiter=self._thread))
        reading.add_done_callback(_retrieve_error)
        return await asyncio.shield(reading)


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    """Retrieve an error, or asyncio logs it where the caller has left."""
    if not task.cancelled():
        task.exception()
