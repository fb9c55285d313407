"""Recipients as stored: verification, preferences, and addresses that are off or suspect."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeVar, cast

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    and_,
    delete,
    select,
    update,
)

from dashboard.domain.alerts.kinds.delivery import BounceGrounds
from dashboard.domain.alerts.notification import (
    DeliveryAttempt,
    DeliveryResult,
    DigestTime,
    NotificationState,
    Recipient,
)
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import (
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientDirectory,
    RecipientProfile,
    SuspectAddress,
    mailbox_of,
)
from dashboard.domain.people.verification import Verification
from dashboard.store.chosen_settings import RECIPIENTS, chosen_values
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import addresses_off, notifications, recipients, suspect_addresses
from dashboard.store.schema.columns import (
    columns_of,
    escape,
    milliseconds_of,
    moment_of,
    read_as,
    unescape,
)

T = TypeVar("T")

_OF_VERIFICATION: Final = [
    each for each in Verification.__struct_fields__ if each not in {"recipient", "deliveries"}
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


def is_to(recipient: Recipient, table: Table = notifications) -> ColumnElement[bool]:
    """Select the rows of a table that belong to a recipient, as the address is written."""
    column = table.c
    return and_(column.channel == recipient.channel, column.address == recipient.address)


def recipients_in(connection: Connection, query: Select[Any]) -> list[Recipient]:
    """Return the recipients whose channels and addresses a query selects."""
    return [Recipient(*row) for row in connection.execute(query)]


def read_directory(connection: Connection, configured: ConfiguredRecipients) -> RecipientDirectory:
    """Return everything that is known of recipients now."""
    if configured.is_open and (chosen := chosen_values(connection).get(RECIPIENTS)):
        configured = configured.choosing(cast("list[str]", chosen))
    rows = connection.execute(select(recipients)).mappings().all()
    return RecipientDirectory(
        configured,
        {mailbox_of(each.recipient): each for each in list_addresses_off(connection)},
        {(each := _verification(row)).recipient: each for row in rows},
        {_recipient(row): _profile(row) for row in rows},
        {each.recipient: each for each in list_suspect_addresses(connection)},
    )


def locked_verification(connection: Connection, recipient: Recipient) -> Verification:
    """Return the verification of an address, locked until this transaction ends."""
    insert_new(connection, recipients, _key(recipient) | _NOTHING)
    query = select(recipients).where(_is(recipient)).with_for_update()
    return _verification(connection.execute(query).mappings().one())


def save_verification(
    connection: Connection, verification: Verification, message_id: str | None = None
) -> None:
    """Store the verification of an address, with the Message-ID of the mail being tried."""
    values = {name: getattr(verification, name) for name in _OF_VERIFICATION}
    values["deliveries"] = [
        [milliseconds_of(each.attempted_at), each.result, escape(each.outcome)]
        for each in verification.deliveries
    ]
    if message_id is not None:
        values["message_id"] = message_id
    mine = update(recipients).where(_is(verification.recipient))
    connection.execute(mine.values(**values))


def save_profile(connection: Connection, recipient: Recipient, wanted: RecipientProfile) -> None:
    digest = "" if wanted.digest is None else str(wanted.digest)
    values: dict[str, Any] = {"zone": wanted.zone, "active": [str(each) for each in wanted.active]}
    values |= {"digest": digest} | ({} if digest else {"digested_until": None})
    if not insert_new(connection, recipients, _key(recipient) | _NOTHING | values):
        connection.execute(update(recipients).where(_is(recipient)).values(**values))


def digested_until(
    connection: Connection, recipient: Recipient | None = None
) -> dict[Recipient, datetime]:
    """Return until when digests cover each mailbox; of a single one, whose row is locked then."""
    column = recipients.c
    query = select(column.channel, column.address, column.digested_until)
    if recipient is not None:
        query = query.where(_is(recipient)).with_for_update()
    rows = connection.execute(query.where(column.digested_until.is_not(None)))
    return {Recipient(channel, address): until for channel, address, until in rows}


def note_digest(connection: Connection, recipient: Recipient, until: datetime) -> None:
    insert_new(connection, recipients, _key(recipient) | _NOTHING)
    mine = update(recipients).where(_is(recipient))
    connection.execute(mine.values(digested_until=until))


def verified_without_summary(connection: Connection) -> list[Recipient]:
    """Return the verified recipients who have not yet got the summary of what is open."""
    column = recipients.c
    query = select(column.channel, column.address).where(
        column.verified_at.is_not(None), column.caught_up_at.is_(None)
    )
    return recipients_in(connection, query)


def note_summary(connection: Connection, recipient: Recipient, at: datetime) -> None:
    """Record that a recipient got the summary of what is open."""
    connection.execute(update(recipients).where(_is(recipient)).values(caught_up_at=at))


def pending_to(connection: Connection) -> list[Recipient]:
    column = notifications.c
    pending = select(column.channel, column.address).where(
        column.state == NotificationState.PENDING
    )
    return recipients_in(connection, pending.distinct())


def last_sent_to(connection: Connection, recipient: Recipient) -> datetime | None:
    """Return when a notification of a recipient was last sent; None if none was."""
    column = notifications.c
    query = (
        select(column.sent_at)
        .where(is_to(recipient), column.state == NotificationState.SENT)
        .where(column.closed_at.is_not(None))  # PostgreSQL would read what is open first
        .order_by(column.closed_at.desc())
        .limit(1)
    )
    moment: datetime | None = connection.scalar(query)
    return moment


def recipient_of_verification(connection: Connection, message_id: str) -> Recipient | None:
    """Return the recipient of a verification mail, sent or tried; None if there was none."""
    column = recipients.c
    query = select(column.channel, column.address).where(column.message_id == message_id)
    return next(iter(recipients_in(connection, query)), None)


def _key(recipient: Recipient) -> dict[str, Any]:
    return columns_of(recipients, mailbox_of(recipient))


def _is(recipient: Recipient) -> ColumnElement[bool]:
    return is_to(mailbox_of(recipient), recipients)


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


def turn_off(connection: Connection, address: AddressOff) -> bool:
    """Turn an address off; False, with nothing changed, if it is off already.

    Its pending notifications are marked as dead with the cause, so that they can be sent again once
    the address is on.
    """
    recipient = address.recipient
    row = columns_of(addresses_off, address) | columns_of(addresses_off, recipient)
    if not insert_new(connection, addresses_off, row):
        return False
    mark_pending_dead(connection, recipient, address.cause.value)
    return True


def mark_pending_dead(connection: Connection, recipient: Recipient, why: str) -> int:
    """Mark every pending notification of a recipient as dead; return how many."""
    pending = update(notifications).where(
        notifications.c.state == NotificationState.PENDING, is_to(recipient)
    )
    dead = {"state": NotificationState.DEAD, "outcome": f"not sent: {why}"}
    return connection.execute(pending.values(**dead, claimed_by=None)).rowcount


def turn_on(connection: Connection, recipient: Recipient) -> bool:
    """Turn an address on again; False if it is not off."""
    mine = delete(addresses_off).where(is_to(recipient, addresses_off))
    return connection.execute(mine).rowcount == 1


def is_off(connection: Connection, recipient: Recipient) -> bool:
    """Whether an address is off, however it is written."""
    mailbox = mailbox_of(recipient)
    return any(mailbox_of(each.recipient) == mailbox for each in list_addresses_off(connection))


def suspicion_of(connection: Connection, recipient: Recipient) -> SuspectAddress | None:
    """Return the bounce for which an address is suspect; None if it is not."""
    mailbox = mailbox_of(recipient)
    found = list_suspect_addresses(connection)
    return next((each for each in found if each.recipient == mailbox), None)


def suspect(connection: Connection, address: SuspectAddress) -> None:
    """Mark an address as suspect because of a bounce; the first bounce stays."""
    row = columns_of(suspect_addresses, address) | _key(address.recipient)
    insert_new(connection, suspect_addresses, row)


def end_suspicion(connection: Connection, recipient: Recipient) -> bool:
    """Clear the suspicion of an address; False if it was not suspect."""
    mine = delete(suspect_addresses).where(is_to(mailbox_of(recipient), suspect_addresses))
    return connection.execute(mine).rowcount == 1


def list_suspect_addresses(connection: Connection) -> list[SuspectAddress]:
    """Return the suspect addresses, each as a mailbox, the latest first."""
    return _latest_first(connection, suspect_addresses, SuspectAddress)


def bounced_addresses(connection: Connection) -> dict[str, BounceGrounds]:
    """Return the mailboxes whose messages bounced: suspect ones, and those off for that reason."""
    found = {
        each.recipient.address: BounceGrounds(each.since, each.note, is_off=False)
        for each in list_suspect_addresses(connection)
    }
    return found | {
        mailbox_of(each.recipient).address: BounceGrounds(each.since, each.note, is_off=True)
        for each in list_addresses_off(connection)
        if each.cause is OffCause.BOUNCED
    }


def list_addresses_off(connection: Connection) -> list[AddressOff]:
    """Return the addresses that are off, the latest first."""
    return _latest_first(connection, addresses_off, AddressOff)


def _latest_first(connection: Connection, table: Table, kind: type[T]) -> list[T]:
    query = select(table).order_by(table.c.since.desc(), table.c.channel, table.c.address)
    rows = connection.execute(query).mappings()
    return [read_as(kind, row, table, recipient=_recipient(row)) for row in rows]
