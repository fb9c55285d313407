"""Addresses that are off, stored: what is pending to them dies, and nothing new is made."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, update

from dashboard.domain.address_off import AddressOff, OffCause
from dashboard.domain.notification import NotificationState, Recipient
from dashboard.store.engine.upsert import insert_new
from dashboard.store.schema import addresses_off, notifications


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
