"""Addresses that are off, stored: what is pending to them dies, and nothing new is made.

And addresses that are suspect, to which messages still go.
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, update

from dashboard.domain.address_off import AddressOff, OffCause, SuspectAddress
from dashboard.domain.grounds import BounceGrounds
from dashboard.domain.notification import NotificationState, Recipient
from dashboard.domain.recipients import mailbox_of
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import addresses_off, notifications, suspect_addresses


def turn_off(connection: Connection, address: AddressOff) -> bool:
    """Send nothing to an address any more; False, and nothing changes, where it is off already.

    What is pending to it is marked as dead with the cause, so that it can be sent again once the
    address is on.
    """
    recipient = address.recipient
    row = {
        "channel": recipient.channel,
        "address": recipient.address,
        "cause": address.cause.value,
        "since": address.since,
        "by": address.by,
        "note": address.note,
    }
    if not insert_new(connection, addresses_off, row):
        return False
    mark_pending_dead(connection, recipient, address.cause.value)
    return True


def mark_pending_dead(connection: Connection, recipient: Recipient, why: str) -> int:
    """Mark everything that is pending to a recipient as dead; return how many."""
    column = notifications.c
    pending = update(notifications).where(
        column.state == NotificationState.PENDING,
        column.channel == recipient.channel,
        column.address == recipient.address,
    )
    dead = {"state": NotificationState.DEAD, "outcome": f"not sent: {why}"}
    return connection.execute(pending.values(**dead, claimed_by=None)).rowcount


def turn_on(connection: Connection, recipient: Recipient) -> bool:
    """Send to an address again; False where it is not off."""
    column = addresses_off.c
    mine = delete(addresses_off).where(
        column.channel == recipient.channel, column.address == recipient.address
    )
    return connection.execute(mine).rowcount == 1


def is_off(connection: Connection, recipient: Recipient) -> bool:
    """Whether an address is off, however it is written."""
    mailbox = mailbox_of(recipient)
    return any(mailbox_of(each.recipient) == mailbox for each in list_addresses_off(connection))


def suspicion_of(connection: Connection, recipient: Recipient) -> SuspectAddress | None:
    """Return that a message to an address came back, and which; None where none did."""
    mailbox = mailbox_of(recipient)
    found = list_suspect_addresses(connection)
    return next((each for each in found if each.recipient == mailbox), None)


def suspect(connection: Connection, address: SuspectAddress) -> None:
    """Store that a message came back; the first one stays."""
    mailbox = mailbox_of(address.recipient)
    row = {
        "channel": mailbox.channel,
        "address": mailbox.address,
        "since": address.since,
        "message_id": address.message_id,
        "note": address.note,
    }
    insert_new(connection, suspect_addresses, row)


def end_suspicion(connection: Connection, recipient: Recipient) -> bool:
    """Take an address for a good one again; False where it was not suspect."""
    column, mailbox = suspect_addresses.c, mailbox_of(recipient)
    mine = delete(suspect_addresses).where(
        column.channel == mailbox.channel, column.address == mailbox.address
    )
    return connection.execute(mine).rowcount == 1


def list_suspect_addresses(connection: Connection) -> list[SuspectAddress]:
    """Return the addresses that are suspect, each as a mailbox, the latest first."""
    column = suspect_addresses.c
    query = select(suspect_addresses).order_by(column.since.desc(), column.channel, column.address)
    return [
        SuspectAddress(Recipient(row.channel, row.address), row.since, row.message_id, row.note)
        for row in connection.execute(query)
    ]


def bounced_addresses(connection: Connection) -> dict[str, BounceGrounds]:
    """Return the mailboxes from which messages came back: suspect ones, and those off for that."""
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
    column = addresses_off.c
    query = select(addresses_off).order_by(column.since.desc(), column.channel, column.address)
    return [
        AddressOff(
            Recipient(row.channel, row.address), OffCause(row.cause), row.since, row.by, row.note
        )
        for row in connection.execute(query)
    ]
