"""The exclusion poll through restarts, silence, clocks that are set and stores that refuse."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import State
from dashboard.domain.health.observation import (
    AnswerCounts,
    ExclusionAnswer,
    Failure,
    FailureKind,
    Operation,
    times_of,
)
from dashboard.errors import StoreUnavailable
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.lease import LeaseLost
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.maintenance.rebuild import wrong_derived
from dashboard.store.monitoring.answer_counts import source_records
from dashboard.store.tracking.cohorts import watched_after
from tests.builders import A_NETWORK, a_hash, a_record, seconds
from tests.fake_clock import FakeClock
from tests.flaky_store import FlakyStore
from tests.scripted_upstreams import SILENCE, ScriptedExclusion
from tests.unit.poll.condition_scene import LEASE, told
from tests.unit.poll.exclusion_poll_scene import (
    NewPoll,
    a_poll,
    evidence_of,
    let_pass,
    news,
    state_of,
    watch,
)


async def test_restart_with_nothing_changed_tells_nothing_again(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.reject(a_record())
    await new_poll().tick()

    await let_pass(new_poll(), fake_clock, timedelta(hours=6))

    assert len(news(store)) == 1


async def test_what_became_of_each_hash_is_counted_and_one_time_for_all(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2, 3)
    upstream.failing = {a_hash(3)}

    await new_poll().tick()

    with store.read() as connection:
        [found] = source_records(connection, fake_clock.now(), 1).items()
    counts = AnswerCounts(2, failed=1, times=times_of(timedelta()))
    assert (found[0], found[1].total) == ((A_NETWORK, Operation.EXCLUSION_STATUS), counts)


async def test_restart_asks_nothing_before_it_is_due(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await let_pass(new_poll(), fake_clock, timedelta(days=1))
    before = upstream.questions[a_hash(1)]

    await new_poll().tick()

    assert upstream.questions[a_hash(1)] == before


async def test_restart_remembers_that_a_question_got_no_answer(
    store: Store, new_poll: NewPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, attempted_at=fake_clock.now() - timedelta(days=6))
    upstream.is_down = True
    await new_poll().tick()
    upstream.is_down = False
    upstream.reject(a_record())

    await let_pass(new_poll(), fake_clock, timedelta(minutes=1))

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_cadence_counts_from_the_attempt_where_it_is_known(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, attempted_at=fake_clock.now() - timedelta(days=3))
    watch(store, fake_clock, 2)

    await let_pass(poll, fake_clock, timedelta(hours=1))

    assert upstream.questions[a_hash(1)] == 1
    assert upstream.questions[a_hash(2)] > 10


async def test_attempt_in_the_future_counts_from_the_tracking(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, attempted_at=fake_clock.now() + timedelta(days=365))

    await let_pass(poll, fake_clock, timedelta(days=8))

    asked = upstream.questions[a_hash(1)]
    await let_pass(poll, fake_clock, timedelta(days=8))
    assert upstream.questions[a_hash(1)] == asked


@pytest.mark.parametrize("is_attempt_known", [False, True])
async def test_hash_tracked_by_a_machine_whose_clock_is_ahead_is_asked_about_like_any_other(
    store: Store,
    poll: ExclusionPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    *,
    is_attempt_known: bool,
) -> None:
    ahead = timedelta(minutes=10)
    fake_clock.set_clock(ahead)
    attempted_at = fake_clock.now() - seconds(5) if is_attempt_known else None
    watch(store, fake_clock, 1, attempted_at=attempted_at)
    fake_clock.set_clock(-ahead)

    await let_pass(poll, fake_clock, seconds(3))
    first = len(upstream.asked)
    for _ in range(10):
        await let_pass(poll, fake_clock, timedelta(minutes=1))

    assert first > 0
    assert len(upstream.asked) < 50


@pytest.mark.parametrize("jump", [timedelta(days=-7), timedelta(days=7)])
async def test_clock_that_is_set_loses_no_rejection(
    store: Store,
    poll: ExclusionPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    jump: timedelta,
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    fake_clock.set_clock(jump)
    upstream.reject(a_record())

    await let_pass(poll, fake_clock, seconds(10))

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_failure_changes_no_condition_and_is_remembered(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.is_down = True

    await poll.tick()

    assert state_of(store) is None
    assert evidence_of(store).failure == SILENCE


async def test_one_failing_hash_does_not_slow_the_others(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2)
    upstream.failing.add(a_hash(1))

    await let_pass(poll, fake_clock, timedelta(minutes=1))

    assert upstream.questions[a_hash(2)] > 7


async def test_silent_upstream_is_left_alone_for_longer_each_time(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.is_down = True

    for _ in range(180):
        fake_clock.wait(seconds(5))
        await poll.tick()

    assert 61 <= len(upstream.asked) <= 66


@pytest.mark.parametrize("numbers", [(1,), (1, 2)])
async def test_upstream_that_wants_rest_gets_it(
    store: Store,
    poll: ExclusionPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    numbers: tuple[int, ...],
) -> None:
    watch(store, fake_clock, *numbers)
    upstream.silence = Failure(FailureKind.THROTTLED, "too fast", timedelta(hours=1))
    upstream.failing = {a_hash(1)}

    await let_pass(poll, fake_clock, timedelta(minutes=59))
    assert len(upstream.asked) == 1

    await let_pass(poll, fake_clock, timedelta(minutes=4))
    assert len(upstream.asked) == 2


async def test_rest_ends_once_the_upstream_answered_a_look_up(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.silence = Failure(FailureKind.THROTTLED, "too fast", timedelta(minutes=5))
    upstream.is_down = True
    await poll.tick()
    upstream.is_down = False
    fake_clock.wait(seconds(60))
    await poll.tick()
    asked = len(upstream.asked)
    with store.write() as connection:
        answers = [ExclusionAnswer(a_hash(77))]
        record_lookup(connection, A_NETWORK, fake_clock.now(), answers, is_polled=False)

    await poll.tick()

    assert (asked, len(upstream.asked)) == (1, 2)


async def test_worker_that_lost_its_lease_writes_nothing(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.reject(a_record())
    fake_clock.wait(LEASE)

    with pytest.raises(LeaseLost):
        await poll.tick()

    assert state_of(store) is None
    assert news(store) == []


async def test_answer_that_could_not_be_stored_is_asked_for_again(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.reject(a_record())
    flaky_store = FlakyStore(store)
    poll = a_poll(flaky_store, upstream, fake_clock)
    flaky_store.fail_after(writes=0)
    with pytest.raises(StoreUnavailable):
        await poll.tick()

    await let_pass(poll, fake_clock, seconds(60))

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_storm_is_saved_in_steps_and_a_part_of_it_is_asked_for_again(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    numbers = range(1, 101)
    watch(store, fake_clock, *numbers, 101)
    upstream.reject(*(a_record(tx_hash=a_hash(number)) for number in numbers))
    flaky_store = FlakyStore(store)
    poll = a_poll(flaky_store, upstream, fake_clock)
    flaky_store.fail_after(writes=1)
    with pytest.raises(StoreUnavailable):
        await poll.tick()
    before, writes = len(news(store)), store.writes
    await let_pass(poll, fake_clock, seconds(5))

    assert before < len(numbers)
    assert store.writes > writes + 2
    assert sorted(news(store)) == [(a_hash(number), State.REJECTED) for number in numbers]
    with store.read() as connection:
        assert list(wrong_derived(connection)) == []
        asked = {each.last_asked_at for each in watched_after(connection, A_NETWORK, 0)}
    assert None not in asked


async def test_silent_upstream_is_told_once_and_so_is_its_return(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    upstream.is_down = True
    await let_pass(poll, fake_clock, timedelta(hours=1))
    upstream.is_down = False
    await let_pass(poll, fake_clock, timedelta(hours=1))

    assert [each.after for each in told(store)] == [State.SILENT, State.ANSWERING]


async def test_silence_is_told_within_a_quarter_of_a_minute_after_the_pending_time(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    upstream.is_down = True

    for _ in range(135):
        await poll.tick()
        fake_clock.wait(seconds(1))

    assert [each.after for each in told(store)] == [State.SILENT]


async def tick_for(poll: ExclusionPoll, fake_clock: FakeClock, duration: timedelta) -> None:
    """Tick four times a minute."""
    for _ in range(duration // seconds(15)):
        fake_clock.wait(seconds(15))
        await poll.tick()


@pytest.mark.parametrize("kind", [FailureKind.UNAVAILABLE, FailureKind.UNREADABLE])
async def test_hash_for_which_the_api_always_fails_is_no_outage(
    store: Store,
    new_poll: NewPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    kind: FailureKind,
) -> None:
    upstream.silence = Failure(kind, "the server failed")
    upstream.failing = {a_hash(1)}
    watch(store, fake_clock, *range(2, 41))
    await let_pass(new_poll(), fake_clock, timedelta(hours=6))
    watch(store, fake_clock, 1)

    await tick_for(new_poll(), fake_clock, timedelta(hours=2))

    assert told(store) == []
    assert evidence_of(store).last_answered_at is None
    assert evidence_of(store).failure == upstream.silence


async def test_outage_is_told_though_only_a_hash_is_due_that_always_fails(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    upstream.failing = {a_hash(1)}
    watch(store, fake_clock, 2, attempted_at=fake_clock.now() - timedelta(days=6))
    watch(store, fake_clock, 1)
    await tick_for(poll, fake_clock, timedelta(minutes=10))
    before, asked = told(store), upstream.questions[a_hash(2)]
    upstream.is_down = True
    await tick_for(poll, fake_clock, timedelta(minutes=10))
    upstream.is_down = False
    await tick_for(poll, fake_clock, timedelta(minutes=30))

    assert before == []
    assert [each.after for each in told(store)] == [State.SILENT, State.ANSWERING]
    assert asked > 1  # beside the other one, not because it was due
    assert evidence_of(store).last_answered_at is None


async def test_rejection_counts_though_it_was_asked_to_see_whether_the_api_answers(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    upstream.failing = {a_hash(1)}
    watch(store, fake_clock, 2, attempted_at=fake_clock.now() - timedelta(days=6))
    await poll.tick()
    upstream.reject(a_record(tx_hash=a_hash(2)))
    watch(store, fake_clock, 1)
    await tick_for(poll, fake_clock, seconds(15))

    assert news(store) == [(a_hash(2), State.REJECTED)]
    with store.read() as connection:
        assert list(wrong_derived(connection)) == []
