"""Look-ups of one hash: its visible record or null, mostly from memory, always current."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, Final, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from dashboard.domain.people.access import ApiKey
from dashboard.errors import StoreError, WireError
from dashboard.logs import get_logger
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.rpc.dispatch import CallResult
from dashboard.store.rejections.archive import queryable_record
from dashboard.store.rejections.known_hashes import KnownHashes, TooManyVersions, load_heads
from dashboard.wire.exclusion import encode_record
from dashboard.wire.jsonrpc import RpcError
from dashboard.wire.status_request import StatusRequest, decode_hash_param

_READERS: Final = 16
_READ_AT_ONCE: Final = 1_000
"""How many records of one message are read on the event loop: 20 ms, for which others wait. In a
thread, through SQLAlchemy, they would hold the interpreter for half a second."""

_PAUSE_AFTER_FAILURE: Final = 1.0

_log = get_logger(__name__)

Found = TypeVar("Found")


async def load_known_hashes(dependencies: ServeDependencies) -> None:
    """Load which hashes have rejections; until then every answer comes from a thread."""
    while True:
        try:
            dependencies.known.adopt(await to_thread.run_sync(load_heads, dependencies.store))
            return
        except StoreError as error:
            _log.warning("The known hashes cannot be loaded", why=str(error))
        except Exception:  # noqa: BLE001 - top of a loop; without it look-ups are slow, not wrong
            _log.exception("Loading the known hashes failed unexpectedly")
        await anyio.sleep(_PAUSE_AFTER_FAILURE)


class StatusReader:
    """Answers status requests: usual ones at once, all others from a thread."""

    def __init__(self, dependencies: ServeDependencies) -> None:
        self._dependencies = dependencies
        self._counts = dependencies.counters.lookups
        self._reader = dependencies.rejections
        self._known = dependencies.known
        self._limiter = CapacityLimiter(_READERS)
        self._remote = None if self._reader.is_near else RemoteReads(self._known)
        self._is_checked = False

    async def quick_records(
        self, request: StatusRequest, caller: ApiKey
    ) -> Mapping[int, bytes] | None:
        """Find what `statuses` would, with little work; None if that is not possible.

        Returns records as JSON, by the position of the call; the result of all other calls is null.
        """
        try:
            if not await self._is_current():
                return None
            heads = self._known.among(request.heads)
            if not heads:
                self._counts["null"] += len(request.ids)
                return {}
            calls = range(len(request.ids))
            places = list(compress(calls, map(heads.__contains__, request.heads)))
            if len(places) > _READ_AT_ONCE:
                return None
            records = await self._visible_to(caller, request, places)
        except (StoreError, TooManyVersions):
            return None  # the thread that answers instead will find and report the same
        self._counts["record"] += len(records)
        self._counts["null"] += len(request.ids) - len(records)
        return records

    async def _is_current(self) -> bool:
        """Whether the known hashes are current for requests received before this call.

        One check of a near store serves all requests of one turn of the event loop, which saves a
        fifth of the work of a look-up. The loop calls back in order: what is received or saved
        after the check is answered after the check has expired.
        """
        if self._remote:
            return await self._remote.is_current()
        if not self._is_checked and self._known.is_current():
            self._is_checked = True
            asyncio.get_running_loop().call_soon(self._expire_check)
        return self._is_checked

    def _expire_check(self) -> None:
        self._is_checked = False

    async def _visible_to(
        self, caller: ApiKey, request: StatusRequest, places: Sequence[int]
    ) -> dict[int, bytes]:
        """Return the visible records of those calls, as JSON."""
        networks = self._dependencies.networks_of(caller)
        now = self._dependencies.clock()
        hashes = {place: request.tx_hash(place) for place in places}
        read = partial(self._reader.queryable_records, networks, hashes.values(), now)
        records = await self._remote.run(read) if self._remote else read()
        return {
            place: encode_record(records[tx_hash])
            for place, tx_hash in hashes.items()
            if tx_hash in records
        }

    async def statuses(self, calls: Sequence[Any], caller: ApiKey) -> Sequence[CallResult]:
        """Look each hash up in a thread, on the networks that the caller's key may read."""
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


class RemoteReads:
    """Reads a store that is a round trip away, one after the other in a thread; on one event loop.

    Each read is a task of its own: when a caller is cancelled, its thread goes on, and the next
    read must not begin in the middle of it.
    """

    def __init__(self, known: KnownHashes) -> None:
        self._known = known
        self._turn = asyncio.Lock()
        self._next_check: asyncio.Task[bool] | None = None

    async def is_current(self) -> bool:
        """Check by a read that begins after this call; all who wait for its turn share it.

        A notification of PostgreSQL could not replace the read: it comes some time after its
        commit, so what another process has acknowledged would be answered as not rejected.
        """
        if self._next_check is None:
            self._next_check = _task_of(self._check())
        return await asyncio.shield(self._next_check)

    async def run(self, read: Callable[[], Found]) -> Found:
        """Return what `read` returns, once all reads before it have ended."""
        return await asyncio.shield(_task_of(self._run(read)))

    async def _check(self) -> bool:
        async with self._turn:
            self._next_check = None  # this read may miss what later callers must see
            return self._known.take_in(await to_thread.run_sync(self._known.read_arrivals))

    async def _run(self, read: Callable[[], Found]) -> Found:
        async with self._turn:
            return await to_thread.run_sync(read)


def _task_of(reading: Coroutine[Any, Any, Found]) -> asyncio.Task[Found]:
    """Return a task whose error is not logged if all of its callers have left."""
    task = asyncio.create_task(reading)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())
    return task
