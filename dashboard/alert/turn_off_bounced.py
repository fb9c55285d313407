"""Suspect an address from which a message came back for good; turn it off at the second one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.alert.bounce import Bounce, read_bounces
from dashboard.alert.bounce_mailbox import BounceMailbox
from dashboard.alert.message import MaySend
from dashboard.domain.address_off import AddressOff, OffCause, SuspectAddress
from dashboard.domain.audit import Action
from dashboard.domain.clock import Clock
from dashboard.domain.foreign_text import visible
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.notification import Recipient
from dashboard.errors import InputError
from dashboard.logs import get_logger
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.addresses_off import (
    end_suspicion,
    is_off,
    suspect,
    suspicion_of,
    turn_off,
)
from dashboard.store.alerts.sent_messages import SentMessage, sent_message
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store

_BY: Final = "bounce"
"""Who turned an address off, as the audit log says it: no person did."""

_log = get_logger("bounces")


@dataclass(frozen=True, slots=True)
class BounceReader:
    """Reads one mailbox while this worker holds the lease.

    Anybody can send a mail there. So a bounce does nothing unless it quotes the Message-ID of a
    message that was sent to that very address: nobody can compute it. Somebody may have seen one
    all the same, and a server may err once. So the first bounce makes the address suspect, and a
    bounce of another message turns it off.
    """

    store: Store
    mailbox: BounceMailbox
    channel: str
    clock: Clock

    def work(self, may_send: MaySend) -> None:
        """Read what is new; raises DeliveryError and StoreError, and then reads it again."""
        if may_send():
            self.mailbox.read(self._use)

    def _use(self, content: bytes) -> bool:
        """Process one mail; return whether it was a bounce."""
        bounces = read_bounces(content)
        if bounces:
            self._process(bounces)
        return bool(bounces)

    def _process(self, bounces: Sequence[Bounce]) -> None:
        """Process what one mail says of several recipients: a message of ours has one."""
        with self.store.write() as connection:
            sent = sent_message(connection, bounces[0].message_id)
            ours = (each for each in bounces if sent and self._is_about(each, sent.recipient))
            bounce = next(ours, None)
            if sent is None or bounce is None:
                _log.warning("a bounce quotes no message that we sent to its address")
                return
            said = self._act(connection, sent, bounce)
        if said:
            _log.error(said, recipient=visible(sent.recipient.address), answer=bounce.why)

    def _act(self, connection: Connection, sent: SentMessage, bounce: Bounce) -> str:
        """Suspect the address, or turn it off; return what was done, empty for nothing."""
        now, recipient = self.clock(), sent.recipient
        details = {"channel": recipient.channel, "note": bounce.why}
        if is_off(connection, recipient):
            return ""
        known = suspicion_of(connection, recipient)
        if known is None:
            found = SuspectAddress(recipient, now, bounce.message_id, bounce.why)
            suspect(connection, found)
            note_action(connection, now, _BY, Action.SUSPECT, recipient.address, details)
            return "an address is suspect: a message to it came back"
        if sent.is_guessable or known.message_id == bounce.message_id:
            return ""
        turn_off(connection, AddressOff(recipient, OffCause.BOUNCED, now, _BY, bounce.why))
        end_suspicion(connection, recipient)
        note_action(connection, now, _BY, Action.TURN_OFF, recipient.address, details)
        return "an address is off: several messages to it came back"

    def _is_about(self, bounce: Bounce, recipient: Recipient) -> bool:
        if recipient.channel != self.channel:
            return False
        try:
            address = MailAddress.parse(recipient.address)
        except InputError:
            return False
        return address.spec.lower() in bounce.addresses
