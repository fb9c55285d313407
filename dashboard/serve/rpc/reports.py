"""What nodes report: each is acknowledged when it is on disk, and told at once if it is watched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from dashboard.detect.exclusion import conclude_exclusion
from dashboard.domain.condition import Subject
from dashboard.domain.exclusion import SaveStatus
from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.errors import StoreError, WireError
from dashboard.logs import get_logger
from dashboard.serve.dependencies import ServeServices
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import Outcome
from dashboard.serve.rpc.group_commit import GroupCommit, TooManyWaiting
from dashboard.store.alerts.conditions import current_state, record_transition
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.save_rejections import save_reports
from dashboard.store.rejections.read import queryable_version
from dashboard.store.rejections.save import HashOnNetwork, LocatedReport, watched_among
from dashboard.store.tracking.senders import labels_of_watched
from dashboard.store.tracking.transactions import TrackRequest, track_all
from dashboard.wire.exclusion import encode_saved
from dashboard.wire.jsonrpc_errors import RpcFault, store_fault
from dashboard.wire.rejection_report import decode_report

_TOO_MANY: Final = (
    "Too many reports are waiting to be saved, and nothing was saved: try again in a second"
)

_log = get_logger(__name__)


class _Handed(NamedTuple):
    """The params of one call, and whose it is."""

    params: Any
    caller: ApiKey


class _Saved(NamedTuple):
    """What became of a report that was well formed."""

    status: SaveStatus
    tx_hash: TxHash


class Reports:
    """Keeps what nodes report."""

    def __init__(self, services: ServeServices) -> None:
        """Keep reports in the store and for the networks of `services`."""
        self._services = services
        self._home_of_old_reports = next(
            (net.network_id for net in services.networks if net.is_default_for_old_reports), None
        )
        self._group_commit = GroupCommit(self._commit, services.limits.waiting_reports)

    async def save(self, calls: Sequence[Any], caller: ApiKey) -> list[Outcome]:
        """Keep reports together with those of other callers; one that fails fails alone."""
        if not caller.may_report:
            self._services.counters.reports["refused"] += len(calls)
            return [RpcFault.not_allowed()] * len(calls)
        try:
            kept = await self._group_commit.keep([_Handed(params, caller) for params in calls])
        except TooManyWaiting:
            self._services.counters.reports["refused"] += len(calls)
            return [RpcFault.server_error(_TOO_MANY)] * len(calls)
        if any(isinstance(each, _Saved) for each in kept):
            self._services.counters.last_write = self._services.clock().timestamp()
        return [self._outcome(each) for each in kept]

    def _outcome(self, kept: _Saved | RpcFault | Exception) -> Outcome:
        counted = self._services.counters.reports
        match kept:
            case _Saved(status, tx_hash):
                counted["saved" if status is SaveStatus.SAVED else "duplicate"] += 1
                return encode_saved(status, tx_hash)
            case RpcFault():
                counted["refused"] += 1
                return kept
            case StoreError():
                counted["refused"] += 1
                return store_fault(kept)
            case _:
                counted["refused"] += 1
                _log.error("A report failed unexpectedly", exc_info=kept)
                return RpcFault.internal_error()

    def _commit(self, handed: Sequence[_Handed]) -> list[_Saved | RpcFault]:
        """Keep reports in one transaction; runs in a thread, where decoding delays nobody."""
        decoded = [self._decode(each) for each in handed]
        located = [each for each in decoded if isinstance(each, LocatedReport)]
        try:
            statuses = iter(self._keep(located))
        except StoreError as error:
            _log.warning("The store refused reports", count=len(located), error=str(error))
            raise
        return [
            _Saved(next(statuses), each.report.transaction.tx_hash)
            if isinstance(each, LocatedReport)
            else each
            for each in decoded
        ]

    def _keep(self, located: Sequence[LocatedReport]) -> list[SaveStatus]:
        if not located:
            return []
        now = self._services.clock()
        with self._services.store.write() as connection:
            statuses = save_reports(connection, located, now)
            saved = [
                each
                for each, status in zip(located, statuses, strict=True)
                if status is SaveStatus.SAVED
            ]
            track_of_watched_senders(connection, saved, now)
            places = {(each.report.transaction.tx_hash, each.network_id) for each in saved}
            tell_of_watched(connection, places, now, self._services.new_id)
        self._services.feed.wake()
        return statuses

    def _decode(self, handed: _Handed) -> LocatedReport | RpcFault:
        try:
            report = decode_report(handed.params)
            network_id = self._network_of(report.transaction.chain_id, handed.caller)
        except WireError as error:
            return RpcFault.invalid_params(str(error))
        return LocatedReport(report, network_id)

    def _network_of(self, named: NetworkId | None, caller: ApiKey) -> NetworkId:
        """Return the network that the signed bytes name, or the home of old-style ones."""
        network_id = self._home_of_old_reports if named is None else named
        if network_id is None:
            msg = (
                "The transaction's signature names no chain id, "
                "and no default network is configured for such reports"
            )
            raise WireError(msg)
        if network_id not in self._services.networks_of(caller):
            msg = f"Unsupported network: the transaction's chain id {network_id} is not served here"
            raise WireError(msg)
        return network_id


_UNNAMED: Final = "watched sender"


def track_of_watched_senders(
    connection: Connection, saved: Sequence[LocatedReport], now: datetime
) -> None:
    """Track those saved reports whose sender somebody watches, each under the sender's label."""
    accounts = [(each.report.transaction.sender, each.network_id) for each in saved]
    labels = labels_of_watched(connection, accounts) if saved else {}
    requests = [
        TrackRequest(
            each.report.transaction.tx_hash,
            (each.network_id,),
            None,
            labels[account] or _UNNAMED,
        )
        for each, account in zip(saved, accounts, strict=True)
        if account in labels
    ]
    if requests:
        track_all(connection, requests, now)


def tell_of_watched(
    connection: Connection,
    saved: Collection[HashOnNetwork],
    now: datetime,
    new_id: Callable[[], UUID],
) -> None:
    """Change the conditions of those saved hashes that somebody watches, as the poll would.

    The poll would ask about an old hash every few minutes, or not at all any more; this needs
    no question. What the poll sees of it later is no news then.
    """
    if not saved:
        return
    for tx_hash, network_id in watched_among(connection, saved):
        stored = queryable_version(connection, [network_id], tx_hash, now)
        if stored is None:
            continue
        subject = Subject.transaction(network_id, tx_hash)
        answer = ExclusionAnswer(tx_hash, record=stored.record)
        before = current_state(connection, subject)
        transition = conclude_exclusion(subject, before, answer, now, new_id())
        if transition is not None:
            record_transition(connection, transition, stored.rejection_id)
