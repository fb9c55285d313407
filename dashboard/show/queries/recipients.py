"""What page, commands and links ask of recipients: who is off and why, and to change that."""

from __future__ import annotations

from dashboard.domain.address_off import AddressOff, OffCause
from dashboard.domain.audit import Action, Actor
from dashboard.domain.notification import Recipient
from dashboard.show.queries.context import QueryContext
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.addresses_off import list_addresses_off, turn_off, turn_on


class RecipientQueries:
    """Every answer may raise StoreError."""

    def __init__(self, context: QueryContext) -> None:
        """Ask nothing yet."""
        self._context = context

    def off(self) -> tuple[AddressOff, ...]:
        """Return the addresses to which nothing is sent, the latest first."""
        with self._context.store.read() as connection:
            return tuple(list_addresses_off(connection))

    def turn_off(self, recipient: Recipient, by: Actor, note: str = "") -> bool:
        """Send nothing to an address any more, on record; False where it is off already."""
        address = AddressOff(recipient, OffCause.UNSUBSCRIBED, by.at, by.name, note)
        with self._context.store.write() as connection:
            is_new = turn_off(connection, address)
            if is_new:
                details = {"channel": recipient.channel, "note": note}
                action = Action.UNSUBSCRIBE
                note_action(connection, by.at, by.name, action, recipient.address, details)
        return is_new

    def turn_on(self, recipient: Recipient, by: Actor) -> bool:
        """Send to an address again, on record; False where it is not off."""
        with self._context.store.write() as connection:
            was_off = turn_on(connection, recipient)
            if was_off:
                details = {"channel": recipient.channel}
                action = Action.SUBSCRIBE
                note_action(connection, by.at, by.name, action, recipient.address, details)
        return was_off
