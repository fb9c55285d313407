"""What becomes of transactions: nodes are asked for receipts, by pollers and by people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dashboard.domain.health.observation import Failure, Operation, Spent
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.verdict import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.answer_counts import record_answer, record_failure
from dashboard.store.monitoring.upkeep import record_credits
from dashboard.store.tracking.follow_ups import (
    inclusion_questions,
    open_follow_ups,
    record_inclusion_answers,
)
from tests.model.machine import Memory, Part, StoreMachine
from tests.model.world import NETWORKS, OPERATIONS, failures, hashes, networks

_OPERATION: Final = Operation.TRANSACTION_RECEIPT
_BLOCKS: Final = (
    Inclusion(7, b"\x07" * 32, is_successful=True),
    Inclusion(7, b"\x70" * 32, is_successful=False),
    Inclusion(2**63 - 1, bytes(32)),
)

Drawn: TypeAlias = Inclusion | Failure | int | None
"""A receipt, silence, or how many nonces beyond its own the sender used; None: nobody knows."""

Told: TypeAlias = Sequence[tuple[InclusionQuestion, InclusionAnswer]]

said_of_one: st.SearchStrategy[Drawn] = st.one_of(
    st.sampled_from(_BLOCKS), st.sampled_from([None, 0, 1, 1]), failures
)
pauses = st.sampled_from([None, timedelta(minutes=15), timedelta(minutes=14, seconds=59)])


class FollowingMachine(StoreMachine):
    """Rules of follow-ups."""

    @rule()
    def follow_ups_are_taken_up(self) -> None:
        ends, self.is_sound = self.held.tracking.ends, False
        with self.lives.store.read() as connection:
            for network_id in NETWORKS:
                found = open_follow_ups(connection, network_id, ends.taken_up[network_id])
                places = {(each.tx_hash, network_id) for each in found}
                fresh = {each for each in ends.fresh if each[1] == network_id}
                assert {each for each in fresh if ends.is_open(each)} <= places
                ids = [each.watch_id for each in found]
                ends.taken_up[network_id] = max([ends.taken_up[network_id], *ids])
        ends.fresh.clear()
        self.is_sound = True

    @rule(
        network_id=networks,
        said=st.dictionaries(hashes, said_of_one, min_size=1, max_size=4),
        is_polled=st.booleans(),
        pause=pauses,
    )
    def node_tells_ends(
        self,
        network_id: NetworkId,
        said: dict[TxHash, Drawn],
        pause: timedelta | None,
        *,
        is_polled: bool,
    ) -> None:
        """Let a node say something, and perhaps the same again when that may be final."""
        self._hear(network_id, said, is_polled=is_polled)
        if pause is not None and not self.is_gathering:
            self.time_passes(pause)
            self._hear(network_id, said, is_polled=is_polled)

    @rule(network_id=networks, tx_hash=hashes, said=said_of_one, late=st.sampled_from([1, 1000]))
    def node_tells_late(
        self, network_id: NetworkId, tx_hash: TxHash, said: Drawn, late: int
    ) -> None:
        """Let somebody's question be answered after later ones were."""
        self._hear(network_id, {tx_hash: said}, late=timedelta(seconds=late), is_polled=False)

    def _hear(
        self,
        network_id: NetworkId,
        said: dict[TxHash, Drawn],
        *,
        late: timedelta = timedelta(),
        is_polled: bool,
    ) -> None:
        """Write down what was said as pollers do, or as it is done for people: answers only."""
        at = self.now - late
        with self.lives.store.read() as connection:
            questions = inclusion_questions(connection, network_id, list(said))
        all_told = [(each, _answer(each, said[each.tx_hash])) for each in questions]
        told = [each for each in all_told if is_polled or each[1].failure is None]
        silence = next((each.failure for _, each in told if each.failure is not None), None)
        is_silent = all(each.failure is not None for _, each in told)
        spent = {OPERATIONS[1]: Spent(len(told), 3 * len(told))}

        def act(connection: Connection) -> object:
            record_credits(connection, network_id, at, spent)
            if is_polled and silence is not None and is_silent:
                record_failure(connection, network_id, at, (_OPERATION, silence))
            elif is_polled:
                record_answer(connection, network_id, _OPERATION, at)
            return record_inclusion_answers(connection, network_id, at, told)

        def expect(held: Memory, kept: object) -> None:
            tracking = held.tracking
            held.ledger.note(network_id, at, spent)
            if is_polled and silence is not None and is_silent:
                tracking.silences.failed(network_id, at, _OPERATION, silence)
            elif is_polled:
                tracking.silences.answered(network_id, _OPERATION)
            tracking.ends.tell(network_id, at, told)
            answered = [each.tx_hash for each, answer in told if answer.failure is None]
            assert kept == {each: tracking.ends.held((each, network_id)) for each in answered}

        if told:
            self.change(act, expect, Part.TRACKING | Part.CREDITS)


def _answer(question: InclusionQuestion, said: Drawn) -> InclusionAnswer:
    answer = InclusionAnswer(question.tx_hash)
    if isinstance(said, Inclusion):
        return replace(answer, inclusion=said)
    if isinstance(said, Failure):
        return replace(answer, failure=said)
    if said is None or question.nonce is None:
        return answer
    return replace(answer, next_nonce=question.nonce + said)
