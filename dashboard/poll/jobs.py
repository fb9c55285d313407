"""The jobs of a worker's term, and the loop that runs them while the lease is ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

import anyio
from anyio.to_thread import current_default_thread_limiter, run_sync
from msgspec import Struct, field

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.coverage import Watched
from dashboard.domain.health.retention import Retention
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.domain.tracking.cadence import FOLLOW_UP_CADENCE, SELDOM, CadencePolicy
from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.poll.block_follower import BlockReader, InclusionAsker
from dashboard.poll.end_of_line_limits import BlockAsker, EndBlockPoll
from dashboard.poll.exclusion import ExclusionAsker, ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.gas import GasArchive, GasPoll
from dashboard.poll.gas_api_or_node import GasAsker
from dashboard.poll.inclusion import InclusionPoll, ReceiptQueue
from dashboard.poll.lease import Clocks, Lease, LeaseLost, NetworkStore, Term
from dashboard.poll.measured_rules import DiskSpace, MeasuredRules, PeerCertificates, RuleReader
from dashboard.poll.network_conditions import Conditions, CoverageWatch
from dashboard.poll.removed_sources import RemovedSources
from dashboard.poll.retention_rounds import RetentionRounds
from dashboard.poll.scheduler import Job, Scheduler
from dashboard.store.engine.engine import Store
from dashboard.upstream.budget import NetworkBudgets
from dashboard.upstream.endpoint import Meter

_log = get_logger("lease")


class NotifyJob(Protocol):
    """Turns new transitions into notifications and delivers what is due.

    Its methods block, and raise StoreError.
    """

    def run(self, holder_token: int, may_send: Callable[[], bool], /) -> bool:
        """Deliver what is due under this fencing token for a moment; return whether to continue."""

    def finish(self, within: timedelta) -> object:
        """Start nothing more and let running attempts end."""


class WatchedNetwork(Struct, frozen=True):
    """One network, with the clients of the APIs that it has.

    `gas_from_node` answers for its fees if no gas API does. `block_time` is the usual time between
    its blocks, if known. `cadence` is how often it is asked about transactions, `after_limits`
    about those first seen after its line limits ended, None for never; `blocks` dates the block
    with which they end, `new_blocks` says what is included. `meter` counts what all of its clients
    ask; `budgets` are those of its exclusion endpoints, `node_budgets` that of its node.
    """

    network_id: NetworkId
    gas_periods: GasPeriods
    gas: GasAsker | None = None
    exclusion: ExclusionAsker | None = None
    block_time: timedelta | None = None
    gas_from_node: GasAsker | None = None
    inclusion: InclusionAsker | None = None
    limits_end: LimitsEnd | None = None
    cadence: CadencePolicy = CadencePolicy()
    after_limits: CadencePolicy | None = SELDOM
    blocks: BlockAsker | None = None
    new_blocks: BlockReader | None = None
    meter: Meter = field(default_factory=Meter)
    budgets: NetworkBudgets | None = None
    node_budgets: NetworkBudgets | None = None

    @property
    def has_gas(self) -> bool:
        """Whether anything answers for its fees."""
        return self.gas is not None or self.gas_from_node is not None

    @property
    def watched(self) -> tuple[Watched, ...]:
        fees = (Watched.FEES,) if self.has_gas else ()
        return fees if self.exclusion is None else (*fees, Watched.REJECTIONS)


class Periods(Struct, frozen=True):
    """How often each job runs."""

    exclusion_tick: timedelta = timedelta(seconds=1)
    conditions: timedelta = timedelta(seconds=5)
    inclusion: timedelta = timedelta(seconds=1)
    delivery: timedelta = timedelta(seconds=1)
    housekeeping: timedelta = timedelta(seconds=10)


class PollingWorker(Struct, frozen=True):
    """Everything that a worker works with; `new_id` returns ids that nobody else has.

    With less than `low_space` bytes free on the disk of the store, recipients are notified.
    `certificates` are names of certificates in use, and when each ends; `peers` are those of
    servers that are asked.
    """

    store: Store
    lease: Lease
    networks: Sequence[WatchedNetwork]
    delivery: NotifyJob
    periods: Periods
    clocks: Clocks
    new_id: Callable[[], UUID]
    rules: ConditionRules = ConditionRules()
    retention: Retention = Retention()
    low_space: int = 0
    certificates: Sequence[tuple[str, datetime]] = ()
    peers: PeerCertificates = field(default_factory=PeerCertificates)


def jobs_of(worker: PollingWorker, term: Term, over: asyncio.Event) -> list[Job]:
    """Return the jobs of one term, without state from an earlier one; `over` ends it."""
    disk = DiskSpace(worker.store, worker.low_space, worker.rules, worker.clocks, worker.new_id)
    measured = _measured_rules(worker)
    removed = _removed_sources(worker)
    housekeeping = RetentionRounds(
        worker.store, worker.retention, worker.clocks, anyio.sleep, term.check
    )
    return [
        Job("lease", worker.lease.duration / 4, lambda: _renew(worker.lease, term, over)),
        *(job for network in worker.networks for job in _polls(worker, term, network)),
        Job("delivery", worker.periods.delivery, lambda: deliver(worker.delivery, term, over)),
        Job("disk space", worker.periods.conditions, lambda: run_sync(disk.measure, term)),
        Job("rules", worker.periods.conditions, lambda: run_sync(measured.measure, term)),
        Job("removed sources", worker.periods.housekeeping, lambda: run_sync(removed.end, term)),
        Job("housekeeping", worker.periods.housekeeping, housekeeping.run),
    ]


def _measured_rules(worker: PollingWorker) -> MeasuredRules:
    networks = [each.network_id for each in worker.networks]
    with_fees = {
        each.network_id: each.gas_periods.gas_period for each in worker.networks if each.has_gas
    }
    reader = RuleReader(networks, with_fees, worker.certificates, worker.peers)
    return MeasuredRules(worker.store, reader, worker.clocks, worker.new_id)


def _removed_sources(worker: PollingWorker) -> RemovedSources:
    with_fees = {each.network_id for each in worker.networks if each.has_gas}
    with_exclusion = {each.network_id for each in worker.networks if each.exclusion is not None}
    return RemovedSources(worker.store, with_fees, with_exclusion, worker.clocks, worker.new_id)


def _polls(worker: PollingWorker, term: Term, network: WatchedNetwork) -> Iterator[Job]:
    network_id, clocks, new_id = network.network_id, worker.clocks, worker.new_id
    store = NetworkStore(worker.store, network_id, term, network.meter)
    periods = network.gas_periods
    conditions = Conditions(
        network_id,
        periods.gas_period,
        periods.threshold_period,
        worker.rules,
        clocks,
        new_id,
        network.limits_end,
    )
    coverage = CoverageWatch(network_id, network.watched, worker.clocks)
    yield Job(
        f"conditions of {network_id}",
        worker.periods.conditions,
        lambda: run_sync(_update_conditions, worker, term, conditions, coverage),
    )
    if network.exclusion is not None:
        schedule = ExclusionQueue(network.cadence, network.after_limits, -clocks.offset)
        exclusion = ExclusionPoll(
            network.exclusion, store, schedule, clocks, conditions, new_id, network.budgets
        )
        yield Job(f"exclusion poll of {network_id}", worker.periods.exclusion_tick, exclusion.tick)
    end = network.limits_end
    if end is not None and end.block_number is not None and network.blocks is not None:
        ending = EndBlockPoll(network.blocks, store, end.block_number, clocks)
        yield Job(f"end of line limits of {network_id}", EndBlockPoll.period, ending.tick)
    if network.inclusion is not None:
        receipts, blocks = ReceiptQueue(FOLLOW_UP_CADENCE), network.new_blocks
        inclusion = InclusionPoll(
            network.inclusion, store, receipts, clocks, new_id, blocks, network.node_budgets
        )
        yield Job(f"inclusion poll of {network_id}", worker.periods.inclusion, inclusion.tick)
    if network.has_gas:
        archive = GasArchive(store, conditions, network.block_time)
        gas = GasPoll(network.gas, archive, periods, worker.clocks, network.gas_from_node)
        yield Job(f"gas poll of {network_id}", periods.gas_period, gas.tick)


async def _renew(lease: Lease, term: Term, over: asyncio.Event) -> None:
    try:
        await run_sync(lease.renew, term)
    except LeaseLost:
        _log.warning("the lease is lost; this worker stands by", token=term.token)
        over.set()


def _update_conditions(
    worker: PollingWorker, term: Term, conditions: Conditions, coverage: CoverageWatch
) -> None:
    """Update conditions from the store alone: silent APIs, stale fees, ended limits, gaps."""
    now, limits_ended_at = worker.clocks.now(), None
    with worker.store.write() as connection:
        term.check(connection)
        if Watched.FEES in coverage.watched:
            conditions.update_gas(connection, now)
        if Watched.REJECTIONS in coverage.watched:
            limits_ended_at = conditions.update_line_limits(connection, now)
            conditions.update_exclusion_outage(connection, now)
        visited_at = coverage.visit(connection, limits_ended_at)
    coverage.kept(visited_at)


async def deliver(delivery: NotifyJob, term: Term, over: asyncio.Event) -> None:
    """Deliver what is due, one round after the other while answers of mail servers are awaited."""
    goes_on = True
    while goes_on and not over.is_set():
        goes_on = await run_sync(delivery.run, term.token, term.lasts)


GRACE: Final = timedelta(seconds=4)
"""How long a running job may take when the worker is asked to stop."""

_loop_log = get_logger("watch")


_MOST_THREADS: Final = 12
"""How many threads use the store at once. Writers take turns, so more of them only wait, each with
a connection and memory of its own: with anyio's 40, a busy worker of twelve networks had 33 threads
instead of 16, and 2 MB more after eight minutes."""


async def run_polling_worker(worker: PollingWorker, stop: asyncio.Event) -> None:
    """Stand by until the lease is ours, work until it is lost, and repeat until `stop`."""
    current_default_thread_limiter().total_tokens = _MOST_THREADS
    while (term := await _stand_by(worker, stop)) is not None:
        _loop_log.info("this worker is active", token=term.token)
        over = asyncio.Event()
        scheduler = Scheduler(jobs_of(worker, term, over), worker.clocks)
        scheduler.start()
        await _first_of(stop, over)
        over.set()
        await scheduler.stop(GRACE)
        await run_sync(_leave, worker, term)


async def _stand_by(worker: PollingWorker, stop: asyncio.Event) -> Term | None:
    """Return the term that begins when the lease is free; None once asked to stop."""
    announced: str | None = None
    while not stop.is_set():
        try:
            term = await run_sync(worker.lease.acquire)
            if term is None:
                announced = await run_sync(_announce, worker.lease, announced)
        except StoreError as error:
            _loop_log.warning("the lease cannot be asked for", why=str(error))
            term = None
        if term is not None:
            return term
        await _wait(stop, worker.lease.duration / 4)
    return None


def _announce(lease: Lease, announced: str | None) -> str | None:
    """Log for whom this worker stands by, unless that was `announced`; return who it is."""
    holder = lease.current_holder()
    if holder not in {None, announced}:
        _loop_log.info(
            "this worker stands by: another one is active",
            at_work=holder,
            takes_over="as soon as that one stops, or when its lease expires: "
            f"{lease.duration.total_seconds():g} s after its last renewal",
        )
    return holder or announced


def _leave(worker: PollingWorker, term: Term) -> None:
    """Finish running attempts, then let a standby take over."""
    try:
        worker.delivery.finish(GRACE / 2)
        worker.lease.release(term)
    except StoreError as error:
        _loop_log.warning("the lease could not be released; it expires on its own", why=str(error))


async def _wait(stop: asyncio.Event, longest: timedelta) -> None:
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([waiting], timeout=longest.total_seconds())
    waiting.cancel()


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()
