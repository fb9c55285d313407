"""Saving what nodes report: acknowledged when it is on disk, and notified at once if watched."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import UUID

from anyio import CapacityLimiter, to_thread

from dashboard.domain.alerts.rule import takes_all_reports
from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import LocatedReport, SaveStatus
from dashboard.errors import StoreError, StoreUnavailable, WireError
from dashboard.logs import get_logger
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.rpc.dispatch import CallResult
from dashboard.store.alerts.conditions import record_rejection
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.record_answers import record_inclusions, save_reports
from dashboard.store.rejections.archive import versions_among
from dashboard.store.rejections.save import HashOnNetwork, watched_among
from dashboard.store.tracking.senders import track_watched_senders
from dashboard.wire.exclusion import encode_saved
from dashboard.wire.jsonrpc import RpcError, store_rpc_error
from dashboard.wire.rejection_report import decode_report

_TOO_MANY: Final = (
    "Too many reports are waiting to be saved, and nothing was saved: try again in a second"
)

_log = get_logger(__name__)


class _SubmittedReport(NamedTuple):
    params: Any
    caller: ApiKey


class _SavedReport(NamedTuple):
    status: SaveStatus
    tx_hash: TxHash


class ReportSaver:
    """Answers `saveRejectedTransactionV1`."""

    def __init__(self, dependencies: ServeDependencies) -> None:
        self._dependencies = dependencies
        self._network_of_old_reports = next(
            (net.network_id for net in dependencies.networks if net.is_default_for_old_reports),
            None,
        )
        self._group_commit = GroupCommit(self._commit, dependencies.limits.waiting_reports)

    async def save(self, calls: Sequence[Any], caller: ApiKey) -> list[CallResult]:
        """Save reports together with those of other callers; one that fails fails alone."""
        if not caller.may_report:
            self._dependencies.counters.reports["refused"] += len(calls)
            return [RpcError.not_allowed()] * len(calls)
        try:
            outcomes = await self._group_commit.write(
                [_SubmittedReport(params, caller) for params in calls]
            )
        except QueueFull:
            self._dependencies.counters.reports["refused"] += len(calls)
            return [RpcError.server_error(_TOO_MANY)] * len(calls)
        if any(isinstance(each, _SavedReport) for each in outcomes):
            self._dependencies.counters.last_write = self._dependencies.clock().timestamp()
        return [self._result(each) for each in outcomes]

    def _result(self, outcome: _SavedReport | RpcError | Exception) -> CallResult:
        counted = self._dependencies.counters.reports
        match outcome:
            case _SavedReport(status, tx_hash):
                counted["saved" if status is SaveStatus.SAVED else "duplicate"] += 1
                return encode_saved(status, tx_hash)
            case RpcError():
                counted["refused"] += 1
                return outcome
            case StoreError():
                counted["refused"] += 1
                return store_rpc_error(outcome)
            case _:
                counted["refused"] += 1
                _log.error("A report failed unexpectedly", exc_info=outcome)
                return RpcError.internal_error()

    def _commit(self, submitted: Sequence[_SubmittedReport]) -> list[_SavedReport | RpcError]:
        """Save reports in one transaction; runs in a thread, as decoding takes long."""
        decoded = [self._decode(each) for each in submitted]
        located = [each for each in decoded if isinstance(each, LocatedReport)]
        try:
            statuses = iter(self._save(located))
        except StoreError as error:
            _log.warning("The store refused reports", count=len(located), why=str(error))
            raise
        return [
            _SavedReport(next(statuses), each.report.transaction.tx_hash)
            if isinstance(each, LocatedReport)
            else each
            for each in decoded
        ]

    def _save(self, located: Sequence[LocatedReport]) -> list[SaveStatus]:
        if not located:
            return []
        now = self._dependencies.clock()
        with self._dependencies.store.write() as connection:
            statuses = save_reports(connection, located, now)
            saved = [
                each
                for each, status in zip(located, statuses, strict=True)
                if status is SaveStatus.SAVED
            ]
            track_watched_senders(connection, saved, now)
            places = {(each.report.transaction.tx_hash, each.network_id) for each in saved}
            update_watched_conditions(connection, places, now, self._dependencies.new_id)
        self._dependencies.feed.wake()
        return statuses

    def _decode(self, submitted: _SubmittedReport) -> LocatedReport | RpcError:
        try:
            report = decode_report(submitted.params)
            network_id = self._network_of(report.transaction.chain_id, submitted.caller)
        except WireError as error:
            return RpcError.invalid_params(str(error))
        return LocatedReport(report, network_id)

    def _network_of(self, named: NetworkId | None, caller: ApiKey) -> NetworkId:
        """Return the network that the signed bytes name, or the default for old-style ones."""
        network_id = self._network_of_old_reports if named is None else named
        if network_id is None:
            msg = (
                "The transaction's signature names no chain id, "
                "and no default network is configured for such reports"
            )
            raise WireError(msg)
        if network_id not in self._dependencies.networks_of(caller):
            msg = f"Unsupported network: the transaction's chain id {network_id} is not served here"
            raise WireError(msg)
        return network_id


def update_watched_conditions(
    connection: Connection,
    saved: Collection[HashOnNetwork],
    now: datetime,
    new_id: Callable[[], UUID],
) -> None:
    """Change the conditions of those saved hashes that are watched, as the poll would.

    If a rule applies to all reports, those are all that were saved.

    The poll asks about an old hash every few minutes, or no longer at all. When it sees the same
    rejection later, nothing changes. How old the version claims to be does not matter: the seven
    days limit what is served, and a clock of ours that is ahead must not swallow a change.
    """
    if not saved:
        return
    takes_all = any(takes_all_reports(each, now) for each in rules_in_force(connection))
    changed = saved if takes_all else watched_among(connection, saved)
    versions = versions_among(connection, [tx_hash for tx_hash, _ in changed])
    news: defaultdict[NetworkId, list[TxHash]] = defaultdict(list)
    for tx_hash, network_id in changed:
        stored = next(each for each in versions[tx_hash] if each.network_id == network_id)
        if record_rejection(connection, stored.rejection_id, network_id, tx_hash, now, new_id()):
            news[network_id].append(tx_hash)
    for network_id, hashes in news.items():
        record_inclusions(connection, network_id, hashes, now, new_id)


Item = TypeVar("Item")
Written = TypeVar("Written")

Commit: TypeAlias = Callable[[Sequence[Item]], Sequence[Written]]
"""Writes items in one transaction, in a thread; an error writes none of them."""

LARGEST_GROUP: Final = 100
"""How many items one transaction has at most: more would hold the write lock for too long."""


class QueueFull(Exception):
    """Too many items wait already, so no more are accepted."""


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
    """Collects items while a transaction is running, and commits them in the next one.

    One writer for all callers, on one event loop. Its task begins with the first item and ends with
    the last, so nothing has to be started or stopped.
    """

    def __init__(self, commit: Commit[Item, Written], most_waiting: int) -> None:
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

        An item is written whole or not at all, even if its caller has left. QueueFull: nothing is
        written. One caller may submit more items at once than may wait.
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
        """Commit a group; if one item may have failed it, commit each by itself."""
        try:
            return self._commit(items)
        except StoreUnavailable as error:
            return [error] * len(items)
        except Exception as error:  # noqa: BLE001 - returned to its callers; the items of others go on
            if len(items) == 1:
                return [error]
        return [outcome for item in items for outcome in self._outcomes([item])]
