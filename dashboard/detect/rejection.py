"""What an answer about one transaction changes: the state rejected, and nothing else."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.health.observation import ExclusionAnswer


def conclude_rejection(
    subject: Subject, before: State | None, answer: ExclusionAnswer, at: datetime, new_id: UUID
) -> Transition | None:
    """Return the change that the answer brings at the moment `at`, or None if it brings none.

    Only a record changes the state: a failure says nothing, and a null is stored with its cohort.
    Null after a rejection does not clear it: the record left the seven days, or another store
    answered. A record after a rejection changes it, from rejected to rejected; whether this
    version is new, the store knows.
    """
    if answer.record is None:
        return None
    return Transition(new_id, subject, before, State.REJECTED, at)
