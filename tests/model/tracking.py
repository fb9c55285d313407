"""What is to be remembered of tracked transactions and of asking about hashes, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import product
from typing import Final

from dashboard.domain.observation import ExclusionAnswer, Failure, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.verdict import Evidence, VerdictKind, conclude
from dashboard.store.answers import evidence
from dashboard.store.cohorts import cohorts_of, watches
from dashboard.store.connection import Connection
from dashboard.store.failing import StandingFailure, failing
from dashboard.store.reports import Place, watched_among
from dashboard.store.tracked_search import Standing, TrackedFilter, how_many_tracked, search_tracked
from dashboard.store.transactions import (
    TrackedTransaction,
    TrackRequest,
    is_tracked,
    tracked,
)
from dashboard.store.transactions import Tracking as Became
from dashboard.store.watching import Remarks
from tests.model.archive import Archive
from tests.model.turns import Turn
from tests.model.world import HASHES, NETWORKS

_MANY: Final = 10_000
_TOO_LATE: Final = timedelta(days=7)


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
    watches: dict[Place, datetime] = field(default_factory=dict)
    fresh: set[Place] = field(default_factory=set)
    taken_up: int = 0
    checks: dict[Place, Check] = field(default_factory=dict)
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
        return self.transactions.pop(tx_hash, None) is not None

    def asked(
        self,
        network_id: NetworkId,
        at: datetime,
        answers: Sequence[ExclusionAnswer],
        *,
        is_polled: bool,
    ) -> None:
        """Take what came of asking."""
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
            if not records and place not in self.checks and place not in self.watches:
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
                )
            )
        return found

    def fits(self, archive: Archive, tx_hash: TxHash, wanted: TrackedFilter) -> bool:
        """Whether a tracked transaction is what is looked for."""
        transaction = self.transactions[tx_hash]
        where = [each for each in NETWORKS if wanted.network_id in {None, each}]
        texts = (transaction.label.lower(), transaction.note.lower())
        return (
            wanted.tx_hash in {None, tx_hash}
            and any(wanted.text.lower() in text for text in texts)
            and (wanted.network_id is None or (tx_hash, wanted.network_id) in self.watches)
            and wanted.standing in {None, self._standing(archive, tx_hash, where)}
        )

    def _standing(self, archive: Archive, tx_hash: TxHash, where: Iterable[NetworkId]) -> Standing:
        """Say what is on record on these networks; a record also where the hash is not watched."""
        if any(archive.records(tx_hash, each) for each in where):
            return Standing.REJECTED
        places = [place for each in where if (place := (tx_hash, each)) in self.watches]
        answered = any(self.checks.get(place, Check()).last_answered_at for place in places)
        return Standing.UNREPORTED if answered else Standing.UNANSWERED


def without_words(told: Sequence[Evidence]) -> list[Evidence]:
    """Leave out what failures say: hashes that failed alike share the words of most of them."""
    return [
        each if each.failure is None else replace(each, failure=Failure(each.failure.kind, ""))
        for each in told
    ]


def verdict_of(known: Evidence) -> VerdictKind:
    """Conclude in the words of the table of verdicts, without its sentences."""
    if known.records:
        return VerdictKind.REJECTED
    if known.first_answered_at is None:
        failed = known.failing_since is not None
        return VerdictKind.CANNOT_CHECK if failed else VerdictKind.NOT_CHECKED_YET
    attempted_at = known.attempted_at or known.first_answered_at
    is_late = known.first_answered_at - attempted_at > _TOO_LATE
    return VerdictKind.CANNOT_TELL if is_late else VerdictKind.NO_REJECTION_ON_RECORD


_WISHES: Final = (
    *(TrackedFilter(standing=each) for each in Standing),
    *(TrackedFilter(NETWORKS[0], standing=each) for each in Standing),
    TrackedFilter(NETWORKS[1]),
    TrackedFilter(tx_hash=HASHES[0]),
    TrackedFilter(text="0% OF"),
)


def check_tracking(connection: Connection, held: Tracking, archive: Archive, turn: Turn) -> None:
    """Read what is tracked in every way whose turn it is, and see that it is what is held."""
    for tx_hash in HASHES:
        expected = held.evidence(archive, tx_hash)
        assert without_words(evidence(connection, None, tx_hash)) == without_words(expected)
        assert [conclude(each).kind for each in expected] == [verdict_of(each) for each in expected]
        assert is_tracked(connection, tx_hash) is (tx_hash in held.transactions)
    for network_id in NETWORKS:
        assert failing(connection, network_id) == held.silences.of(network_id)
        _check_cohorts(connection, held, archive, network_id)
    assert set(watched_among(connection, product(HASHES, NETWORKS))) == set(held.watches)
    _check_latest(tracked(connection, _MANY), held, list(held.transactions))
    for wanted in turn.some_of(_WISHES):
        fitting = [each for each in held.transactions if held.fits(archive, each, wanted)]
        _check_latest(search_tracked(connection, wanted, _MANY), held, fitting)
        assert how_many_tracked(connection, wanted) == len(fitting)


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
    known = [replace(held.transactions[each], network_ids=networks[each]) for each in hashes]
    assert sorted(found, key=_hash_of) == sorted(known, key=_hash_of)


def _check_cohorts(
    connection: Connection, held: Tracking, archive: Archive, network_id: NetworkId
) -> None:
    """See that pollers find each watched hash once, with what they go by, and all that is new."""
    found = watches(connection, network_id, 0)
    ids = [each.cohort_id for each in found]
    members = {each.cohort_id: each for each in cohorts_of(connection, network_id, ids)}
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
            assert watch.is_failing is (check.failing_since is not None)
            assert watch.is_rejected is cohort.is_rejected is bool(archive.records(*place))
            since = held.watches[place]
            assert watch.born_at >= min(held.transactions[tx_hash].attempted_at or since, since)
            assert watch.cohort_id > held.taken_up or place not in held.fresh


def _hash_of(transaction: TrackedTransaction) -> TxHash:
    return transaction.tx_hash
