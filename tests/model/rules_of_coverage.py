"""What may happen to coverage and to follow-ups: workers look, nodes say what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec.structs import replace

from dashboard.domain.health.coverage import Watched
from dashboard.domain.health.observation import Failure, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.poll.lease import Clocks
from dashboard.poll.network_conditions import CoverageWatch
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.answer_counts import note_answered, note_failure
from dashboard.store.tracking.follow_ups import (
    inclusion_questions,
    open_follow_ups,
    record_inclusion_answers,
)
from tests.builders import A_MOMENT
from tests.model.coverage import PRECISION, PRECISION_WITHOUT_FEES, Silence
from tests.model.machine import Memory, StoreMachine
from tests.model.world import NETWORKS, failures, hashes, networks

_LONG: Final = timedelta(minutes=2)
_OPERATIONS: Final = {
    Watched.FEES: Operation.SUGGESTED_GAS_FEES,
    Watched.REJECTIONS: Operation.EXCLUSION_STATUS,
}
pauses = st.sampled_from([timedelta(seconds=each) for each in (0, 1, 29, 30, 119, 120, 3600)])
some_watched = st.sampled_from([tuple(Watched), (Watched.REJECTIONS,)])


class WatchingMachine(StoreMachine):
    """Rules of coverage."""

    @rule(
        network_id=networks,
        watched=some_watched,
        pauses=st.lists(pauses, min_size=1, max_size=3),
        is_new=st.booleans(),
        set_back=st.sampled_from([timedelta(), timedelta(), timedelta(hours=1)]),
    )
    def worker_looks(
        self,
        network_id: NetworkId,
        watched: Sequence[Watched],
        pauses: Sequence[timedelta],
        set_back: timedelta,
        *,
        is_new: bool,
    ) -> None:
        """Look after each pause; by a clock that may have been set back."""
        if is_new:
            self.visited_at.pop(network_id, None)
        for pause in pauses:
            self.now += pause
            self._look(network_id, watched, self.now - set_back)

    @rule(
        network_id=networks,
        which=st.sampled_from(Watched),
        pauses=st.lists(pauses, min_size=2, max_size=3),
        failure=failures,
        is_broken=st.booleans(),
    )
    def upstream_is_silent(
        self,
        network_id: NetworkId,
        which: Watched,
        pauses: Sequence[timedelta],
        failure: Failure,
        *,
        is_broken: bool,
    ) -> None:
        """Ask in vain while a worker looks, and perhaps get an answer then."""
        for pause in pauses:
            self.now += pause
            self._ask(network_id, _OPERATIONS[which], failure)
            self._look(network_id, tuple(Watched), self.now)
        if is_broken:
            self._ask(network_id, _OPERATIONS[which], None)
            self._look(network_id, tuple(Watched), self.now)

    def _ask(self, network_id: NetworkId, operation: Operation, failure: Failure | None) -> None:
        at = self.now

        def act(connection: Connection) -> None:
            if failure is None:
                note_answered(connection, network_id, [operation], at)
            else:
                note_failure(connection, network_id, at, (operation, failure))

        def expect(held: Memory, _: object) -> None:
            if failure is None:
                held.tracking.silences.answered(network_id, operation)
            else:
                held.tracking.silences.failed(network_id, at, operation, failure)

        self.change(act, expect)

    def _look(self, network_id: NetworkId, watched: Sequence[Watched], at: datetime) -> None:
        elapsed, visited_at = self.now - A_MOMENT, self.visited_at.get(network_id)
        watch = CoverageWatch(network_id, watched, Clocks(lambda: at, lambda: elapsed), visited_at)

        precision = PRECISION if Watched.FEES in watched else PRECISION_WITHOUT_FEES

        def expect(held: Memory, said: timedelta) -> None:
            assert said == elapsed
            for each in watched:
                silence = _silence(held, network_id, each)
                pause = None if visited_at is None else elapsed - visited_at
                held.coverage.note_check((network_id, each), at, pause, silence, precision)
            self.visited_at[network_id] = elapsed

        self.change(watch.visit, expect)


def _silence(held: Memory, network_id: NetworkId, watched: Watched) -> Silence | None:
    """Return since when nobody answers, where failures span a while."""
    standing = held.tracking.silences.standing.get((network_id, _OPERATIONS[watched]))
    if standing is None or standing.last_failed_at - standing.failing_since < _LONG:
        return None
    return Silence(standing.failing_since, standing.failure.message)


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
pauses_of_answers = st.sampled_from(
    [None, timedelta(minutes=15), timedelta(minutes=14, seconds=59)]
)


class FollowingMachine(StoreMachine):
    """Rules of follow-ups."""

    @rule()
    def follow_ups_are_taken_up(self) -> None:
        ends = self.held.tracking.ends
        with self.store.read() as connection:
            for network_id in NETWORKS:
                known = ends.taken_up[network_id]
                found = open_follow_ups(connection, network_id, known, known)
                places = {(each.tx_hash, network_id) for each in found}
                fresh = {each for each in ends.fresh if each[1] == network_id}
                assert {each for each in fresh if ends.is_open(each)} <= places
                ids = [each.cohort_id for each in found]
                ends.taken_up[network_id] = max([known, *ids])
        ends.fresh.clear()

    @rule(
        network_id=networks,
        said=st.dictionaries(hashes, said_of_one, min_size=1, max_size=4),
        is_polled=st.booleans(),
        pause=pauses_of_answers,
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
        if pause is not None:
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
        with self.store.read() as connection:
            questions = inclusion_questions(connection, network_id, list(said))
        all_told = [(each, _answer(each, said[each.tx_hash])) for each in questions]
        told = [each for each in all_told if is_polled or each[1].failure is None]
        silence = next((each.failure for _, each in told if each.failure is not None), None)
        is_silent = all(each.failure is not None for _, each in told)

        def act(connection: Connection) -> object:
            if is_polled and silence is not None and is_silent:
                note_failure(connection, network_id, at, (_OPERATION, silence))
            elif is_polled:
                note_answered(connection, network_id, [_OPERATION], at)
            return record_inclusion_answers(connection, network_id, at, told)

        def expect(held: Memory, kept: object) -> None:
            tracking = held.tracking
            if is_polled and silence is not None and is_silent:
                tracking.silences.failed(network_id, at, _OPERATION, silence)
            elif is_polled:
                tracking.silences.answered(network_id, _OPERATION)
            tracking.ends.tell(network_id, at, told)
            answered = [each.tx_hash for each, answer in told if answer.failure is None]
            assert kept == {each: tracking.ends.held((each, network_id)) for each in answered}

        if told:
            self.change(act, expect)


def _answer(question: InclusionQuestion, said: Drawn) -> InclusionAnswer:
    answer = InclusionAnswer(question.tx_hash)
    if isinstance(said, Inclusion):
        return replace(answer, inclusion=said)
    if isinstance(said, Failure):
        return replace(answer, failure=said)
    if said is None or question.nonce is None:
        return answer
    return replace(answer, next_nonce=question.nonce + said)
