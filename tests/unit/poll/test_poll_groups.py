"""Hashes that are asked together: what is told of each, what leaves, what a restart finds."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from uuid import uuid4

import pytest
from msgspec.structs import replace
from sqlalchemy import func, select

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import State
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.lease import NetworkStore
from dashboard.poll.network_conditions import Conditions
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.maintenance.rebuild import wrong_cohorts
from dashboard.store.schema import poll_groups, watched_cohorts
from dashboard.store.tracking.cohorts import watched_after
from dashboard.store.tracking.transactions import edit_tracked, track, untrack
from tests.builders import A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.fake_clock import FakeClock
from tests.one_by_one import read_evidence
from tests.saved_record import save_record
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.condition_scene import a_term
from tests.unit.poll.exclusion_poll_scene import POLICY, NewPoll, let_pass, state_of, watch
from tests.unit.store.old_rows import forget, rows_of

NETWORKS = (A_NETWORK, ANOTHER_NETWORK)
HASHES = tuple(a_hash(number) for number in range(1, 17))
PERIOD = seconds(60)


class Played:
    """Two networks that are polled, and a record for each hash on each of them."""

    def __init__(self, store: Store, fake_clock: FakeClock, chance: Random) -> None:
        self.store = store
        self.clock = fake_clock
        self.chance = chance
        self.upstreams = {each: ScriptedExclusion() for each in NETWORKS}
        self.told: dict[tuple[TxHash, NetworkId], Evidence] = {}
        self.tracked: dict[TxHash, tuple[NetworkId, ...]] = {}
        self.restart()

    def restart(self) -> None:
        """Begin with what the store holds, as a new worker does."""
        term = a_term(self.store, self.clock)
        clocks, rules = self.clock.clocks, ConditionRules()
        self.polls = [
            ExclusionPoll(
                self.upstreams[each],
                NetworkStore(self.store, each, term),
                ExclusionQueue(POLICY, epoch=-clocks.offset),
                clocks,
                Conditions(each, PERIOD, PERIOD, rules, clocks, uuid4),
                uuid4,
            )
            for each in NETWORKS
        ]

    async def go_on(self) -> None:
        """Let some time pass, and something happen to a hash."""
        self.clock.wait(seconds(self.chance.choice((1, 1, 4, 30, 300, 3600))))
        acts = [self.watch] * 5 + [self.fail, self.fail, self.reject, self.look_up, self.report]
        self.chance.choice([*acts, self.drop, self.amend, self.restart])()
        for poll in self.polls:
            await poll.tick()
        self.take_in()

    def some(self) -> TxHash:
        return self.chance.choice(HASHES)

    def watch(self) -> None:
        where = self.chance.choice((NETWORKS, NETWORKS, NETWORKS[:1], NETWORKS[1:]))
        tx_hash = self.some()
        with self.store.write() as connection:
            track(connection, TrackRequest(tx_hash, where), self.clock.now())
        self.tracked[tx_hash] = tuple({*self.tracked.get(tx_hash, ()), *where})

    def fail(self) -> None:
        upstream = self.chance.choice(list(self.upstreams.values()))
        upstream.failing = {self.some()} if self.chance.random() < 0.4 else set()
        upstream.is_down = self.chance.random() < 0.2

    def reject(self) -> None:
        if self.chance.random() < 0.3:
            upstream = self.chance.choice(list(self.upstreams.values()))
            upstream.reject(a_record(tx_hash=self.some()))

    def look_up(self) -> None:
        network_id, tx_hash = self.chance.choice(NETWORKS), self.some()
        failure = self.chance.choice((None, self.upstreams[network_id].silence))
        answer = ExclusionAnswer(tx_hash, failure=failure)
        with self.store.write() as connection:
            record_lookup(connection, network_id, self.clock.now(), [answer], is_polled=False)
        self.note(network_id, answer)

    def report(self) -> None:
        if self.chance.random() < 0.3:
            network_id, record = self.chance.choice(NETWORKS), a_record(tx_hash=self.some())
            with self.store.write() as connection:
                save_record(connection, network_id, record, self.clock.now())
            known = self.known(record.tx_hash, network_id)
            self.told[record.tx_hash, network_id] = replace(known, records=(record,))

    def drop(self) -> None:
        tx_hash = self.some()
        with self.store.write() as connection:
            untrack(connection, tx_hash)
        self.tracked.pop(tx_hash, None)

    def amend(self) -> None:
        remarks = Remarks(self.clock.now() - seconds(self.chance.choice((0, 5000))), "", "")
        with self.store.write() as connection:
            edit_tracked(connection, self.some(), remarks, self.clock.now())

    def take_in(self) -> None:
        for network_id, upstream in self.upstreams.items():
            for number, asked in enumerate(upstream.asked):
                for tx_hash in asked:
                    is_failing = upstream.is_down or tx_hash in upstream.failing
                    if number and is_failing:
                        continue  # only asked to see whether the API answers, which it does not
                    failure = upstream.silence if is_failing else None
                    record = None if is_failing else upstream.records.get(tx_hash)
                    self.note(network_id, ExclusionAnswer(tx_hash, record, failure))
            upstream.asked.clear()

    def note(self, network_id: NetworkId, answer: ExclusionAnswer) -> None:
        known, now = self.known(answer.tx_hash, network_id), self.clock.now()
        if answer.failure is not None:
            since = known.failing_since or now
            known = replace(known, failing_since=since, failure=answer.failure)
        else:
            first = known.first_answered_at or now
            known = replace(known, first_answered_at=first, last_answered_at=now)
            known = replace(known, failing_since=None, failure=None)
            records = known.records if answer.record is None else (answer.record,)
            known = replace(known, records=records)
        self.told[answer.tx_hash, network_id] = known

    def known(self, tx_hash: TxHash, network_id: NetworkId) -> Evidence:
        return self.told.get((tx_hash, network_id), Evidence(network_id, tx_hash))

    def check(self) -> None:
        """See that the store tells the same of each hash, and is whole."""
        with self.store.read() as connection:
            for tx_hash in HASHES:
                told = [
                    replace(
                        each, attempted_at=None, tracked_at=None, record_seen_at=None, statements=()
                    )
                    for each in read_evidence(connection, None, tx_hash)
                ]
                where = {*self.tracked.get(tx_hash, ())}
                where |= {each for each in NETWORKS if (tx_hash, each) in self.told}
                assert told == [self.known(tx_hash, each) for each in sorted(where)]
            assert list(wrong_cohorts(connection)) == []


@pytest.mark.parametrize("seed", range(2))
async def test_each_hash_is_told_of_as_if_it_was_asked_alone(
    store: Store, fake_clock: FakeClock, seed: int
) -> None:
    played = Played(store, fake_clock, Random(seed))  # noqa: S311 - the same each time
    groups = 0
    for number in range(120):
        await played.go_on()
        if number % 20 == 0:
            played.check()
            groups = max(groups, grouped(store))

    played.check()
    assert groups > 4


def grouped(store: Store) -> int:
    """Count the cohorts that are in groups."""
    with store.read() as connection:
        is_grouped = watched_cohorts.c.group_id.is_not(None)
        query = select(func.count()).select_from(watched_cohorts).where(is_grouped)
        return connection.scalars(query).one()


@pytest.fixture
async def poll(store: Store, new_poll: NewPoll, fake_clock: FakeClock) -> ExclusionPoll:
    """Return a poll of ten hashes that came one by one, and have met."""
    poll = new_poll()
    for number in range(1, 11):
        watch(store, fake_clock, number)
        fake_clock.wait(seconds(0.1))
        await poll.tick()
    await let_pass(poll, fake_clock, timedelta(minutes=10))
    assert grouped(store) == 10
    return poll


async def test_unchanged_nulls_of_hashes_that_came_one_by_one_write_one_row(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    def own_rows() -> list[object]:
        with store.read() as connection:
            return list(connection.execute(select(watched_cohorts)).all())

    before, asked = own_rows(), len(upstream.asked)

    await let_pass(poll, fake_clock, timedelta(hours=1))

    assert own_rows() == before
    assert [len(each) for each in upstream.asked[asked:]] == [10] * (len(upstream.asked) - asked)
    with store.read() as connection:
        told = {each.last_asked_at for each in watched_after(connection, A_NETWORK, 0)}
        assert told == {connection.scalar(select(func.max(poll_groups.c.asked_at)))}


async def test_rejected_one_leaves_the_others_together(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    upstream.reject(a_record(tx_hash=a_hash(3)))
    upstream.failing = {a_hash(5)}

    await let_pass(poll, fake_clock, timedelta(minutes=30))

    assert state_of(store, 3) is State.REJECTED
    assert grouped(store) == 8
    upstream.failing.clear()
    await let_pass(poll, fake_clock, timedelta(days=2))
    assert grouped(store) == 9


async def test_restart_finds_groups_and_asks_nothing_before_it_is_due(
    poll: ExclusionPoll,
    new_poll: NewPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
) -> None:
    asked = len(upstream.asked)
    poll = new_poll()
    await poll.tick()
    assert len(upstream.asked) == asked

    await let_pass(poll, fake_clock, timedelta(hours=1))

    assert {len(each) for each in upstream.asked[asked:]} == {10}


async def test_group_without_cohorts_is_forgotten(
    store: Store, poll: ExclusionPoll, fake_clock: FakeClock
) -> None:
    later = fake_clock.now() + timedelta(days=1)
    assert forget(store, untracked_answers=later) == {}
    with store.write() as connection:
        for number in range(1, 11):
            untrack(connection, a_hash(number))
    await let_pass(poll, fake_clock, timedelta(hours=1))

    forget(store, untracked_answers=later)  # first what is within another one
    forget(store, untracked_answers=later)
    assert rows_of(store, "poll_groups") == 0
