"""The status of alerting: open incidents of networks, and notifications counted by state."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import Connection, case, func, or_, select

from dashboard.domain.condition import Condition, State, Subject, SubjectKind
from dashboard.domain.grounds import Grounds, SilenceGrounds
from dashboard.domain.incident import IncidentState
from dashboard.domain.notification import NotificationState
from dashboard.domain.rule import Severity
from dashboard.store.alerts.conditions import grounds_of_row, subject_of
from dashboard.store.alerts.held_notifications import count_held
from dashboard.store.alerts.notification_claims import IS_PENDING
from dashboard.store.schema import (
    conditions,
    incident_transitions,
    incidents,
    notifications,
    outbox,
    transitions,
)


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident of a network that is open, with its grounds.

    `turning_since` is when the opposite was seen first, while it was not seen for long enough.
    """

    subject: Subject
    state: State
    opened_at: datetime
    turning_since: datetime | None = None
    grounds: Grounds | None = None

    def as_condition(self) -> Condition:
        """Return its condition; silence begins with the first failure, as its message says."""
        failing = self.grounds.failing_since if isinstance(self.grounds, SilenceGrounds) else None
        return Condition(self.state, failing or self.opened_at, self.turning_since)


class PendingCondition(NamedTuple):
    """What is in trouble since a moment, but not for long enough to open an incident."""

    subject: Subject
    since: datetime


@dataclass(frozen=True, slots=True)
class NotificationCounts:
    """What is pending and held now, and what became of the notifications of some time.

    `in_delivery` are those of the pending ones that wait neither for their time nor for the cap:
    they are handed over since `in_delivery_since` at the earliest. `pending_changes` is how many
    changes are not turned into notifications yet.
    """

    pending: int
    oldest_pending: datetime | None
    sent: int
    last_sent: datetime | None
    dead: int
    held: int = 0
    in_delivery: int = 0
    in_delivery_since: datetime | None = None
    pending_changes: int = 0

    @property
    def is_any_pending(self) -> bool:
        """Whether anything is to be sent still, be it turned into notifications yet or not."""
        return bool(self.pending or self.pending_changes)


_OF_NETWORKS: Final = or_(
    *(
        conditions.c.subject.between(f"{kind}:", f"{kind};")
        for kind in SubjectKind
        if kind is not SubjectKind.TRANSACTION
    )
)


def pending_conditions(connection: Connection) -> list[PendingCondition]:
    """Return what was seen in trouble, but not for long enough, those that wait longest first."""
    column = conditions.c
    query = select(conditions).where(_OF_NETWORKS, column.turning_since.is_not(None))
    return [
        PendingCondition(subject_of(row, conditions), row[column.turning_since])
        for row in connection.execute(query.order_by(column.turning_since)).mappings()
        if not State(row[column.state]).is_open
    ]


def open_incidents(connection: Connection) -> list[OpenIncident]:
    """Return the open incidents of networks, the oldest first; none of transactions."""
    column = conditions.c
    opening = transitions.c.transition_id == column.opening_id
    query = select(conditions, transitions.c.grounds).outerjoin(transitions, opening)
    rows = connection.execute(query.where(_OF_NETWORKS).order_by(column.since)).mappings()
    return [
        OpenIncident(
            subject_of(row, conditions),
            State(row[column.state]),
            row[column.opened_at] or row[column.since],
            row[column.turning_since],
            grounds_of_row(row[transitions.c.grounds]),
        )
        for row in rows
        if State(row[column.state]).is_open
    ]


def firing_incidents(connection: Connection) -> list[OpenIncident]:
    """Return those of them that a rule reports: an incident of theirs is open and not pending."""
    column = incidents.c
    fires = (
        select(transitions.c.subject)
        .join(
            incident_transitions,
            incident_transitions.c.transition_id == transitions.c.transition_id,
        )
        .join(incidents, column.incident_id == incident_transitions.c.incident_id)
        .where(column.open_key.is_not(None), column.state != IncidentState.PENDING)
        .where(transitions.c.tx_hash.is_(None))
    )
    reported = set(connection.scalars(fires))
    return [each for each in open_incidents(connection) if each.subject.key() in reported]


def count_open_incidents(connection: Connection) -> Counter[tuple[Severity, IncidentState]]:
    """Count the incidents that are open and not pending."""
    column = incidents.c
    query = select(column.severity, column.state, func.count()).where(
        column.open_key.is_not(None), column.state != IncidentState.PENDING
    )
    found = connection.execute(query.group_by(column.severity, column.state))
    return Counter({(Severity(of), IncidentState(state)): many for of, state, many in found})


def notification_counts(connection: Connection, since: datetime) -> NotificationCounts:
    """Count what is pending and held now, and the notifications made from `since` on by state."""
    column = notifications.c
    # A column that stands in no other index lets SQLite take the partial one, which is short.
    pending = select(
        func.count(column.notification_id),
        func.min(column.created_at),
        func.count(column.closed_at),
        func.min(column.closed_at),
    ).where(IS_PENDING)
    count, oldest, in_delivery, closed_at = connection.execute(pending).one()
    not_expanded = select(func.count()).where(outbox.c.expanded_at.is_(None))
    # One pass along an index; groups would be sorted first.
    ended = select(
        func.count(case((column.state == NotificationState.SENT, 1))).label("sent"),
        func.max(case((column.state == NotificationState.SENT, column.sent_at))).label("last_sent"),
        func.count(case((column.state == NotificationState.DEAD, 1))).label("dead"),
    )
    ends = connection.execute(ended.where(column.created_at >= since)).one()
    return NotificationCounts(
        pending=count,
        oldest_pending=oldest,
        sent=ends.sent,
        last_sent=ends.last_sent,
        dead=ends.dead,
        held=count_held(connection),
        in_delivery=in_delivery,
        in_delivery_since=closed_at,
        pending_changes=connection.scalar(not_expanded) or 0,
    )
