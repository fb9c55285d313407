"""The exclusion poll of one network, from a scripted upstream into a real store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from dashboard.domain.condition import State, Subject
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.verdict import Evidence
from dashboard.errors import StoreError
from dashboard.poll.archive import ExclusionArchive
from dashboard.poll.cadence import CadencePolicy
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.lease import Lease, LeaseLost
from dashboard.poll.schedule import Schedule
from dashboard.store.answers import evidence
from dashboard.store.conditions import condition
from dashboard.store.engine import Store
from dashboard.store.outbox import unexpanded
from dashboard.store.rejections import versions
from dashboard.store.transactions import TrackRequest, track
from tests.askers import SILENCE, ScriptedExclusion
from tests.builders import A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.timepiece import Timepiece

pytestmark = pytest.mark.anyio

POLICY = CadencePolicy(shortest_interval=seconds(2))
LEASE = timedelta(days=365)

NewPoll = Callable[[], ExclusionPoll]


@pytest.fixture
def upstream() -> ScriptedExclusion:
    return ScriptedExclusion()


@pytest.fixture
def new_poll(store: Store, upstream: ScriptedExclusion, timepiece: Timepiece) -> NewPoll:
    """Return what makes a poll, as a start of the worker does."""

    def start() -> ExclusionPoll:
        term = Lease(store, "worker", "worker 1", LEASE).acquire()
        assert term is not None
        archive = ExclusionArchive(store, A_NETWORK, term, uuid4)
        return ExclusionPoll(upstream, archive, Schedule(POLICY), timepiece.clocks)

    return start


@pytest.fixture
def poll(new_poll: NewPoll) -> ExclusionPoll:
    return new_poll()


def watch(
    store: Store,
    timepiece: Timepiece,
    *numbers: int,
    network_id: NetworkId = A_NETWORK,
    attempted_at: datetime | None = None,
) -> None:
    with store.write() as connection:
        for number in numbers:
            request = TrackRequest(a_hash(number), (network_id,), attempted_at, "")
            track(connection, request, timepiece.now())


def state_of(store: Store, number: int = 1) -> State | None:
    with store.read() as connection:
        return condition(connection, Subject.transaction(A_NETWORK, a_hash(number)))


def news(store: Store) -> list[tuple[TxHash | None, State]]:
    """Return the rejections that somebody is to be told of."""
    with store.read() as connection:
        entries = unexpanded(connection, 100_000)
    return [
        (entry.transition.subject.tx_hash, entry.transition.after)
        for entry in entries
        if entry.transition.after is State.REJECTED
    ]


def evidence_of(store: Store) -> Evidence:
    with store.read() as connection:
        [found] = evidence(connection, A_NETWORK, a_hash())
    return found


async def let_pass(poll: ExclusionPoll, timepiece: Timepiece, duration: timedelta) -> None:
    """Let time pass in steps, with a tick after each."""
    for _ in range(60):
        timepiece.wait(duration / 60)
        await poll.tick()


async def test_tracked_hash_is_asked_within_one_tick(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    await poll.tick()
    watch(store, timepiece, 1)

    await poll.tick()

    assert upstream.asked == [[a_hash(1)]]


async def test_what_is_due_is_asked_together(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, *range(1, 101))

    await poll.tick()

    assert [len(hashes) for hashes in upstream.asked] == [100]


async def test_hash_of_another_network_is_left_to_its_own_poll(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1, network_id=ANOTHER_NETWORK)

    await poll.tick()

    assert upstream.asked == []


async def test_null_makes_a_transaction_unreported_and_tells_nobody(
    store: Store, poll: ExclusionPoll, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)

    await poll.tick()

    assert state_of(store) is State.UNREPORTED
    assert news(store) == []
    assert evidence_of(store).last_answered_at == timepiece.now()


async def test_record_is_kept_and_its_news_is_owed(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.reject(a_record())

    await poll.tick()

    assert state_of(store) is State.REJECTED
    assert news(store) == [(a_hash(1), State.REJECTED)]
    assert evidence_of(store).records == (a_record(),)


async def test_rejection_is_told_once_however_often_it_is_seen(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.reject(a_record())

    await let_pass(poll, timepiece, timedelta(hours=12))

    assert upstream.questions[a_hash(1)] > 3
    assert len(news(store)) == 1


async def test_late_rejection_is_found(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    await let_pass(poll, timepiece, timedelta(hours=2))
    upstream.reject(a_record())

    await let_pass(poll, timepiece, timedelta(hours=1))

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_changed_record_is_kept_as_another_version_and_told_no_second_time(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.reject(a_record())
    await poll.tick()
    upstream.reject(a_record(reason_message="TX_MODULE_LINE_COUNT_OVERFLOW_CACHED(ADD)"))

    await let_pass(poll, timepiece, timedelta(hours=6))

    with store.read() as connection:
        assert len(versions(connection, a_hash())) == 2
    assert len(news(store)) == 1


async def test_rejection_that_left_the_window_stays_a_rejection(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.reject(a_record())
    await poll.tick()
    upstream.records.clear()

    await let_pass(poll, timepiece, timedelta(hours=6))

    assert state_of(store) is State.REJECTED


async def test_restart_with_nothing_changed_tells_nothing_again(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.reject(a_record())
    await new_poll().tick()

    await let_pass(new_poll(), timepiece, timedelta(hours=6))

    assert len(news(store)) == 1


async def test_change_while_down_is_told_after_the_restart(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    await new_poll().tick()
    upstream.reject(a_record())
    timepiece.wait(timedelta(days=5))

    await new_poll().tick()

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_restart_asks_nothing_before_it_is_due(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    await let_pass(new_poll(), timepiece, timedelta(days=1))
    before = upstream.questions[a_hash(1)]

    await new_poll().tick()

    assert upstream.questions[a_hash(1)] == before


async def test_cadence_counts_from_the_attempt_where_it_is_known(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1, attempted_at=timepiece.now() - timedelta(days=3))
    watch(store, timepiece, 2)

    await let_pass(poll, timepiece, timedelta(hours=1))

    assert upstream.questions[a_hash(1)] == 1
    assert upstream.questions[a_hash(2)] > 10


async def test_attempt_in_the_future_counts_from_the_tracking(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1, attempted_at=timepiece.now() + timedelta(days=365))

    await let_pass(poll, timepiece, timedelta(days=8))

    asked = upstream.questions[a_hash(1)]
    await let_pass(poll, timepiece, timedelta(days=8))
    assert upstream.questions[a_hash(1)] == asked


@pytest.mark.parametrize("jump", [timedelta(days=-7), timedelta(days=7)])
async def test_clock_that_is_set_loses_no_rejection(
    store: Store,
    poll: ExclusionPoll,
    upstream: ScriptedExclusion,
    timepiece: Timepiece,
    jump: timedelta,
) -> None:
    watch(store, timepiece, 1)
    await poll.tick()
    timepiece.set_clock(jump)
    upstream.reject(a_record())

    await let_pass(poll, timepiece, seconds(10))

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_failure_changes_no_condition_and_is_remembered(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.is_down = True

    await poll.tick()

    assert state_of(store) is None
    assert evidence_of(store).failure == SILENCE


async def test_one_failing_hash_does_not_slow_the_others(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1, 2)
    upstream.failing.add(a_hash(1))

    await let_pass(poll, timepiece, timedelta(minutes=1))

    assert upstream.questions[a_hash(2)] > 10


async def test_silent_upstream_is_left_alone_for_longer_each_time(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.is_down = True

    for _ in range(3600):
        timepiece.wait(seconds(1))
        await poll.tick()

    assert 60 <= len(upstream.asked) <= 70


async def test_upstream_that_is_back_is_asked_at_its_pace_again(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.is_down = True
    await let_pass(poll, timepiece, timedelta(hours=1))
    upstream.is_down = False
    upstream.reject(a_record())

    await let_pass(poll, timepiece, timedelta(minutes=2))

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_worker_that_lost_its_lease_writes_nothing(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    upstream.reject(a_record())
    timepiece.wait(LEASE)

    with pytest.raises(LeaseLost):
        await poll.tick()

    assert state_of(store) is None
    assert news(store) == []


async def test_answer_that_could_not_be_stored_is_asked_for_again(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, timepiece: Timepiece
) -> None:
    watch(store, timepiece, 1)
    poll = new_poll()
    upstream.reject(a_record())
    with store.write() as connection:
        connection.exec_driver_sql("ALTER TABLE outbox RENAME TO hidden")
    with pytest.raises(StoreError, match="outbox"):
        await poll.tick()
    with store.write() as connection:
        connection.exec_driver_sql("ALTER TABLE hidden RENAME TO outbox")

    await let_pass(poll, timepiece, seconds(60))

    assert news(store) == [(a_hash(1), State.REJECTED)]
