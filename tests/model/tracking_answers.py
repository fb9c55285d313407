"""How tracked transactions are read, each way beside what a plain model of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Final

from dashboard.domain.health.observation import Failure
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.search import HashRange
from dashboard.domain.tracking.verdict import Evidence, VerdictKind, conclude
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.answer_counts import read_standing_failures
from dashboard.store.rejections.save import watched_among
from dashboard.store.tracking.cohorts import read_cohorts, watched_after
from dashboard.store.tracking.follow_ups import inclusion_questions, open_follow_ups
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    search_tracked,
)
from dashboard.store.tracking.transactions import TrackedTransaction, is_tracked
from tests.model.inclusion import question_of
from tests.model.rejections import Archive
from tests.model.tracking import Check, Tracking
from tests.model.turns import Turn
from tests.model.world import HASHES, NETWORKS
from tests.one_by_one import follow_ups_of, newest_tracked, read_evidence

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


_WISHES: Final = (
    *(TrackedFilter(record_status=each) for each in RecordStatus),
    *(TrackedFilter(NETWORKS[0], record_status=each) for each in RecordStatus),
    TrackedFilter(NETWORKS[1]),
    TrackedFilter(tx_hashes=HashRange.of(HASHES[0])),
    TrackedFilter(search="0% OF"),
)


def check_tracking(connection: Connection, held: Tracking, archive: Archive, turn: Turn) -> None:
    """Read what is tracked in every way whose turn it is, and see that it is what is held."""
    for tx_hash in HASHES:
        expected = held.evidence(archive, tx_hash)
        assert without_words(read_evidence(connection, None, tx_hash)) == without_words(expected)
        assert [conclude(each).kind for each in expected] == [verdict_of(each) for each in expected]
        assert is_tracked(connection, tx_hash) is (tx_hash in held.transactions)
    for network_id in NETWORKS:
        assert read_standing_failures(connection, network_id) == held.silences.of(network_id)
        _check_cohorts(connection, held, archive, network_id)
        _check_ends(connection, held, archive, network_id)
    assert set(watched_among(connection, product(HASHES, NETWORKS))) == set(held.watches)
    _check_latest(newest_tracked(connection, _MANY), held, list(held.transactions))
    for wanted in turn.some_of(_WISHES):
        fitting = [each for each in held.transactions if held.fits(archive, each, wanted)]
        _check_latest(search_tracked(connection, wanted, _MANY), held, fitting)
        assert count_tracked(connection, wanted) == len(fitting)


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
    found = watched_after(connection, network_id, 0)
    ids = [each.cohort_id for each in found]
    members = {each.cohort_id: each for each in read_cohorts(connection, network_id, ids)}
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
            since = held.watches[place]
            assert watch.born_at >= min(held.transactions[tx_hash].attempted_at or since, since)
            assert watch.cohort_id > held.taken_up or place not in held.fresh


def _check_ends(
    connection: Connection, held: Tracking, archive: Archive, network_id: NetworkId
) -> None:
    """See that pollers find each hash once whose end is open, and ask what there is to ask."""
    found = open_follow_ups(connection, network_id, 0)
    assert sorted((each.tx_hash, each.tracked_at, each.asked_at) for each in found) == sorted(
        (place[0], since, held.ends.asked_at(place))
        for place, since in held.watches.items()
        if place[1] == network_id and held.ends.is_open(place)
    )
    for each in found:
        is_fresh = (each.tx_hash, network_id) in held.ends.fresh
        assert each.watch_id > held.ends.taken_up[network_id] or not is_fresh
    expected = [question_of(archive, each, network_id) for each in HASHES]
    assert inclusion_questions(connection, network_id, HASHES) == expected
    for tx_hash in HASHES:
        end = held.ends.held((tx_hash, network_id))
        assert follow_ups_of(connection, tx_hash).get(network_id) == end


def _hash_of(transaction: TrackedTransaction) -> TxHash:
    return transaction.tx_hash
