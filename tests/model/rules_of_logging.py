"""What is noted beside all else: calls and what they cost, and what people did."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from sqlalchemy import Delete, Update

from dashboard.domain.health.observation import Spent
from dashboard.domain.people.access import Action, AuditEntry, Detail
from dashboard.domain.quantity import NetworkId
from dashboard.errors import StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.monitoring.upkeep import record_credits
from dashboard.store.schema import audit_log, installation
from tests.model.audit_log import ACTIONS
from tests.model.machine import Part, StoreMachine
from tests.model.turns import EVERY
from tests.model.world import networks, some_spent

_TEXTS: Final = ("ann", "\x1b[31m\u202e\ud800 = \0")
_DETAILS: Final[tuple[dict[str, Detail], ...]] = (
    {},
    {"networks": [1, 2], "label": "a\\b \0", "rate": 0.5, "report": False, "methods": None},
)
_BY_HAND: Final = (
    audit_log.update().values(subject="nothing"),
    audit_log.delete(),
)
_BACK: Final = installation.update().values(audit_log_kept_since=None)
texts = st.sampled_from(_TEXTS)
lateness = st.sampled_from([timedelta(), timedelta(), timedelta(minutes=59), timedelta(days=2)])


class NotingMachine(StoreMachine):
    """Rules of the credit ledger and of the audit log."""

    @rule(network_id=networks, late=lateness, spent=some_spent)
    def calls_are_counted(
        self, network_id: NetworkId, late: timedelta, spent: dict[str, Spent]
    ) -> None:
        at = self.now - late
        self.change(
            lambda connection: record_credits(connection, network_id, at, spent),
            lambda held, _: held.ledger.note(network_id, at, spent),
            Part.CREDITS,
        )

    @rule(
        actor=texts,
        action=st.sampled_from(ACTIONS),
        subject=texts,
        details=st.sampled_from(_DETAILS),
        late=lateness,
    )
    def act_is_noted(
        self,
        actor: str,
        action: Action,
        subject: str,
        details: dict[str, Detail],
        late: timedelta,
    ) -> None:
        entry = AuditEntry(self.now - late, actor, action, subject, details)
        self.change(
            lambda connection: note_action(
                connection, entry.at, actor, action, subject, details or None
            ),
            lambda held, _: held.log.note(entry),
            Part.AUDIT,
        )

    @precondition(lambda self: not self.is_gathering and self.held.log.is_guarded)
    @rule(statement=st.sampled_from(_BY_HAND), is_set_back=st.booleans())
    def log_is_changed_by_hand(self, statement: Update | Delete, *, is_set_back: bool) -> None:
        """Try what the database refuses: it changes nothing, and takes nothing back."""
        self.is_sound = False
        was_let_go = self.held.log.kept_since is not None
        with pytest.raises(StoreError, match=r"only grows|never goes back"):
            self._change_by_hand(_BACK if is_set_back and was_let_go else statement)
        self.check(self.held, Part.AUDIT, EVERY)
        self.is_sound = True

    def _change_by_hand(self, statement: Update | Delete) -> None:
        with self.lives.store.write() as connection:
            connection.execute(statement)
