"""Transitions of the past as rules see them: those of networks, and inclusions of transactions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, or_

from dashboard.domain.condition import SubjectKind
from dashboard.domain.rule import ObservedChange
from dashboard.store.alerts.notifications import change_of, select_changes
from dashboard.store.schema import transitions

MOST_TRANSITIONS: Final = 20_000
"""Transitions that are read at most, the latest ones."""


def past_transitions(
    connection: Connection, kinds: Iterable[SubjectKind], since: datetime, until: datetime
) -> list[ObservedChange]:
    """Return the transitions of some kinds of subjects, oldest first."""
    column = transitions.c
    of_kinds = or_(*(column.subject.between(f"{kind}:", f"{kind};") for kind in kinds))
    query = (
        select_changes()
        .where(of_kinds, column.at > since, column.at <= until)
        .order_by(column.at.desc())
        .limit(MOST_TRANSITIONS)
    )
    return [change_of(row) for row in connection.execute(query).mappings()][::-1]
