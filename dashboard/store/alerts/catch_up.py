"""What a recipient gets once their address is verified: the changes of what is still open."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, RowMapping, insert, select, update

from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.notification import Precedence, Recipient
from dashboard.domain.alerts.pace import LARGEST_MEMBERS
from dashboard.domain.alerts.route import BY_QUIET_HOURS
from dashboard.domain.people.recipients import NOT_VERIFIED, RecipientDirectory, mailbox_of
from dashboard.store.alerts.notifications import notification_id_of, waiting_row
from dashboard.store.alerts.recipients import is_to, note_summary, recipients_in
from dashboard.store.engine.upsert import insert_all_new
from dashboard.store.schema import (
    incidents,
    notification_incidents,
    notification_members,
    notifications,
)


def catch_up(
    connection: Connection,
    recipient: Recipient,
    directory: RecipientDirectory,
    now: datetime,
    domain: str,
) -> int:
    """Notify a recipient once of what was kept from them and is not over; return how many changes.

    What is over or silenced is not sent any more. The Message-ID stands below `domain`.
    """
    note_summary(connection, recipient, now)
    many = 0
    for each in _as_written(connection, recipient):
        found = _kept_back(connection, each)
        if found:
            _send(connection, each, found, directory, now, domain)
        many += len(found)
    return many


def _as_written(connection: Connection, recipient: Recipient) -> list[Recipient]:
    """Return how rules write the address of a recipient from whom something was kept."""
    member = notification_members.c
    query = select(member.channel, member.address).where(
        member.notification_id.is_(None), member.reason == NOT_VERIFIED
    )
    found = recipients_in(connection, query.distinct())
    return [each for each in found if mailbox_of(each) == mailbox_of(recipient)]


def _send(
    connection: Connection,
    recipient: Recipient,
    found: list[RowMapping],
    directory: RecipientDirectory,
    now: datetime,
    domain: str,
) -> None:
    """Make one notification of these changes."""
    first = {name: found[0][name] for name in ("transition_id", "position")}
    notification_id = notification_id_of(first["transition_id"], recipient)
    release_at, held_for = directory.hold(recipient, now, NOT_VERIFIED)
    row = waiting_row(
        connection, notification_id, recipient, domain, now=now, release_at=release_at
    )
    more = {
        "precedence": Precedence.OPENING,
        "held_for": held_for,
        "held_by": BY_QUIET_HOURS if release_at > now else "",
        "members": len(found),
    }
    connection.execute(insert(notifications), row | first | more)
    _join(connection, notification_id, recipient, found)


def _kept_back(connection: Connection, recipient: Recipient) -> list[RowMapping]:
    """Return the latest changes of open incidents that a recipient did not get, oldest first."""
    member = notification_members.c
    query = (
        select(member.transition_id, member.position, member.incident_id)
        .join(incidents, incidents.c.incident_id == member.incident_id)
        .where(is_to(recipient, notification_members))
        .where(member.notification_id.is_(None), member.reason == NOT_VERIFIED)
        .where(incidents.c.open_key.is_not(None), incidents.c.state != IncidentState.SILENCED)
        .order_by(member.position.desc())
        .limit(LARGEST_MEMBERS)
    )
    return list(reversed(connection.execute(query).mappings().all()))


def _join(
    connection: Connection, notification_id: UUID, recipient: Recipient, found: list[RowMapping]
) -> None:
    """Make these changes the members of a notification."""
    member = notification_members.c
    joined = update(notification_members).where(
        is_to(recipient, notification_members),
        member.position >= found[0]["position"],
        member.notification_id.is_(None),
        member.reason == NOT_VERIFIED,
        member.incident_id.in_({each["incident_id"] for each in found}),
    )
    connection.execute(joined.values(notification_id=notification_id, reason=""))
    rows = [
        {"notification_id": notification_id, "incident_id": each}
        for each in sorted({each["incident_id"] for each in found})
    ]
    insert_all_new(connection, notification_incidents, rows)
