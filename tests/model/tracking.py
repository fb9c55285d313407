"""What the model remembers of tracked transactions, and all answers about them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from typing import Final

from msgspec.structs import replace

from dashboard.domain.health.observation import ExclusionAnswer, Failure, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import TrackResult as Became
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence, VerdictKind, conclude
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.answer_counts import StandingFailure, read_standing_failures
from dashboard.store.rejections.save import HashOnNetwork, watched_among
from dashboard.store.tracking.cohorts import KnownHashes, read_cohorts, watched_after
from dashboard.store.tracking.follow_ups import inclusion_questions, open_follow_ups
from dashboard.store.tracking.transactions import TrackedTransaction, tracked_among
from tests.model.inclusion import Ends, question_of
from tests.model.rejections import Archive
from tests.model.world import HASHES, NETWORKS
from tests.one_by_one import follow_ups_of, newest_tracked, read_evidence


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
        wish = TrackedTransaction(tx_hash, (), now, request.remarks)
        before = self.transactions.get(tx_hash, wish)
        said, wished = before.remarks, wish.remarks
        remarks = Remarks(
            said.attempted_at or wished.attempted_at,
            said.label or wished.label,
            said.note or wished.note,
        )
        after = dataclasses.replace(before, remarks=remarks)
        new = {(tx_hash, network_id) for network_id in request.network_ids} - self.watches.keys()
        is_new = bool(new) or tx_hash not in self.transactions
        self.transactions[tx_hash] = after
        self.watches |= dict.fromkeys(new, now)
        self.ends.fresh |= new
        if said.attempted_at != remarks.attempted_at:
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
        self.transactions[tx_hash] = dataclasses.replace(before, remarks=remarks)
        if before.remarks.attempted_at != remarks.attempted_at:
            self.fresh |= {place for place in self.watches if place[0] == tx_hash}
        return True

    def untrack(self, tx_hash: TxHash) -> bool:
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
                    transaction.remarks.attempted_at if transaction else None,
                    check.first_answered_at,
                    check.last_answered_at,
                    check.failing_since,
                    check.failure,
                    end,
                    receipt_failure=self.ends.failing.get(place),
                    tracked_at=self.watches.get(place),
                    is_dated_ahead=archive.is_dated_ahead(*place),
                    record_seen_at=archive.seen_at(*place),
                )
            )
        return found


_MANY: Final = 10_000
_TOO_LATE: Final = timedelta(days=7)


def without_words(told: Sequence[Evidence]) -> list[Evidence]:
    """Leave out what failures say: hashes that failed alike share the words of most of them."""
    return [
        each if each.failure is None else replace(each, failure=Failure(each.failure.kind, ""))
        for each in told
    ]


def verdict_of(known: Evidence) -> VerdictKind:
    """Conclude in the words of the table of verdicts, without its sentences."""
    end, is_rejected = known.follow_up, bool(known.records)
    if end is not None and end.inclusion is not None:
        return VerdictKind.REJECTED_THEN_INCLUDED if is_rejected else VerdictKind.INCLUDED
    if end is not None and end.is_replaced:
        return VerdictKind.REPLACED
    if is_rejected:
        return VerdictKind.REJECTED
    if known.first_answered_at is None:
        failed = known.failing_since is not None
        return VerdictKind.CANNOT_CHECK if failed else VerdictKind.NOT_CHECKED_YET
    attempted_at = known.attempted_at or known.first_answered_at
    is_late = known.first_answered_at - attempted_at > _TOO_LATE
    return VerdictKind.CANNOT_TELL if is_late else VerdictKind.NO_REJECTION_ON_RECORD


def check_tracking(connection: Connection, held: Tracking, archive: Archive) -> None:
    """Read what is tracked, and see that it is what is held."""
    for tx_hash in HASHES:
        expected = held.evidence(archive, tx_hash)
        assert without_words(read_evidence(connection, None, tx_hash)) == without_words(expected)
        assert [conclude(each).kind for each in expected] == [verdict_of(each) for each in expected]
        assert bool(tracked_among(connection, [tx_hash])) is (tx_hash in held.transactions)
    for network_id in NETWORKS:
        assert read_standing_failures(connection, network_id) == held.silences.of(network_id)
        _check_cohorts(connection, held, archive, network_id)
        _check_ends(connection, held, archive, network_id)
    assert set(watched_among(connection, product(HASHES, NETWORKS))) == set(held.watches)
    _check_latest(newest_tracked(connection, _MANY), held, list(held.transactions))


def _check_latest(
    found: Sequence[TrackedTransaction], held: Tracking, hashes: Sequence[TxHash]
) -> None:
    """See that these are found, the latest first; of those that came at once in any order."""
    times = [each.tracked_at for each in found]
    assert times == sorted(times, reverse=True)
    networks = {
        tx_hash: tuple(sorted(network for each, network in held.watches if each == tx_hash))
        for tx_hash in hashes
    }
    known = [
        dataclasses.replace(held.transactions[each], network_ids=networks[each]) for each in hashes
    ]
    assert sorted(found, key=_hash_of) == sorted(known, key=_hash_of)


def _check_cohorts(
    connection: Connection, held: Tracking, archive: Archive, network_id: NetworkId
) -> None:
    """See that pollers find each watched hash once, with what they go by, and all that is new."""
    found = watched_after(connection, network_id, 0)
    ids = [each.cohort_id for each in found]
    members = {
        each.cohort_id: each for each in read_cohorts(connection, network_id, ids, KnownHashes())
    }
    assert ids == sorted(members)
    hashes = [each for cohort in members.values() for each in cohort.hashes]
    assert sorted(hashes) == sorted(each for each, network in held.watches if network == network_id)
    for watch in found:
        cohort = members[watch.cohort_id]
        assert len(cohort.hashes) == watch.size
        for tx_hash in cohort.hashes:
            place = tx_hash, network_id
            check = held.checks.get(place, Check())
            assert watch.last_asked_at == check.last_asked_at
            assert watch.last_result.is_answered is not (check.failing_since is not None)
            assert (
                watch.last_result.is_rejected is cohort.is_rejected is bool(archive.records(*place))
            )
            end = held.ends.held(place)
            is_included = end is not None and end.inclusion is not None
            assert watch.last_result.is_included is cohort.is_included is is_included
            since = held.watches[place]
            assert watch.born_at >= min(
                held.transactions[tx_hash].remarks.attempted_at or since, since
            )
            assert watch.cohort_id > held.taken_up or place not in held.fresh


def _check_ends(
    connection: Connection, held: Tracking, archive: Archive, network_id: NetworkId
) -> None:
    """See that pollers find each hash once whose end is open, and ask what there is to ask."""
    found = open_follow_ups(connection, network_id, 0, 0)
    assert sorted((each.tx_hash, each.tracked_at, each.asked_at) for each in found) == sorted(
        (place[0], since, held.ends.asked_at(place))
        for place, since in held.watches.items()
        if place[1] == network_id and held.ends.is_open(place)
    )
    for each in found:
        is_fresh = (each.tx_hash, network_id) in held.ends.fresh
        assert each.cohort_id > held.ends.taken_up[network_id] or not is_fresh
    expected = [question_of(archive, each, network_id) for each in HASHES]
    assert inclusion_questions(connection, network_id, HASHES) == expected
    for tx_hash in HASHES:
        end = held.ends.held((tx_hash, network_id))
        assert follow_ups_of(connection, tx_hash).get(network_id) == end


def _hash_of(transaction: TrackedTransaction) -> TxHash:
    return transaction.tx_hash
