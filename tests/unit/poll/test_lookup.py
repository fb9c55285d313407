"""The live question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

import pytest

from dashboard.domain.alerts.condition import State
from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Evidence, VerdictKind, conclude
from dashboard.poll.lookup import LiveLookup
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import AnswersNotSaved, record_lookup
from dashboard.store.monitoring.answer_counts import note_failure, read_standing_failures
from dashboard.store.tracking.transactions import track
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds
from tests.flaky_store import FlakyStore
from tests.one_by_one import read_evidence
from tests.scripted_upstreams import SILENCE, ScriptedExclusion, SilentExclusion
from tests.unit.poll.condition_scene import told
from tests.waiting import PATIENCE

AMPLE = timedelta(seconds=PATIENCE)


def a_question(
    store: Store, upstream: ScriptedExclusion, other: ScriptedExclusion | SilentExclusion
) -> LiveLookup:
    askers = {A_NETWORK: upstream, ANOTHER_NETWORK: other}
    return LiveLookup(store, askers, lambda: A_MOMENT, uuid4)


def found(store: Store) -> list[Evidence]:
    with store.read() as connection:
        return read_evidence(connection, None, a_hash())


def pending(store: Store) -> int:
    with store.read() as connection:
        return len(pending_expansion(connection, 100))


async def test_every_network_is_asked_and_what_it_said_is_stored(store: Store) -> None:
    upstream, other = ScriptedExclusion(), ScriptedExclusion()
    upstream.reject(a_record())

    await a_question(store, upstream, other).ask([a_hash()], None, AMPLE)

    assert {each.network_id: each.records for each in found(store)} == {
        A_NETWORK: (a_record(),),
        ANOTHER_NETWORK: (),
    }
    assert [each.last_answered_at for each in found(store)] == [A_MOMENT, A_MOMENT]


async def test_many_rejections_are_stored_in_steps_between_which_others_write(store: Store) -> None:
    upstream, hashes = ScriptedExclusion(), [a_hash(number) for number in range(1, 31)]
    upstream.reject(*(a_record(tx_hash=each) for each in hashes))
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(1), (A_NETWORK,)), A_MOMENT)
    writes = store.writes

    await a_question(store, upstream, ScriptedExclusion()).ask(hashes, A_NETWORK, AMPLE)

    assert (store.writes - writes, pending(store)) == (2, 1)
    with store.read() as connection:
        known = [read_evidence(connection, A_NETWORK, each)[0] for each in hashes]
    assert [each.records[0].tx_hash for each in known] == hashes


async def test_one_network_can_be_named(store: Store) -> None:
    upstream, other = ScriptedExclusion(), ScriptedExclusion()

    await a_question(store, upstream, other).ask([a_hash()], A_NETWORK, AMPLE)

    assert (len(upstream.asked), len(other.asked)) == (1, 0)


async def test_silent_network_is_stored_as_a_failure_and_costs_the_others_nothing(
    store: Store,
) -> None:
    question = a_question(store, ScriptedExclusion(), SilentExclusion())

    await question.ask([a_hash()], None, seconds(0.05))

    answered = {each.network_id: each.last_answered_at for each in found(store)}
    assert answered == {A_NETWORK: A_MOMENT, ANOTHER_NETWORK: None}
    assert {each.failing_since for each in found(store)} == {None, A_MOMENT}


async def test_failure_of_one_question_does_not_stand_for_the_network(store: Store) -> None:
    upstream = ScriptedExclusion()
    upstream.is_down = True

    await a_question(store, upstream, ScriptedExclusion()).ask([a_hash()], A_NETWORK, AMPLE)

    with store.read() as connection:
        assert read_standing_failures(connection, A_NETWORK) == ()


async def test_answer_to_one_question_shows_that_the_network_answers(store: Store) -> None:
    failed = [ExclusionAnswer(a_hash(2), failure=SILENCE)]
    with store.write() as connection:
        record_lookup(connection, A_NETWORK, A_MOMENT, failed)

    await a_question(store, ScriptedExclusion(), ScriptedExclusion()).ask(
        [a_hash()], A_NETWORK, AMPLE
    )

    with store.read() as connection:
        assert read_standing_failures(connection, A_NETWORK) == ()


class IncludingNode:
    """Holds every transaction in block 7, unless it has `trouble`."""

    def __init__(self, trouble: Failure | None = None) -> None:
        self._trouble = trouble

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Answer each question in order."""
        block = None if self._trouble else Inclusion(7, bytes(32))
        return [InclusionAnswer(each.tx_hash, block, failure=self._trouble) for each in questions]


class SilentNode:
    """Never answers."""

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Wait until the asker gives up."""
        await asyncio.Event().wait()
        return [InclusionAnswer(each.tx_hash) for each in questions]


async def test_node_is_asked_as_well_what_became_of_the_hash(store: Store) -> None:
    nodes = {A_NETWORK: IncludingNode(), ANOTHER_NETWORK: IncludingNode()}
    question = LiveLookup(store, {}, lambda: A_MOMENT, uuid4, nodes)

    await question.ask([a_hash()], A_NETWORK, AMPLE)

    [one] = found(store)
    assert (one.network_id, conclude(one).kind) == (A_NETWORK, VerdictKind.INCLUDED)


async def test_rejected_transaction_that_a_look_up_finds_in_a_block_is_told_once(
    store: Store,
) -> None:
    upstream, nodes = ScriptedExclusion(), {A_NETWORK: IncludingNode()}
    upstream.reject(a_record())
    question = LiveLookup(store, {A_NETWORK: upstream}, lambda: A_MOMENT, uuid4, nodes)
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(), (A_NETWORK,)), A_MOMENT)

    for _ in range(2):
        await question.ask([a_hash()], None, AMPLE)

    assert [each.after for each in told(store)] == [State.REJECTED, State.INCLUDED]


@pytest.mark.parametrize("node", [SilentNode(), IncludingNode(SILENCE)])
async def test_node_without_an_answer_shows_nothing_of_a_hash_that_nobody_else_knows(
    store: Store, node: SilentNode | IncludingNode
) -> None:
    question = LiveLookup(store, {}, lambda: A_MOMENT, uuid4, {A_NETWORK: node})

    await question.ask([a_hash()], None, seconds(0.05))

    assert found(store) == []


class CountingNode:
    """Has no receipt, and expects nonce 5 of each sender that it is asked about."""

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Answer each question in order."""
        return [
            InclusionAnswer(each.tx_hash, next_nonce=None if each.sender is None else 5)
            for each in questions
        ]


async def test_answer_about_a_receipt_shows_that_the_node_answers(store: Store) -> None:
    failure = Operation.TRANSACTION_RECEIPT, SILENCE
    with store.write() as connection:
        note_failure(connection, A_NETWORK, A_MOMENT, failure)

    await LiveLookup(
        store, {}, lambda: A_MOMENT, uuid4, nodes={A_NETWORK: IncludingNode(SILENCE)}
    ).ask([a_hash()], A_NETWORK, AMPLE)
    with store.read() as connection:
        assert len(read_standing_failures(connection, A_NETWORK)) == 1
    await LiveLookup(store, {}, lambda: A_MOMENT, uuid4, nodes={A_NETWORK: IncludingNode()}).ask(
        [a_hash()], A_NETWORK, AMPLE
    )

    with store.read() as connection:
        assert read_standing_failures(connection, A_NETWORK) == ()


async def test_first_answer_knows_the_nonce_that_the_node_expects(store: Store) -> None:
    upstream = ScriptedExclusion()
    upstream.reject(a_record())
    question = LiveLookup(
        store, {A_NETWORK: upstream}, lambda: A_MOMENT, uuid4, {A_NETWORK: CountingNode()}
    )

    await question.ask([a_hash()], None, AMPLE)

    [one] = found(store)
    assert one.follow_up is not None
    assert one.follow_up.next_nonce == 5


async def test_receipt_that_could_not_be_read_is_said_to_be_so(store: Store) -> None:
    trouble = Failure(FailureKind.UNREADABLE, "devnet node: mixed up its replies")
    question = LiveLookup(
        store,
        {A_NETWORK: ScriptedExclusion()},
        lambda: A_MOMENT,
        uuid4,
        {A_NETWORK: IncludingNode(trouble)},
    )

    await question.ask([a_hash()], None, AMPLE)

    [one] = found(store)
    told = (
        f"not answered about its receipt since {A_MOMENT:%Y-%m-%d %H:%M:%S} UTC. {trouble.message}."
    )
    assert told in conclude(one).rests_on


async def test_answers_are_handed_on_where_the_store_keeps_nothing(store: Store) -> None:
    upstream, flaky_store = ScriptedExclusion(), FlakyStore(store)
    upstream.reject(a_record())
    flaky_store.fail_after(0)
    question = LiveLookup(flaky_store, {A_NETWORK: upstream}, lambda: A_MOMENT, uuid4)

    with pytest.raises(AnswersNotSaved, match="full") as raised:
        await question.ask([a_hash(), a_hash(2)], None, AMPLE)

    [unsaved] = raised.value.unsaved
    assert (unsaved.network_id, unsaved.asked_at) == (A_NETWORK, A_MOMENT)
    assert [*unsaved.answers] == [
        ExclusionAnswer(a_hash(), a_record()),
        ExclusionAnswer(a_hash(2)),
    ]
    assert found(store) == []
