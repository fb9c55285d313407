"""Following tracked transactions up, over a real store and a node that is scripted."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.inclusion import (
    SETTLES_AFTER,
    InclusionQuestion,
)
from dashboard.domain.tracking.verdict import VerdictKind, conclude
from dashboard.errors import StoreError
from dashboard.poll.inclusion import InclusionPoll
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import read_standing_failures
from tests.builders import (
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_transition,
    an_address,
    seconds,
)
from tests.fake_clock import FakeClock
from tests.flaky_store import FlakyStore
from tests.saved_record import save_record
from tests.unit.poll.condition_scene import told
from tests.unit.poll.exclusion_poll_scene import evidence_of, remove, watch
from tests.unit.poll.inclusion_poll_scene import ScriptedBlocks, ScriptedNode, a_poll


@pytest.fixture
def node() -> ScriptedNode:
    return ScriptedNode()


@pytest.fixture
def poll(store: Store, node: ScriptedNode, fake_clock: FakeClock) -> InclusionPoll:
    return a_poll(store, node, fake_clock)


def reject(store: Store, fake_clock: FakeClock, nonce: int = 5) -> None:
    with store.write() as connection:
        save_record(connection, A_NETWORK, a_record(nonce=nonce), fake_clock.now())


def verdict_on(store: Store) -> VerdictKind:
    return conclude(evidence_of(store)).kind


async def tick_for(poll: InclusionPoll, fake_clock: FakeClock, duration: timedelta) -> None:
    """Let time pass in 60 steps, with a tick after each."""
    for _ in range(60):
        fake_clock.wait(duration / 60)
        await poll.tick()


async def test_included_hash_is_found_at_once(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.include(1)
    watch(store, fake_clock, 1)

    await poll.tick()

    assert verdict_on(store) is VerdictKind.INCLUDED


async def test_rejected_hash_that_is_included_later_is_found(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    reject(store, fake_clock)
    await poll.tick()
    assert verdict_on(store) is VerdictKind.REJECTED

    node.include(1)
    await tick_for(poll, fake_clock, seconds(45))

    assert verdict_on(store) is VerdictKind.REJECTED_THEN_INCLUDED


async def test_people_hear_once_that_a_rejected_transaction_is_included(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    watch(store, fake_clock, 2)
    reject(store, fake_clock)
    subject = Subject.transaction(A_NETWORK, a_hash())
    with store.write() as connection:
        record_transition(connection, a_transition(subject=subject), 1)
    node.include(1, block=9)
    node.include(2)

    await tick_for(poll, fake_clock, 2 * SETTLES_AFTER)

    assert [(each.subject, each.after, each.grounds) for each in told(store)] == [
        (subject, State.REJECTED, None),
        (
            Subject(SubjectKind.INCLUSION, A_NETWORK, a_hash()),
            State.INCLUDED,
            InclusionGrounds(9, is_successful=True),
        ),
    ]


async def test_nonce_used_by_another_is_found_once_a_record_names_it(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.next_nonces[an_address()] = 6
    watch(store, fake_clock, 1)
    await tick_for(poll, fake_clock, seconds(60))
    reject(store, fake_clock)

    await tick_for(poll, fake_clock, seconds(120))

    assert verdict_on(store) is VerdictKind.REPLACED


async def test_end_is_asked_about_once_more_when_it_settles_and_never_again(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.include(1)
    watch(store, fake_clock, 1)

    await poll.tick()
    await tick_for(poll, fake_clock, SETTLES_AFTER - seconds(1))
    assert len(node.asked) == 1
    await tick_for(poll, fake_clock, timedelta(days=2))

    assert len(node.asked) == 2


async def test_replaced_hash_settles_too(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.next_nonces[an_address()] = 6
    watch(store, fake_clock, 1)
    reject(store, fake_clock)
    await tick_for(poll, fake_clock, 2 * SETTLES_AFTER)
    asked = len(node.asked)

    await tick_for(poll, fake_clock, timedelta(days=2))

    assert asked == len(node.asked) == 3


async def test_block_that_was_replaced_is_looked_at_again(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.include(1)
    watch(store, fake_clock, 1)
    await poll.tick()
    node.included.clear()

    await tick_for(poll, fake_clock, SETTLES_AFTER)

    assert verdict_on(store) is VerdictKind.NOT_CHECKED_YET


async def test_restart_goes_on_where_it_was(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.include(1)
    watch(store, fake_clock, 1, 2)
    await poll.tick()
    await tick_for(poll, fake_clock, SETTLES_AFTER)
    node.asked.clear()

    await a_poll(store, node, fake_clock).tick()

    assert node.asked == []
    await tick_for(a_poll(store, node, fake_clock), fake_clock, timedelta(hours=1))
    assert {tx_hash for hashes in node.asked for tx_hash in hashes} == {a_hash(2)}


async def pass_days(
    poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock, days: int
) -> None:
    """Let days pass, until questions are hours apart."""
    for _ in range(4 * days):
        fake_clock.wait(timedelta(hours=6))
        await poll.tick()
    node.asked.clear()


async def wait_for_question(poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock) -> None:
    while not node.asked:
        fake_clock.wait(timedelta(minutes=10))
        await poll.tick()
    node.asked.clear()


async def test_restart_tries_soon_again_what_the_node_did_not_answer(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await pass_days(poll, node, fake_clock, 5)
    node.is_down = True
    await wait_for_question(poll, node, fake_clock)
    node.is_down = False

    await tick_for(a_poll(store, node, fake_clock), fake_clock, seconds(60))

    assert node.asked == [[a_hash(1)]]


async def test_restart_asks_once_more_when_a_block_becomes_final(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await pass_days(poll, node, fake_clock, 5)
    node.include(1)
    await wait_for_question(poll, node, fake_clock)

    restarted = a_poll(store, node, fake_clock)
    await tick_for(restarted, fake_clock, SETTLES_AFTER - seconds(1))
    assert node.asked == []
    await tick_for(restarted, fake_clock, seconds(60))

    assert node.asked == [[a_hash(1)]]


async def test_hash_tracked_again_after_its_last_question_is_followed_like_a_new_one(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, 2)
    await pass_days(poll, node, fake_clock, 31)

    watch(store, fake_clock, 1)
    await tick_for(poll, fake_clock, seconds(60))
    again = len(node.asked)
    await tick_for(a_poll(store, node, fake_clock), fake_clock, seconds(60))

    assert len(node.asked) > again > 1
    assert {tx_hash for hashes in node.asked for tx_hash in hashes} == {a_hash(1)}


async def test_hash_that_a_block_names_is_asked_about_again_if_its_receipt_was_not_kept(
    store: Store, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    flaky_store = FlakyStore(store)
    poll, first = await a_poll_that_a_block_tells(flaky_store, node, fake_clock)
    flaky_store.fail_after(0)
    with pytest.raises(StoreError):
        await poll.tick()
    node.asked.clear()

    await poll.tick()

    assert node.asked == [[first]]


async def test_hash_that_a_block_names_is_soon_asked_about_again_if_its_node_failed(
    store: Store, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    poll, first = await a_poll_that_a_block_tells(store, node, fake_clock)
    node.is_down = True
    await poll.tick()
    node.is_down = False
    node.asked.clear()
    await poll.tick()
    assert node.asked == []

    fake_clock.wait(seconds(15))
    await poll.tick()

    assert node.asked == [[first]]


async def a_poll_that_a_block_tells(
    store: Store, node: ScriptedNode, fake_clock: FakeClock
) -> tuple[InclusionPoll, TxHash]:
    """Return a poll with nothing due, and a hash that its newest block names."""
    blocks = ScriptedBlocks()
    poll = a_poll(store, node, fake_clock, blocks)
    first, *others = [InclusionQuestion(a_hash(number)) for number in range(1, 12)]
    for _ in range(2):
        await poll.ask([first, *others])
        fake_clock.wait(seconds(61))
    blocks.hashes = frozenset({first.tx_hash})
    await poll.ask(others)
    node.asked.clear()
    return poll, first.tx_hash


async def test_hash_of_another_network_is_left_to_its_node(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1, network_id=ANOTHER_NETWORK)

    await poll.tick()

    assert node.asked == []


async def test_silent_node_is_noted_rested_and_asked_again(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.is_down = True
    watch(store, fake_clock, 1, 2)
    await tick_for(poll, fake_clock, seconds(29))
    assert len(node.asked) == 1
    assert silent_operations(store) == [Operation.TRANSACTION_RECEIPT]

    node.is_down = False
    await tick_for(poll, fake_clock, seconds(60))

    assert silent_operations(store) == []
    assert len(node.asked) > 1


async def test_removed_hash_is_not_asked_about_and_its_failure_does_not_stand(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.is_down = True
    watch(store, fake_clock, 1, 2)
    await poll.tick()
    remove(store, 1)
    await tick_for(poll, fake_clock, timedelta(minutes=30))
    assert {tx_hash for hashes in node.asked[1:] for tx_hash in hashes} == {a_hash(2)}
    assert silent_operations(store) == [Operation.TRANSACTION_RECEIPT]

    remove(store, 2)
    asked = len(node.asked)
    await tick_for(poll, fake_clock, timedelta(hours=2))

    assert len(node.asked) == asked
    assert silent_operations(store) == []


async def test_failure_of_an_earlier_term_does_not_stand_if_nothing_is_followed(
    store: Store, poll: InclusionPoll, node: ScriptedNode, fake_clock: FakeClock
) -> None:
    node.is_down = True
    watch(store, fake_clock, 1)
    await poll.tick()
    remove(store, 1)

    await a_poll(store, node, fake_clock).tick()

    assert silent_operations(store) == []


def silent_operations(store: Store) -> list[Operation]:
    with store.read() as connection:
        return [each.operation for each in read_standing_failures(connection, A_NETWORK)]
