"""The outbox: transitions that are not yet turned into a notification for each recipient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, select, update

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.notification import NO_DOMAIN
from dashboard.domain.alerts.route import RuleRoute
from dashboard.domain.alerts.rule import ObservedChange
from dashboard.domain.people.recipients import RecipientDirectory
from dashboard.store.alerts.grouping import Grouping
from dashboard.store.alerts.notifications import change_of, select_changes
from dashboard.store.alerts.release import is_uncertain, restored_at
from dashboard.store.schema import (
    incident_transitions,
    notification_members,
    outbox,
    transitions,
)


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A change without notifications so far.

    `position` orders the entries. `is_held`: it dates from a time for which a restored store
    cannot tell who was notified.
    """

    change: ObservedChange
    is_held: bool = False
    position: int = 0

    @property
    def transition(self) -> Transition:
        """The transition itself."""
        return self.change.transition


def is_expansion_pending(connection: Connection) -> bool:
    """Whether there are changes without notifications so far; takes some microseconds."""
    query = select(outbox.c.outbox_id).where(outbox.c.expanded_at.is_(None)).limit(1)
    return connection.scalar(query) is not None


def pending_expansion(connection: Connection, limit: int) -> list[OutboxEntry]:
    """Return the changes without notifications so far, the oldest first."""
    query = (
        select_changes()
        .add_columns(outbox.c.outbox_id)
        .join(outbox, outbox.c.transition_id == transitions.c.transition_id)
        .where(outbox.c.expanded_at.is_(None))
        .order_by(outbox.c.outbox_id)
        .limit(limit)
    )
    rows = connection.execute(query).mappings().all()
    last_restored = restored_at(connection) if rows else None
    found = [(change_of(row), row[outbox.c.outbox_id]) for row in rows]
    return [
        OutboxEntry(change, is_uncertain(change.transition, change.rejection, last_restored), at)
        for change, at in found
    ]


def entries_of_incident(
    connection: Connection, incident_id: UUID, latest: int | None = None
) -> list[OutboxEntry]:
    """Return the changes of an incident, or so many of the latest, the oldest first."""
    pair = incident_transitions.c
    query = (
        select_changes()
        .add_columns(outbox.c.outbox_id)
        .join(outbox, outbox.c.transition_id == transitions.c.transition_id)
        .join(incident_transitions, pair.transition_id == transitions.c.transition_id)
        .where(pair.incident_id == incident_id)
        .order_by(outbox.c.outbox_id.desc())
        .limit(latest)
    )
    rows = connection.execute(query).mappings().all()
    return [OutboxEntry(change_of(row), position=row[outbox.c.outbox_id]) for row in rows[::-1]]


def changes_of_notification(connection: Connection, notification_id: UUID) -> list[ObservedChange]:
    """Return the changes that a notification reports, at most 5,000."""
    member = notification_members.c
    query = (
        select_changes()
        .join(notification_members, member.transition_id == transitions.c.transition_id)
        .where(member.notification_id == notification_id)
    )
    return [change_of(row) for row in connection.execute(query).mappings()]


def expand(
    connection: Connection,
    routed: Sequence[tuple[OutboxEntry, Sequence[RuleRoute]]],
    now: datetime,
    directory: RecipientDirectory,
    domain: str = NO_DOMAIN,
) -> int:
    """Take transitions, each with the rules that fit, into incidents and notifications.

    Each transition reaches each recipient once, by the soonest of the routes that name them, one
    that pierces quiet hours before all others: it joins the notification of its incident that
    is still open for them, or begins one. Return how many reached somebody, counted by recipient;
    none the second time. Why nothing is sent to one is stored as well.

    The id and Message-ID of a notification follow from its first member, its recipient and the
    `domain` of the sender, so a store that was restored from a backup repeats them. One that is
    held is not sent before a person releases it.
    """
    grouping = Grouping(connection, now, domain, directory)
    for entry, routes in routed:
        if _is_first(connection, entry, now):
            grouping.take(entry.transition, entry.position, routes, is_held=entry.is_held)
    return grouping.write()


def _is_first(connection: Connection, entry: OutboxEntry, now: datetime) -> bool:
    mine = outbox.c.transition_id == entry.transition.transition_id
    first = update(outbox).where(mine, outbox.c.expanded_at.is_(None)).values(expanded_at=now)
    return connection.execute(first).rowcount == 1
