"""What is to be remembered of tracked transactions and of asking about hashes, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from dashboard.domain.health.observation import ExclusionAnswer, Failure, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.verdict import Evidence
from dashboard.store.monitoring.answer_counts import StandingFailure
from dashboard.store.rejections.save import HashOnNetwork
from dashboard.store.tracking.search import RecordStatus, TrackedFilter
from dashboard.store.tracking.transactions import Remarks, TrackedTransaction, TrackRequest
from dashboard.store.tracking.transactions import TrackResult as Became
from tests.model.inclusion import Ends
from tests.model.rejections import Archive
from tests.model.world import NETWORKS


@dataclass
class Check:
    """What came of asking one network about one hash."""

    last_asked_at: datetime | None = None
    first_answered_at: datetime | None = None
    last_answered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: Failure | None = None

    def answered(self, at: datetime) -> None:
        """Take a record or null."""
        self.last_asked_at = self.last_answered_at = at
        self.first_answered_at = self.first_answered_at or at
        self.failing_since = self.failure = None

    def failed(self, at: datetime, failure: Failure) -> None:
        """Take no answer."""
        self.last_asked_at, self.failure = at, failure
        self.failing_since = self.failing_since or at


@dataclass
class Silences:
    """Questions to networks that are not answered."""

    standing: dict[tuple[NetworkId, Operation], StandingFailure] = field(default_factory=dict)

    def answered(self, network_id: NetworkId, operation: Operation) -> None:
        """End what lasted."""
        self.standing.pop((network_id, operation), None)

    def failed(
        self, network_id: NetworkId, at: datetime, operation: Operation, failure: Failure
    ) -> None:
        """Begin or go on."""
        since = self.standing.get((network_id, operation))
        first = at if since is None else since.failing_since
        self.standing[network_id, operation] = StandingFailure(operation, first, at, failure)

    def of(self, network_id: NetworkId) -> tuple[StandingFailure, ...]:
        """Return what a network does not answer, the longest silence first."""
        own = [each for (network, _), each in self.standing.items() if network == network_id]
        return tuple(sorted(own, key=lambda each: (each.failing_since, each.operation)))


@dataclass
class Tracking:
    """Tracked transactions by hash, when each of their watches began, and what asking brought.

    `fresh` are watches that pollers have not taken up yet; of the others, `taken_up` is the last
    cohort.
    """

    transactions: dict[TxHash, TrackedTransaction] = field(default_factory=dict)
    watches: dict[HashOnNetwork, datetime] = field(default_factory=dict)
    fresh: set[HashOnNetwork] = field(default_factory=set)
    taken_up: int = 0
    checks: dict[HashOnNetwork, Check] = field(default_factory=dict)
    ends: Ends = field(default_factory=Ends)
    silences: Silences = field(default_factory=Silences)

    def track(self, request: TrackRequest, now: datetime) -> Became:
        """Watch; of what is tracked already fill in what was unknown."""
        tx_hash = request.tx_hash
        wish = TrackedTransaction(
            tx_hash, (), now, request.attempted_at, request.label, request.note
        )
        before = self.transactions.get(tx_hash, wish)
        after = replace(
            before,
            attempted_at=before.attempted_at or wish.attempted_at,
            label=before.label or wish.label,
            note=before.note or wish.note,
        )
        new = {(tx_hash, network_id) for network_id in request.network_ids} - self.watches.keys()
        is_new = bool(new) or tx_hash not in self.transactions
        self.transactions[tx_hash] = after
        self.watches |= dict.fromkeys(new, now)
        self.ends.fresh |= new
        if before.attempted_at != after.attempted_at:
            new = {place for place in self.watches if place[0] == tx_hash}
        self.fresh |= new
        if is_new:
            return Became.NEW
        return Became.KNOWN if after == before else Became.FILLED_IN

    def amend(self, tx_hash: TxHash, remarks: Remarks) -> bool:
        """Correct; another time of the attempt has all watches taken up again."""
        before = self.transactions.get(tx_hash)
        if before is None:
            return False
        self.transactions[tx_hash] = replace(
            before,
            attempted_at=remarks.attempted_at,
            label=remarks.label,
            note=remarks.note,
        )
        if before.attempted_at != remarks.attempted_at:
            self.fresh |= {place for place in self.watches if place[0] == tx_hash}
        return True

    def untrack(self, tx_hash: TxHash) -> bool:
        """Watch no more."""
        for place in [each for each in self.watches if each[0] == tx_hash]:
            del self.watches[place]
            self.fresh.discard(place)
            self.ends.fresh.discard(place)
        return self.transactions.pop(tx_hash, None) is not None

    def asked(
        self,
        network_id: NetworkId,
        at: datetime,
        answers: Sequence[ExclusionAnswer],
        *,
        is_polled: bool,
    ) -> None:
        """Take the answers to one poll."""
        for each in answers:
            check = self.checks.setdefault((each.tx_hash, network_id), Check())
            if each.failure is None:
                check.answered(at)
            else:
                check.failed(at, each.failure)
        failed = [each.failure for each in answers if each.failure is not None]
        if len(failed) < len(answers):
            self.silences.answered(network_id, Operation.EXCLUSION_STATUS)
        elif is_polled and failed:
            self.silences.failed(network_id, at, Operation.EXCLUSION_STATUS, failed[0])

    def evidence(self, archive: Archive, tx_hash: TxHash) -> list[Evidence]:
        """Return what there is of a hash, network by network."""
        found = []
        transaction = self.transactions.get(tx_hash)
        for network_id in sorted(NETWORKS):
            place = tx_hash, network_id
            records = archive.records(*place)
            end = self.ends.held(place)
            if not (records or end or place in self.checks or place in self.watches):
                continue
            check = self.checks.get(place, Check())
            found.append(
                Evidence(
                    network_id,
                    tx_hash,
                    records,
                    transaction.attempted_at if transaction else None,
                    check.first_answered_at,
                    check.last_answered_at,
                    check.failing_since,
                    check.failure,
                    end,
                    is_dated_ahead=archive.is_dated_ahead(*place),
                )
            )
        return found

    def fits(self, archive: Archive, tx_hash: TxHash, wanted: TrackedFilter) -> bool:
        """Whether a tracked transaction is what is looked for."""
        transaction = self.transactions[tx_hash]
        where = [each for each in NETWORKS if wanted.network_id in {None, each}]
        texts = (transaction.label.lower(), transaction.note.lower())
        return (
            (wanted.tx_hashes is None or tx_hash in wanted.tx_hashes)
            and any(wanted.search.lower() in text for text in texts)
            and (wanted.network_id is None or (tx_hash, wanted.network_id) in self.watches)
            and wanted.record_status in {None, self._record_status(archive, tx_hash, where)}
        )

    def _record_status(
        self, archive: Archive, tx_hash: TxHash, where: Iterable[NetworkId]
    ) -> RecordStatus:
        """Say what is on record on these networks; a record also where the hash is not watched."""
        if any(archive.records(tx_hash, each) for each in where):
            return RecordStatus.REJECTED
        places = [place for each in where if (place := (tx_hash, each)) in self.watches]
        answered = any(self.checks.get(place, Check()).last_answered_at for place in places)
        return RecordStatus.UNREPORTED if answered else RecordStatus.UNANSWERED
