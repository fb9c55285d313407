"""Turn an address off when a message to it came back for good, and say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.alert.bounce import Bounce, read_bounces
from dashboard.alert.bounce_mailbox import BounceMailbox
from dashboard.alert.message import MaySend
from dashboard.domain.address_off import AddressOff, OffCause
from dashboard.domain.audit import Action
from dashboard.domain.clock import Clock
from dashboard.domain.foreign_text import visible
from dashboard.domain.mail_address import MailAddress
from dashboard.domain.notification import Recipient
from dashboard.errors import InputError
from dashboard.logs import get_logger
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.addresses_off import turn_off
from dashboard.store.alerts.sent_messages import recipient_of_message
from dashboard.store.engine.engine import Store

_BY: Final = "bounce"
"""Who turned an address off, as the audit log says it: no person did."""

_log = get_logger("bounces")


@dataclass(frozen=True, slots=True)
class BounceReader:
    """Reads one mailbox while this worker holds the lease.

    Anybody can send a mail there. So a bounce turns nobody off unless it quotes the Message-ID of
    a message that was sent to that very address: nobody else can know it.
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
            recipient = recipient_of_message(connection, bounces[0].message_id)
            ours = (each for each in bounces if self._is_about(each, recipient))
            bounce = next(ours, None)
            if recipient is None or bounce is None:
                _log.warning("a bounce quotes no message that we sent to its address")
                return
            now = self.clock()
            off = AddressOff(recipient, OffCause.BOUNCED, now, _BY, bounce.why)
            if not turn_off(connection, off):
                return
            details = {"channel": recipient.channel, "note": bounce.why}
            note_action(connection, now, _BY, Action.TURN_OFF, recipient.address, details)
        _log.error(
            "an address is off: a message to it came back",
            recipient=visible(recipient.address),
            answer=bounce.why,
        )

    def _is_about(self, bounce: Bounce, recipient: Recipient | None) -> bool:
        if recipient is None or recipient.channel != self.channel:
            return False
        try:
            address = MailAddress.parse(recipient.address)
        except InputError:
            return False
        return address.spec.lower() in bounce.addresses
