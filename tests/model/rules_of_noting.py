"""What is noted beside all else: calls and what they cost."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dashboard.domain.credit import Spent
from dashboard.domain.quantity import NetworkId
from dashboard.store.credit_ledger import note_spent
from tests.model.machine import Part, StoreMachine
from tests.model.world import networks, some_spent

lateness = st.sampled_from([timedelta(), timedelta(), timedelta(minutes=59), timedelta(days=2)])


class NotingMachine(StoreMachine):
    """Rules of the credit ledger."""

    @rule(network_id=networks, late=lateness, spent=some_spent)
    def calls_are_counted(
        self, network_id: NetworkId, late: timedelta, spent: dict[str, Spent]
    ) -> None:
        at = self.now - late
        self.change(
            lambda connection: note_spent(connection, network_id, at, spent),
            lambda held, _: held.ledger.note(network_id, at, spent),
            Part.CREDITS,
        )
