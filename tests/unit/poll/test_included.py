"""Included transactions: asked about a few times more; densely again when no block holds them."""

from __future__ import annotations

from datetime import timedelta

from dashboard.domain.alerts.condition import State
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import INCLUDED, StatusClaim
from dashboard.domain.tracking.inclusion import (
    SETTLES_AFTER,
    Inclusion,
    InclusionAnswer,
    InclusionQuestion,
)
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.follow_ups import record_inclusion_answers
from tests.builders import A_NETWORK, HOUR, a_hash, a_record, seconds
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.condition_scene import told
from tests.unit.poll.exclusion_poll_scene import a_poll, let_pass, news, watch

BLOCK = Inclusion(7, bytes(32), is_successful=True)


def tell(
    store: Store, fake_clock: FakeClock, *numbers: int, inclusion: Inclusion | None = BLOCK
) -> None:
    """Let a node say of hashes what block holds them."""
    answers = [InclusionAnswer(a_hash(number), inclusion) for number in numbers]
    pairs = [(InclusionQuestion(each.tx_hash), each) for each in answers]
    with store.write() as connection:
        record_inclusion_answers(connection, A_NETWORK, fake_clock.now(), pairs)


async def pass_hours(poll: ExclusionPoll, fake_clock: FakeClock, hours: int) -> None:
    for _ in range(hours):
        fake_clock.wait(HOUR)
        await poll.tick()


def asked(upstream: ScriptedExclusion) -> dict[TxHash, int]:
    """Return how often each hash was asked about since the last call."""
    found = dict(upstream.questions)
    upstream.asked.clear()
    return found


async def test_included_hash_is_asked_about_a_few_times_to_the_end_of_the_window(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    tell(store, fake_clock, 1)

    await let_pass(poll, fake_clock, HOUR)
    assert asked(upstream)[a_hash(1)] == 2
    await pass_hours(poll, fake_clock, 169)
    assert asked(upstream)[a_hash(1)] == 4
    await pass_hours(poll, fake_clock, 24)
    assert asked(upstream) == {}


async def test_only_what_is_included_leaves_the_others_that_were_tracked_with_it(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2, 3)
    await let_pass(poll, fake_clock, seconds(60))
    tell(store, fake_clock, 2)
    asked(upstream)

    await let_pass(poll, fake_clock, HOUR)

    found = asked(upstream)
    assert found[a_hash(1)] == found[a_hash(3)] > 10 * found.get(a_hash(2), 0)


async def test_restart_remembers_what_is_included(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    tell(store, fake_clock, 1)
    await let_pass(poll, fake_clock, seconds(60))
    asked(upstream)

    restarted = a_poll(store, upstream, fake_clock)
    await let_pass(restarted, fake_clock, HOUR)

    assert asked(upstream) == {}


async def test_hash_that_left_its_block_is_asked_about_as_if_it_had_never_been_in_one(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2)
    await poll.tick()
    tell(store, fake_clock, 1, 2)
    await let_pass(poll, fake_clock, timedelta(minutes=10))
    asked(upstream)

    tell(store, fake_clock, 1, inclusion=None)
    await poll.tick()
    assert asked(upstream) == {a_hash(1): 1}
    await let_pass(poll, fake_clock, HOUR)

    assert asked(upstream)[a_hash(1)] > 10


async def test_late_record_of_an_included_hash_is_seen(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    tell(store, fake_clock, 1)
    await let_pass(poll, fake_clock, HOUR)
    upstream.reject(a_record())

    await pass_hours(poll, fake_clock, 2)

    assert [tx_hash for tx_hash, _ in news(store)] == [a_hash(1)]


async def test_late_record_is_told_together_with_the_block_that_is_known_already(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await poll.tick()
    tell(store, fake_clock, 1)
    fake_clock.wait(SETTLES_AFTER)
    tell(store, fake_clock, 1)
    upstream.reject(a_record())

    await pass_hours(poll, fake_clock, 3)

    assert [each.after for each in told(store)] == [State.REJECTED, State.INCLUDED]


async def test_hash_that_was_included_before_it_was_tracked_is_known_as_such(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    tell(store, fake_clock, 1)
    watch(store, fake_clock, 1, 2)

    await let_pass(poll, fake_clock, HOUR)

    found = asked(upstream)
    assert found[a_hash(1)] == 1
    assert found[a_hash(2)] > 10


async def test_word_of_the_api_for_an_inclusion_makes_questions_rarer_while_it_stays(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2)
    upstream.claims[a_hash(1)] = StatusClaim(INCLUDED, a_hash(1))

    await let_pass(poll, fake_clock, HOUR)
    found = asked(upstream)
    assert 4 * found[a_hash(1)] < found[a_hash(2)] < 16 * found[a_hash(1)]

    upstream.claims[a_hash(1)] = StatusClaim("PENDING", a_hash(1))
    await pass_hours(poll, fake_clock, 24)
    asked(upstream)
    await pass_hours(poll, fake_clock, 48)
    found = asked(upstream)
    assert abs(found[a_hash(1)] - found[a_hash(2)]) <= 1
