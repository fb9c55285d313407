"""The outbox: transitions to notify of, and what a newly verified recipient has yet to get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from msgspec import Struct
from sqlalchemy import Connection, Select, Update, insert, select, update

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.holding import RuleRoute, route_for
from dashboard.domain.alerts.hourly_cap import LARGEST_MEMBERS
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.notification import NO_DOMAIN, Precedence, Recipient
from dashboard.domain.alerts.rule import ObservedChange, Rule, fits
from dashboard.domain.people.recipients import NOT_VERIFIED, RecipientDirectory, mailbox_of
from dashboard.store.alerts.conditions import current_conditions
from dashboard.store.alerts.grouping import IncidentGrouping
from dashboard.store.alerts.held_after_restore import is_uncertain, restored_at
from dashboard.store.alerts.incidents import incidents_by_id
from dashboard.store.alerts.notifications import (
    change_of,
    notification_id_of,
    select_changes,
    waiting_row,
)
from dashboard.store.alerts.recipients import is_to, note_summary, recipients_in
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    incident_transitions,
    incidents,
    notification_incidents,
    notification_members,
    notifications,
    outbox,
    transitions,
)


class OutboxEntry(Struct, frozen=True):
    """A change that has no notifications yet.

    `position` orders the entries. `is_held`: it dates from a time for which a restored store cannot
    tell who was notified.
    """

    change: ObservedChange
    is_held: bool = False
    position: int = 0

    @property
    def transition(self) -> Transition:
        return self.change.transition


class _KeptBack(Struct, frozen=True):
    """A change of an incident that a recipient did not get, and its place in the outbox."""

    incident: Incident
    change: ObservedChange
    position: int


def is_expansion_pending(connection: Connection) -> bool:
    """Whether some changes have no notifications yet; takes a few microseconds."""
    query = select(outbox.c.outbox_id).where(outbox.c.expanded_at.is_(None)).limit(1)
    return connection.scalar(query) is not None


def pending_expansion(connection: Connection, limit: int) -> list[OutboxEntry]:
    """Return the changes that have no notifications yet, the oldest first."""
    query = _select_entries().where(outbox.c.expanded_at.is_(None))
    rows = connection.execute(query.order_by(outbox.c.outbox_id).limit(limit)).mappings().all()
    last_restored = restored_at(connection) if rows else None
    found = [(change_of(row), row[outbox.c.outbox_id]) for row in rows]
    return [
        OutboxEntry(change, is_uncertain(change.transition, change.rejection, last_restored), at)
        for change, at in found
    ]


def entries_of_incident(
    connection: Connection, incident_id: UUID, latest: int | None = None
) -> list[OutboxEntry]:
    """Return the changes of an incident, or so many of the `latest`, the oldest first."""
    pair = incident_transitions.c
    query = (
        _select_entries()
        .join(incident_transitions, pair.transition_id == transitions.c.transition_id)
        .where(pair.incident_id == incident_id)
        .order_by(outbox.c.outbox_id.desc())
        .limit(latest)
    )
    rows = connection.execute(query).mappings().all()
    return [OutboxEntry(change_of(row), position=row[outbox.c.outbox_id]) for row in rows[::-1]]


def covered_anew(connection: Connection, rule: Rule, before: Rule, incident: Incident) -> int:
    """Count what lasts of an incident and is covered by its rule only now; less than 0 if less is.

    Nobody would see the end of what is not covered. The group of an incident says nothing of that
    if, for instance, all networks are one incident.
    """
    entries = entries_of_incident(connection, incident.incident_id)
    last = {each.transition.subject: each.change for each in entries}
    held = current_conditions(connection, last)
    lasting = {key for key, each in held.items() if each.state.is_open}
    return sum(
        (fits(rule, change) and subject.key() in lasting) - fits(before, change)
        for subject, change in last.items()
        if change.transition.after.is_open and fits(rule, change) is not fits(before, change)
    )


def _select_entries() -> Select[Any]:
    """Select changes with their place in the outbox."""
    changes = select_changes().add_columns(outbox.c.outbox_id)
    return changes.join(outbox, outbox.c.transition_id == transitions.c.transition_id)


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
    """Turn transitions, each with the rules that match it, into incidents and notifications.

    Each transition reaches each recipient once, by the soonest of the routes that name them, with
    routes that pierce quiet hours first: it joins the open notification of its incident, or opens
    one. Return how many transitions reached somebody, counted by recipient; a second call adds
    none. If a recipient gets nothing, the reason is stored.

    The id and Message-ID of a notification follow from its first member, its recipient and the
    `domain` of the sender, so a store that was restored from a backup repeats them. A held one is
    not sent before a person releases it.
    """
    grouping = IncidentGrouping(connection, now, domain, directory)
    for entry, routes in routed:
        if _is_first(connection, entry, now):
            grouping.take(entry.transition, entry.position, routes, is_held=entry.is_held)
    return grouping.write()


def _is_first(connection: Connection, entry: OutboxEntry, now: datetime) -> bool:
    mine = outbox.c.transition_id == entry.transition.transition_id
    first = update(outbox).where(mine, outbox.c.expanded_at.is_(None)).values(expanded_at=now)
    return connection.execute(first).rowcount == 1


RouteOf: TypeAlias = Callable[[Incident, ObservedChange], RuleRoute]
"""Returns the route by which a change of an incident is notified of now."""


def catch_up(
    connection: Connection,
    recipient: Recipient,
    directory: RecipientDirectory,
    now: datetime,
    domain: str,
    route_of: RouteOf,
) -> int:
    """Notify a recipient once of ongoing changes that were withheld; return how many changes.

    Changes that are over are not sent, and silenced ones are kept back as silenced. What is held
    for equally long comes together. `domain` is that of the Message-ID.
    """
    note_summary(connection, recipient, now)
    many = 0
    for each in _as_written(connection, recipient):
        alike: dict[tuple[datetime, str], list[tuple[_KeptBack, RuleRoute]]] = {}
        silenced: dict[str, list[_KeptBack]] = {}
        for kept in _kept_back(connection, each):
            route = route_for(each, route_of(kept.incident, kept.change), directory, now)
            if route.withheld:
                silenced.setdefault(route.withheld, []).append(kept)
                continue
            key = route.held_until or now, route.held_by
            alike.setdefault(key, []).append((kept, route))
        for why, several in silenced.items():
            connection.execute(_members_of(each, several).values(reason=why))
        for found in alike.values():
            _send(connection, each, [kept for kept, _ in found], found[0][1], now, domain)
            many += len(found)
    return many


def _as_written(connection: Connection, recipient: Recipient) -> list[Recipient]:
    """Return the address of a recipient as the rules write it."""
    member = notification_members.c
    query = select(member.channel, member.address).where(
        member.notification_id.is_(None), member.reason == NOT_VERIFIED
    )
    found = recipients_in(connection, query.distinct())
    return [each for each in found if mailbox_of(each) == mailbox_of(recipient)]


def _send(
    connection: Connection,
    recipient: Recipient,
    found: list[_KeptBack],
    route: RuleRoute,
    now: datetime,
    domain: str,
) -> None:
    """Make one notification of these changes, which are held alike."""
    first = found[0]
    notification_id = notification_id_of(first.change.transition.transition_id, recipient)
    row = waiting_row(
        *(connection, notification_id, recipient, domain),
        now=now,
        release_at=route.held_until or now,
    )
    more = {
        "transition_id": first.change.transition.transition_id,
        "position": first.position,
        "precedence": Precedence.OPENING,
        "held_for": "; ".join(filter(None, (NOT_VERIFIED, route.held_for))),
        "held_by": route.held_by,
        "members": len(found),
    }
    connection.execute(insert(notifications), row | more)
    _join(connection, notification_id, recipient, found)


def _kept_back(connection: Connection, recipient: Recipient) -> list[_KeptBack]:
    """Return the latest changes of open incidents that a recipient did not get, oldest first."""
    member = notification_members.c
    query = (
        select_changes()
        .add_columns(member.position, member.incident_id)
        .join(notification_members, member.transition_id == transitions.c.transition_id)
        .join(incidents, incidents.c.incident_id == member.incident_id)
        .where(is_to(recipient, notification_members))
        .where(member.notification_id.is_(None), member.reason == NOT_VERIFIED)
        .where(incidents.c.open_key.is_not(None))
        .order_by(member.position.desc())
        .limit(LARGEST_MEMBERS)
    )
    rows = connection.execute(query).mappings().all()
    known = incidents_by_id(connection, {row[member.incident_id] for row in rows})
    return [
        _KeptBack(known[row[member.incident_id]], change_of(row), row[member.position])
        for row in reversed(rows)
    ]


def _join(
    connection: Connection, notification_id: UUID, recipient: Recipient, found: list[_KeptBack]
) -> None:
    joined = _members_of(recipient, found).values(notification_id=notification_id, reason="")
    connection.execute(joined)
    rows = [
        {"notification_id": notification_id, "incident_id": each}
        for each in sorted({each.incident.incident_id for each in found})
    ]
    insert_all_new(connection, notification_incidents, rows)


def _members_of(recipient: Recipient, found: list[_KeptBack]) -> Update:
    """Begin to update the records of changes that were kept back from a recipient."""
    member = notification_members.c
    return update(notification_members).where(
        is_to(recipient, notification_members),
        member.notification_id.is_(None),
        member.transition_id.in_([each.change.transition.transition_id for each in found]),
    )
