"""Cohorts hold the same as one record for each hash would, whatever happens to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any, Final, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import leave_changed, record_lookup, record_poll
from dashboard.store.maintenance.derived_counts import wrong_cohorts
from dashboard.store.schema import checks, cohorts, tracked_hashes, tracked_labels, watched_cohorts
from dashboard.store.tracking.cohorts import Cohort, KnownHashes, read_cohorts, watched_after
from dashboard.store.tracking.poll_groups import join_groups, read_groups, record_nulls
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    search_tracked,
)
from dashboard.store.tracking.transactions import edit_tracked, track_all, untrack
from tests.builders import A_MOMENT, a_hash, a_record, seconds
from tests.one_by_one import read_evidence
from tests.saved_record import save_record
from tests.unit.store.tracking_model import NETWORKS, Model, Wish

HASHES: Final = 6
NULL, RECORD = "null", "record"
FAILURES: Final = {
    "no answer": Failure(FailureKind.UNAVAILABLE, "no answer"),
    "502": Failure(FailureKind.UNAVAILABLE, "502"),
    "refused": Failure(FailureKind.REFUSED, "refused"),
}

Said: TypeAlias = list[str]
"""What is answered about each of the hashes, in words."""

network = st.sampled_from(NETWORKS)
which = st.integers(0, HASHES - 1)
age = st.sampled_from((None, -5, 0, 30, 90_000))
label = st.sampled_from(("", "Case 17"))
said = st.lists(
    st.sampled_from((NULL, NULL, NULL, RECORD, *FAILURES)), min_size=HASHES, max_size=HASHES
)
wish = st.tuples(which, st.lists(network, min_size=1, unique=True), age, label)
action = st.one_of(
    st.tuples(st.just("track"), st.lists(wish, min_size=1, max_size=8)),
    st.tuples(st.just("look_up"), network, st.lists(which, min_size=1, unique=True), said),
    st.tuples(st.just("poll"), network, said, st.integers(0, HASHES)),
    st.tuples(st.just("read"), network),
    st.tuples(st.just("keep"), said, st.integers(0, HASHES)),
    st.tuples(st.just("report"), network, which),
    st.tuples(st.just("amend"), which, age, label),
    st.tuples(st.just("untrack"), which),
)
examples = count()


class Play:
    """One example: its own hashes, the model, and a poller that may be late with its answers."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        first = 1 + HASHES * next(examples)
        self.hashes = [a_hash(number) for number in range(first, first + HASHES)]
        self.model = Model()
        self.now = A_MOMENT
        self.read_of: tuple[NetworkId, list[Cohort], list[Cohort]] | None = None
        self.touched: set[TxHash] = set()

    def track(self, wishes: Sequence[tuple[int, list[NetworkId], int | None, str]]) -> None:
        requests = [
            TrackRequest(self.hashes[each], tuple(networks), Remarks(self.before(years), label))
            for each, networks, years, label in wishes
        ]
        self.touched.update(each.tx_hash for each in requests)
        became = track_all(self.connection, requests, self.now)
        assert became == [self.model.track(each) for each in requests]

    def look_up(self, network_id: NetworkId, numbers: Sequence[int], said: Said) -> None:
        answers = [self.answer(each, said) for each in numbers]
        self.touched.update(each.tx_hash for each in answers)
        record_lookup(self.connection, network_id, self.now, answers, is_polled=False)
        self.take_in(network_id, answers)

    def poll(self, network_id: NetworkId, said: Said, joining: int) -> None:
        self.read(network_id)
        self.keep(said, joining)

    def read(self, network_id: NetworkId) -> None:
        """Read what to ask: cohorts that are alone, and groups as one."""
        watched = watched_after(self.connection, network_id, 0)
        alone = [each.cohort_id for each in watched if each.group_id is None]
        grouped = {each.group_id for each in watched if each.group_id is not None}
        groups = read_groups(self.connection, network_id, sorted(grouped), KnownHashes())
        self.read_of = (
            network_id,
            read_cohorts(self.connection, network_id, alone, KnownHashes()),
            groups,
        )
        self.touched.clear()

    def keep(self, said: Said, joining: int) -> None:
        """Write down what was answered; a hash that left meanwhile may go without.

        So many of the groups and cohorts that were answered null become one group.
        """
        if self.read_of is None:
            return
        network_id, cohorts, groups = self.read_of
        read = [each for cohort in (*cohorts, *groups) for each in cohort.hashes]
        answers = [self.answer_of(each, said) for each in read]
        leaving = leave_changed(self.connection, network_id, groups, answers)
        polled = [*cohorts, *leaving]
        results = record_poll(self.connection, network_id, self.now, polled, answers)
        nulls = [each for each, result in results.items() if result.is_null]
        group_ids = [each.cohort_id for each in groups]
        record_nulls(self.connection, self.now, group_ids)
        joined = group_ids[:joining], nulls[: max(0, joining - len(group_ids))]
        if any(joined):
            join_groups(self.connection, network_id, self.now, *joined)
        for answer in answers:
            is_kept = answer.tx_hash not in self.touched or self.has_answer(network_id, answer)
            self.take_in(network_id, [answer], is_kept=is_kept)
        self.read_of = None

    def has_answer(self, network_id: NetworkId, answer: ExclusionAnswer) -> bool:
        """Whether the store holds this very answer of now."""
        for held in read_evidence(self.connection, network_id, answer.tx_hash):
            if answer.failure is None:
                return held.last_answered_at == self.now
            return kind_of(held.failure) is kind_of(answer.failure)
        return False

    def take_in(
        self, network_id: NetworkId, answers: Sequence[ExclusionAnswer], *, is_kept: bool = True
    ) -> None:
        for answer in answers:
            if is_kept:
                self.model.answer(network_id, self.now, answer)
            if answer.record is not None:
                save_record(self.connection, network_id, answer.record, self.now)
                self.model.record(network_id, answer)

    def report(self, network_id: NetworkId, number: int) -> None:
        answer = self.answer(number, [RECORD] * HASHES)
        assert answer.record is not None
        save_record(self.connection, network_id, answer.record, self.now)
        self.model.record(network_id, answer)

    def amend(self, number: int, years: int | None, label: str) -> None:
        tx_hash, attempted_at = self.hashes[number], self.before(years)
        self.touched.add(tx_hash)
        done = edit_tracked(self.connection, tx_hash, Remarks(attempted_at, label, ""))
        held = self.model.wishes.get(tx_hash)
        assert done == (held is not None)
        if held is not None:
            self.model.wishes[tx_hash] = Wish(held.networks, attempted_at, label)

    def untrack(self, number: int) -> None:
        tx_hash = self.hashes[number]
        self.touched.add(tx_hash)
        done = untrack(self.connection, tx_hash)
        assert done == (self.model.wishes.pop(tx_hash, None) is not None)

    def before(self, age: int | None) -> datetime | None:
        return None if age is None else self.now - seconds(age)

    def answer(self, number: int, said: Said) -> ExclusionAnswer:
        tx_hash = self.hashes[number]
        if said[number] == RECORD:
            return ExclusionAnswer(tx_hash, a_record(tx_hash=tx_hash))
        return ExclusionAnswer(tx_hash, failure=FAILURES.get(said[number]))

    def answer_of(self, tx_hash: TxHash, said: Said) -> ExclusionAnswer:
        return self.answer(self.hashes.index(tx_hash), said)

    def check(self) -> None:
        """Compare everything that is told with the model."""
        for tx_hash in self.hashes:
            told = read_evidence(self.connection, None, tx_hash)
            assert without_words(told) == without_words(self.model.evidence(tx_hash))
        for record_status in RecordStatus:
            wanted = TrackedFilter(record_status=record_status)
            found = {each.tx_hash for each in search_tracked(self.connection, wanted, 100)}
            assert found == self.model.hashes_with(record_status)
            assert count_tracked(self.connection, wanted) == len(found)
        for each in search_tracked(self.connection, TrackedFilter(), 100):
            said = each.remarks
            wish = Wish(frozenset(each.network_ids), said.attempted_at, said.label)
            assert wish == self.model.wishes[each.tx_hash]

    def end(self) -> None:
        """Leave nothing to the next example, and see that nothing is left."""
        for number in range(HASHES):
            self.untrack(number)
        for table in (tracked_hashes, tracked_labels, watched_cohorts, cohorts):
            assert self.connection.scalar(select(func.count()).select_from(table)) == 0


def kind_of(failure: Failure | None) -> FailureKind | None:
    return None if failure is None else failure.kind


def without_words(told: Sequence[Evidence]) -> list[Evidence]:
    """Leave out what failures say: hashes that failed alike share the words of most of them.

    The model does not hold when a hash was tracked, nor when its record was seen.
    """
    failures = (each.failure and Failure(each.failure.kind, "") for each in told)
    return [
        replace(each, failure=failure, tracked_at=None, record_seen_at=None)
        for each, failure in zip(told, failures, strict=True)
    ]


def check_cohorts(connection: Connection) -> None:
    """See that cohorts count their hashes, that all are asked soon enough, none known twice."""
    counted = select(tracked_hashes.c.cohort_id, func.count()).group_by("cohort_id")
    sizes = select(cohorts.c.cohort_id, cohorts.c.size)
    assert sorted(connection.execute(counted)) == sorted(connection.execute(sizes))
    of_hash = tracked_hashes.c.cohort_id == watched_cohorts.c.cohort_id
    watched = select(tracked_hashes, watched_cohorts).join(watched_cohorts, of_hash)
    for row in connection.execute(watched):
        assert row.attempted_at is None or row.born_at >= min(row.attempted_at, row.watched_at)
        assert row.born_at <= row.watched_at
    twice = watched.join(checks, checks.c.tx_hash == tracked_hashes.c.tx_hash)
    twice = twice.where(checks.c.network_id == watched_cohorts.c.network_id)
    assert connection.execute(twice).first() is None
    assert list(wrong_cohorts(connection)) == []


def test_cohorts_tell_of_each_hash_what_a_record_of_its_own_would(store: Store) -> None:
    @settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(action, max_size=12))
    def plays(actions: list[tuple[Any, ...]]) -> None:
        with store.write() as connection:
            play = Play(connection)
            for name, *arguments in actions:
                play.now += seconds(60)
                getattr(play, name)(*arguments)
                check_cohorts(connection)
            play.check()
            play.end()

    plays()
