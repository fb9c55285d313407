"""What anybody asks of one hash: its visible record, or null."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from dashboard.errors import StoreError, WireError
from dashboard.logs import get_logger
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import Outcome
from dashboard.store.rejections.known_hashes import load_heads
from dashboard.store.rejections.lookup import TooManyVersions
from dashboard.store.rejections.read import queryable_record
from dashboard.wire.exclusion import decode_hash_param, encode_record
from dashboard.wire.jsonrpc_errors import RpcFault
from dashboard.wire.status_requests import Lookup

_READERS: Final = 16
_READ_AT_ONCE: Final = 1_000
"""Records of one message that are read on the event loop: 20 milliseconds, for which others wait.
In a thread, through SQLAlchemy, they take the interpreter from the others for half a second."""

_PAUSE_AFTER_FAILURE: Final = 1.0

_log = get_logger(__name__)


async def learn(services: ServeServices) -> None:
    """Load which hashes are on record; until then every answer comes from a thread."""
    while True:
        try:
            services.known.adopt(await to_thread.run_sync(load_heads, services.store))
            return
        except StoreError as error:
            _log.warning("The rejections on record cannot be read", error=str(error))
        except Exception:  # noqa: BLE001 - top of a loop; without it lookups are slow, not wrong
            _log.exception("Reading the rejections on record failed unexpectedly")
        await anyio.sleep(_PAUSE_AFTER_FAILURE)


class Lookups:
    """Answers what is on record: usual questions at once, all others from a thread."""

    def __init__(self, services: ServeServices) -> None:
        """Answer from the store and for the networks of `services`."""
        self._services = services
        self._counted = services.counters.lookups
        self._reader = services.rejections
        self._known = services.known
        self._last_look = services.last_look
        self._limiter = CapacityLimiter(_READERS)
        self._shared = SharedLook(self._known.look, self._known.take_in)
        self._one_by_one = OneByOne()

    def is_current(self) -> bool:
        """Whether `records` may be called for questions that had come before this call.

        Where the store is a round trip away, only `look` can tell.
        """
        if self._last_look.is_fresh:
            return True
        if not self._reader.is_near:
            return False
        try:
            is_current = self._known.is_current()
        except StoreError:
            return False  # the thread that answers instead will find the same, and say it
        if is_current:
            self._last_look.looked()
        return is_current

    async def look(self) -> bool:
        """Tell the same of a store that is a round trip away, while others are answered."""
        if self._reader.is_near:
            return False  # `is_current` could not look
        try:
            return await self._shared.join()
        except StoreError:
            return False

    def outdate(self) -> None:
        """Look at the store again for the next question."""
        self._last_look.outdate()

    async def records(self, lookup: Lookup, caller: ApiKey) -> Mapping[int, bytes] | None:
        """Find what `statuses` would, with little work; None where that would take much.

        Returns records as JSON, by the place of the call; all other calls found null.
        """
        heads = self._known.among(lookup.heads)
        if not heads:
            self._counted["null"] += len(lookup.ids)
            return {}
        places = list(compress(range(len(lookup.ids)), map(heads.__contains__, lookup.heads)))
        if len(places) > _READ_AT_ONCE:
            return None
        try:
            records = await self._visible_to(caller, lookup, places)
        except (StoreError, TooManyVersions):
            return None
        self._counted["record"] += len(records)
        self._counted["null"] += len(lookup.ids) - len(records)
        return records

    async def _visible_to(
        self, caller: ApiKey, lookup: Lookup, places: Sequence[int]
    ) -> dict[int, bytes]:
        """Return the visible records of those calls, as JSON."""
        networks = self._services.networks_of(caller)
        now = self._services.clock()
        hashes = {place: lookup.tx_hash(place) for place in places}
        read = partial(self._services.records.visible_of, networks, hashes.values(), now)
        records = read() if self._reader.is_near else await self._one_by_one.ask(read)
        return {
            place: encode_record(records[tx_hash])
            for place, tx_hash in hashes.items()
            if tx_hash in records
        }

    async def statuses(self, calls: Sequence[Any], caller: ApiKey) -> Sequence[Outcome]:
        """Tell what is on record of each hash, on the networks that the caller's key opens."""
        read = partial(self._read, calls, caller)
        outcomes = await to_thread.run_sync(read, limiter=self._limiter)
        for outcome in outcomes:
            if not isinstance(outcome, RpcFault):
                self._counted["null" if outcome == b"null" else "record"] += 1
        return outcomes

    def _read(self, calls: Sequence[Any], caller: ApiKey) -> list[Outcome]:
        networks = self._services.networks_of(caller)
        now = self._services.clock()
        outcomes: list[Outcome] = []
        with self._services.store.read() as connection:
            for params in calls:
                try:
                    tx_hash = decode_hash_param(params)
                except WireError as error:
                    outcomes.append(RpcFault.invalid_params(str(error)))
                else:
                    outcomes.append(
                        encode_record(queryable_record(connection, networks, tx_hash, now))
                    )
        return outcomes


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
