"""Recipients, stored: which addresses are verified, and what each recipient wants."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, select, update

from dashboard.domain.active_hours import WeekSpan
from dashboard.domain.digest import DigestTime
from dashboard.domain.notification import (
    DeliveryAttempt,
    DeliveryResult,
    NotificationState,
    Recipient,
)
from dashboard.domain.recipients import (
    ConfiguredRecipients,
    RecipientDirectory,
    RecipientProfile,
    mailbox_of,
)
from dashboard.domain.verification import Verification
from dashboard.store.alerts.addresses_off import list_addresses_off, list_suspect_addresses
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import notifications, recipients
from dashboard.store.schema.columns import escape, milliseconds_of, moment_of, unescape

_OF_VERIFICATION: Final = [
    each.name for each in fields(Verification) if each.name not in {"recipient", "deliveries"}
]
_NOTHING: Final = {
    "requests": 0,
    "wrong_codes": 0,
    "attempts": 0,
    "outcome": "",
    "deliveries": [],
    "verified_by": "",
    "zone": "",
    "active": [],
    "digest": "",
}


def read_directory(connection: Connection, configured: ConfiguredRecipients) -> RecipientDirectory:
    """Return all that is known of recipients now."""
    rows = connection.execute(select(recipients)).mappings().all()
    return RecipientDirectory(
        configured,
        {mailbox_of(each.recipient): each for each in list_addresses_off(connection)},
        {(each := _verification(row)).recipient: each for row in rows},
        {_recipient(row): _profile(row) for row in rows},
        {each.recipient: each for each in list_suspect_addresses(connection)},
    )


def locked_verification(connection: Connection, recipient: Recipient) -> Verification:
    """Return how far an address is verified; nobody else changes that before this commits."""
    insert_new(connection, recipients, _key(recipient) | _NOTHING)
    query = select(recipients).where(*_is(recipient)).with_for_update()
    return _verification(connection.execute(query).mappings().one())


def save_verification(
    connection: Connection, verification: Verification, message_id: str | None = None
) -> None:
    """Store how far an address is verified; with the Message-ID of the mail that is tried now."""
    values = {name: getattr(verification, name) for name in _OF_VERIFICATION}
    values["deliveries"] = [
        [milliseconds_of(each.attempted_at), each.result, escape(each.outcome)]
        for each in verification.deliveries
    ]
    if message_id is not None:
        values["message_id"] = message_id
    mine = update(recipients).where(*_is(verification.recipient))
    connection.execute(mine.values(**values))


def save_profile(connection: Connection, recipient: Recipient, wanted: RecipientProfile) -> None:
    """Store what a recipient wants."""
    digest = "" if wanted.digest is None else str(wanted.digest)
    values: dict[str, Any] = {"zone": wanted.zone, "active": [str(each) for each in wanted.active]}
    values |= {"digest": digest} | ({} if digest else {"digested_until": None})
    if not insert_new(connection, recipients, _key(recipient) | _NOTHING | values):
        connection.execute(update(recipients).where(*_is(recipient)).values(**values))


def digested_until(
    connection: Connection, recipient: Recipient | None = None
) -> dict[Recipient, datetime]:
    """Return until when digests told each mailbox what happened; of one, which is locked then."""
    column = recipients.c
    query = select(column.channel, column.address, column.digested_until)
    if recipient is not None:
        query = query.where(*_is(recipient)).with_for_update()
    rows = connection.execute(query.where(column.digested_until.is_not(None))).all()
    return {Recipient(row.channel, row.address): row.digested_until for row in rows}


def note_digest(connection: Connection, recipient: Recipient, until: datetime) -> None:
    """Store until when digests tell a recipient what happened."""
    insert_new(connection, recipients, _key(recipient) | _NOTHING)
    mine = update(recipients).where(*_is(recipient))
    connection.execute(mine.values(digested_until=until))


def verified_without_summary(connection: Connection) -> list[Recipient]:
    """Return who was verified and did not get yet what is still open."""
    column = recipients.c
    query = select(recipients).where(column.verified_at.is_not(None), column.caught_up_at.is_(None))
    return [_recipient(row) for row in connection.execute(query).mappings()]


def note_summary(connection: Connection, recipient: Recipient, at: datetime) -> None:
    """Store that a recipient got what is still open."""
    connection.execute(update(recipients).where(*_is(recipient)).values(caught_up_at=at))


def pending_to(connection: Connection) -> list[Recipient]:
    """Return every recipient to whom something is pending."""
    column = notifications.c
    pending = select(column.channel, column.address).where(
        column.state == NotificationState.PENDING
    )
    return [Recipient(*row) for row in connection.execute(pending.distinct())]


def last_sent_to(connection: Connection, recipient: Recipient) -> datetime | None:
    """Return when a notification of a recipient was last sent; None where none was."""
    column = notifications.c
    query = (
        select(column.sent_at)
        .where(column.channel == recipient.channel, column.address == recipient.address)
        .where(column.state == NotificationState.SENT)
        .order_by(column.closed_at.desc())
        .limit(1)
    )
    moment: datetime | None = connection.scalar(query)
    return moment


def recipient_of_verification(connection: Connection, message_id: str) -> Recipient | None:
    """Return to whom a verification mail was sent, or tried to be; None for one that never was."""
    query = select(recipients).where(recipients.c.message_id == message_id)
    row = connection.execute(query).mappings().first()
    return None if row is None else _recipient(row)


def _key(recipient: Recipient) -> dict[str, Any]:
    mailbox = mailbox_of(recipient)
    return {"channel": mailbox.channel, "address": mailbox.address}


def _is(recipient: Recipient) -> tuple[Any, Any]:
    column, mailbox = recipients.c, mailbox_of(recipient)
    return column.channel == mailbox.channel, column.address == mailbox.address


def _recipient(row: RowMapping) -> Recipient:
    return Recipient(row["channel"], row["address"])


def _verification(row: RowMapping) -> Verification:
    deliveries = tuple(
        DeliveryAttempt(moment_of(at), DeliveryResult(result), unescape(outcome))
        for at, result, outcome in row["deliveries"]
    )
    known = {name: row[name] for name in _OF_VERIFICATION}
    return Verification(_recipient(row), deliveries=deliveries, **known)


def _profile(row: RowMapping) -> RecipientProfile:
    digest = DigestTime.parse(row["digest"]) if row["digest"] else None
    return RecipientProfile(row["zone"], tuple(map(WeekSpan.parse, row["active"])), digest)
