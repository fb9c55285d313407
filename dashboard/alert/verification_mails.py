"""Ask for the verification of addresses that rules name: write the mails for it and send them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from html import escape
from itertools import islice
from typing import Final

from msgspec import Struct

from dashboard.alert.compose import Links
from dashboard.alert.message import Channel, MaySend, Message, MessageHeaders
from dashboard.domain.alerts.notification import DeliveryAttempt, DeliveryResult, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.formatting import moment
from dashboard.domain.markup import unlinked_name, visible
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.recipients import (
    ConfiguredRecipients,
    RecipientDirectory,
    RecipientStatus,
    mailbox_of,
)
from dashboard.domain.people.verification import (
    Verification,
    attempted,
    code_of,
    delivered,
    expires_at,
    mail_id_of,
    request_mail,
    room_for_mails,
)
from dashboard.domain.quantity import Clock
from dashboard.errors import DeliveryError, DeliveryRefused, DeliveryWithheld, InputError
from dashboard.logs import get_logger
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.notifications import link_key, written_message_id
from dashboard.store.alerts.recipients import (
    locked_verification,
    read_directory,
    save_verification,
)
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.engine import Store

PERIOD: Final = timedelta(seconds=5)
_BY: Final = "worker"
"""Who asks for the verification of an address that a rule names, in the audit log."""

_LONGEST_ADDRESS: Final = 400
_SUBJECT: Final = "Confirm this address for alerts"

_log = get_logger("recipients")


class VerificationMails(Struct, frozen=True):
    """Sends verification mails while this worker holds the lease.

    An address that a rule names is asked once by itself; after that a person has to request another
    mail. An address that is off is never asked. `public_url` is where people open the pages.
    `domain` is that of Message-IDs.
    """

    store: Store
    channel: Channel
    configured: ConfiguredRecipients
    public_url: str
    domain: str
    clock: Clock

    def work(self, may_send: MaySend) -> None:
        """Request and send what is due; raises StoreError."""
        if not may_send():
            return
        with self.store.read() as connection:
            directory = read_directory(connection, self.configured)
            rules, key = rules_in_force(connection), link_key(connection)
        if key is None:
            return  # the store was too full to keep one: no link and no code can be made
        room = room_for_mails(directory.requested_at(), self.clock())
        for each in islice(without_request(rules, directory), max(room, 0)):
            self._ask(each)
        with self.store.read() as connection:
            directory = read_directory(connection, self.configured)
        now = self.clock()
        for verification in directory.verifications.values():
            if _is_due(verification, directory, now):
                self._send(verification, Links(self.public_url, key), may_send)

    def _ask(self, recipient: Recipient) -> None:
        now = self.clock()
        with self.store.write() as connection:
            directory = read_directory(connection, self.configured)
            known = locked_verification(connection, recipient)
            try:
                asked = request_mail(known, directory.requested_at(), now)
            except InputError as error:
                _log.warning("an address is not asked to be verified yet", why=str(error))
                return
            save_verification(connection, asked)
            details = {"channel": recipient.channel}
            by = Actor(_BY, now)
            note_action(connection, by, Action.ASK_TO_VERIFY, recipient.address, details)
        _log.warning(
            "a rule names an address that is not verified: nothing but a verification mail is sent",
            recipient=visible(recipient.address),
        )

    def _send(self, verification: Verification, links: Links, may_send: MaySend) -> None:
        recipient, requested_at = verification.recipient, verification.requested_at
        message_id = written_message_id(mail_id_of(verification, links.key), self.domain)
        with self.store.write() as connection:
            known = locked_verification(connection, recipient)
            now = self.clock()
            if known.requested_at != requested_at or not _is_due_alone(known, now):
                return
            save_verification(connection, attempted(known, now), message_id)
        asked_at = requested_at or now
        headers = MessageHeaders(message_id, recipient.address, asked_at)
        try:
            message = message_of_verification(verification, links, asked_at)
            outcome = self.channel.send(message, headers, may_send)
            result = DeliveryResult.SENT
        except DeliveryWithheld:
            return
        except DeliveryRefused as error:
            result, outcome = DeliveryResult.REFUSED, str(error)
        except DeliveryError as error:
            result, outcome = DeliveryResult.DEFERRED, str(error)
        attempt = DeliveryAttempt(self.clock(), result, outcome)
        with self.store.write() as connection:
            known = locked_verification(connection, recipient)
            save_verification(connection, delivered(known, requested_at, attempt))
        if result is not DeliveryResult.SENT:
            _log.warning(
                "a verification mail was not sent",
                recipient=visible(recipient.address),
                answer=outcome,
            )


def without_request(rules: tuple[Rule, ...], directory: RecipientDirectory) -> Iterator[Recipient]:
    """Yield recipients in rules that are not verified and were never asked, each once."""
    named = {
        mailbox_of(each): None
        for rule in rules
        if rule.is_enabled
        for each in (*rule.recipients, *rule.escalate_to)
    }
    for each in named:
        known = directory.verifications.get(each)
        was_asked = known is not None and known.requested_at is not None
        if directory.status(each) is RecipientStatus.NOT_VERIFIED and not was_asked:
            yield each


def _is_due(verification: Verification, directory: RecipientDirectory, now: datetime) -> bool:
    status = directory.status(verification.recipient)
    return status is RecipientStatus.NOT_VERIFIED and _is_due_alone(verification, now)


def _is_due_alone(verification: Verification, now: datetime) -> bool:
    next_at, ends = verification.next_attempt_at, expires_at(verification)
    is_open = verification.verified_at is None and ends is not None and now < ends
    return is_open and next_at is not None and next_at <= now


def message_of_verification(verification: Verification, links: Links, at: datetime) -> Message:
    """Compose it with the code, and with a link if the pages have an address.

    The same request gives the same message at every attempt.
    """
    address = unlinked_name(verification.recipient.address, _LONGEST_ADDRESS)
    code = code_of(verification, links.key)
    until = moment(expires_at(verification) or at)
    link = links.verify(verification.recipient, expires_at(verification) or at)
    unsubscribe = links.unsubscribe(verification.recipient, at)
    where = f" at {links.public_url}" if links.public_url else ""
    parts = [
        (
            f"Somebody wants Linewatch{where} to send alerts to {address}. "
            "Nothing is sent until you confirm it."
        ),
        *([f"Confirm the address by {until}:\n{link}"] if link else []),
        (
            f"{'Or enter' if link else 'Enter'} the code {code} on the page Alerts under "
            f"Recipients by {until}, or run\nlinewatch recipients verify {address} {code}"
        ),
        "If you did not expect this, do nothing: you will get no alerts.",
        *([f"To stop such requests:\n{unsubscribe}"] if unsubscribe else []),
    ]
    paragraphs = "".join(f"<p>{_html(part, (link, unsubscribe))}</p>\n" for part in parts)
    html = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{_SUBJECT}</title></head><body>\n{paragraphs}</body></html>\n"
    )
    return Message(_SUBJECT, "\n\n".join(parts) + "\n", html, unsubscribe=unsubscribe)


def _html(part: str, links: tuple[str, ...]) -> str:
    """Return a paragraph with its second line on its own, as a link if it is one of ours."""
    said, _, last = part.partition("\n")
    if not last:
        return escape(said)
    shown = escape(last)
    if last in links:
        return f'{escape(said)}</p>\n<p><a href="{shown}">{shown}</a>'
    return f"{escape(said)}</p>\n<p><code>{shown}</code>"
