"""What happens to conditions and to the outbox: networks turn, changes become notifications."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dashboard.domain.alerts.condition import Signal, State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.store.alerts.conditions import record_transition, set_turning_since
from dashboard.store.alerts.outbox import expand, pending_expansion
from dashboard.store.engine.connection import Connection
from tests.model.conditions import OPPOSITES, SUBJECTS
from tests.model.machine import Memory, StoreMachine, same
from tests.model.world import networks
from tests.routes import trusting

_GROUNDS: Final = FeeGrounds(Signal.BASE_FEE, Wei(2 * 10**9), Wei(10**9))


class TurningMachine(StoreMachine):
    """Rules of conditions and of the outbox; who is notified is another model's subject."""

    @rule(network_id=networks, guess=st.sampled_from([*OPPOSITES]), is_right=st.booleans())
    def network_turns(self, network_id: NetworkId, guess: State | None, *, is_right: bool) -> None:
        subject = Subject(SubjectKind.BUSYNESS, network_id)
        before = self.held.conditions.state(subject) if is_right else guess
        changed = Transition(self.new_id(), subject, before, OPPOSITES[before], self.now, _GROUNDS)
        self.change(
            lambda connection: record_transition(connection, changed, None),
            lambda held, said: same(said, held.conditions.change(changed, None)),
        )

    @rule(pick=st.sampled_from(SUBJECTS), is_turning=st.booleans())
    def condition_seems_to_turn(self, pick: Subject, *, is_turning: bool) -> None:
        since = self.now if is_turning else None
        self.change(
            lambda connection: set_turning_since(connection, pick, since),
            lambda held, _: held.conditions.turn(pick, since),
        )

    @rule(limit=st.integers(1, 5))
    def changes_leave_the_outbox(self, limit: int) -> None:
        """Expand the oldest changes, which no rule fits."""
        now = self.now

        def act(connection: Connection) -> int:
            entries = pending_expansion(connection, limit)
            return expand(connection, [(each, []) for each in entries], now, trusting(()))

        def expect(held: Memory, said: object) -> None:
            same(said, 0)
            oldest = held.conditions.unexpanded()[:limit]
            held.conditions.expanded |= {each.transition.transition_id for each in oldest}

        self.change(act, expect)
