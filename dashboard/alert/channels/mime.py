"""A message as MIME (RFC 5322), the same bytes at every attempt."""

from __future__ import annotations

from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from dashboard.alert.message import Message, MessageHeaders
from dashboard.domain.foreign_text import visible
from dashboard.errors import DeliveryBlocked, InputError


def parse_sender(text: str) -> Address:
    """Read the address that messages come from; InputError where it is none."""
    try:
        return _parse_address(text, "Linewatch")
    except ValueError as error:
        raise InputError(f"{text!a} is no mail address; correct sender in [mail]") from error


def write_message(message: Message, headers: MessageHeaders, sender: Address) -> EmailMessage:
    """Return plain text with HTML as its alternative, under its headers.

    `Auto-Submitted` keeps vacation responders quiet (RFC 3834). DeliveryBlocked where the
    recipient's address is none: it stays pending until the settings are corrected.
    """
    mail = EmailMessage(policy=SMTP)
    mail["From"] = sender
    mail["To"] = _recipient(headers.to)
    mail["Subject"] = visible(message.subject)
    mail["Date"] = format_datetime(headers.date)
    mail["Message-ID"] = headers.message_id
    if headers.in_reply_to:
        mail["In-Reply-To"] = headers.in_reply_to
        mail["References"] = headers.in_reply_to
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text, cte="quoted-printable")
    mail.add_alternative(message.html, subtype="html", cte="quoted-printable")
    mail.set_boundary(f"=_{_token(headers.message_id)}")
    return mail


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
