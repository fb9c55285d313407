"""A letter as an Internet message (RFC 5322), the same bytes at every attempt."""

from __future__ import annotations

from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from dashboard.alert.message import Envelope, Letter
from dashboard.domain.foreign_text import visible
from dashboard.errors import DeliveryBlocked, InputError


def parse_sender(text: str) -> Address:
    """Read the address that letters come from; InputError where it is none."""
    try:
        return _parse_address(text, "Linewatch")
    except ValueError as error:
        raise InputError(f"{text!a} is no mail address; correct sender in [mail]") from error


def write_message(letter: Letter, envelope: Envelope, sender: Address) -> EmailMessage:
    """Return the message: plain text with HTML as its alternative.

    `Auto-Submitted` keeps vacation responders quiet (RFC 3834). DeliveryBlocked where the
    recipient's address is none: what is pending waits until the settings are corrected.
    """
    message = EmailMessage(policy=SMTP)
    message["From"] = sender
    message["To"] = _recipient(envelope.to)
    message["Subject"] = visible(letter.subject)
    message["Date"] = format_datetime(envelope.date)
    message["Message-ID"] = envelope.message_id
    if envelope.in_reply_to:
        message["In-Reply-To"] = envelope.in_reply_to
        message["References"] = envelope.in_reply_to
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.text, cte="quoted-printable")
    message.add_alternative(letter.html, subtype="html", cte="quoted-printable")
    message.set_boundary(f"=_{_token(envelope.message_id)}")
    return message


def _recipient(text: str) -> Address:
    try:
        return _parse_address(text)
    except ValueError as error:
        raise DeliveryBlocked(
            f"{text!a} is no mail address; correct recipients in [mail]"
        ) from error


def _parse_address(text: str, display_name: str = "") -> Address:
    """Read local@domain in ASCII; international addresses need a server that speaks SMTPUTF8."""
    if not text.isascii():
        raise ValueError(f"{text!a} is not ASCII")
    try:
        return Address(display_name, addr_spec=text)
    except (IndexError, HeaderParseError) as error:
        raise ValueError(f"{text!a} cannot be read") from error


def _token(message_id: str) -> str:
    """Return the part of an id that may stand in a boundary."""
    return "".join(character for character in message_id if character.isalnum())[:60]
