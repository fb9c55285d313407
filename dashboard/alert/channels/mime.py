"""A message as MIME (RFC 5322), the same bytes at every attempt, signed with DKIM (RFC 6376)."""

from __future__ import annotations

from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8, Policy
from email.utils import format_datetime
from typing import Final

from msgspec import Struct

from dashboard.alert.message import Message, MessageHeaders
from dashboard.domain.markup import visible
from dashboard.domain.people.recipients import MailAddress
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, InputError
from dashboard.store.engine.disk import path_of

_LONGEST_SUBJECT: Final = 300
_ONE_LINE: Final = 65
"""The longest subject, in characters, that is not folded."""

_LONGEST_LINE: Final = 900
"""The longest header, in characters, that is not folded; RFC 5322 allows 998."""

_HEADERS: Final = HeaderRegistry()
_PLAIN: Final = SMTP.clone(header_factory=_HEADERS)
_INTERNATIONAL: Final = SMTPUTF8.clone(header_factory=_HEADERS)
_LEAST_BITS: Final = 1024
_SIGNED: Final = (
    "from",
    "to",
    "subject",
    "date",
    "message-id",
    "in-reply-to",
    "references",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "auto-submitted",
    "mime-version",
    "content-type",
)
"""Headers that nobody may change or add on the way. RFC 8058 requires a signature over both headers
for unsubscribing."""


class SubjectHeader(UnstructuredHeader, BaseHeader):
    """A subject that arrives as it was written.

    When the standard library folds, it moves blanks beside text that is not ASCII:
    ``1.29 × · Case`` became ``1.29  ×· Case``. As encoded words (RFC 2047) all of it stays.
    """

    def fold(self, *, policy: Policy) -> str:
        text = str(self)
        if text.isascii() and len(text) <= _ONE_LINE:
            return f"{self.name}: {text}{policy.linesep}"
        encoded = Header(text, "utf-8", header_name=self.name).encode(linesep=policy.linesep)
        return f"{self.name}: {encoded}{policy.linesep}"


class _UnfoldedHeader(UnstructuredHeader, BaseHeader):
    """A header of long addresses or Message-IDs: folded, they would become encoded words."""

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


_HEADERS.map_to_type("subject", SubjectHeader)
_HEADERS.map_to_type("list-unsubscribe", _UnfoldedHeader)
_HEADERS.map_to_type("references", _UnfoldedHeader)


def parse_sender(text: str) -> MailAddress:
    """Parse the address that messages come from; InputError if it is invalid."""
    try:
        return MailAddress.parse(text)
    except InputError as error:
        raise InputError(f"{text!a} is not an email address; correct sender in [mail]") from error


def parse_recipient(text: str) -> MailAddress:
    """Parse the address of a recipient.

    DeliveryBlocked if it is invalid: the message stays pending until the settings are corrected.
    """
    try:
        return MailAddress.parse(text)
    except InputError as error:
        raise DeliveryBlocked(
            f"{text!a} is not an email address; correct recipients in [mail]"
        ) from error


def write_mail(message: Message, headers: MessageHeaders, sender: MailAddress) -> EmailMessage:
    """Return plain text with HTML as its alternative, and attachments, under headers.

    `Auto-Submitted` keeps vacation responders quiet (RFC 3834), `List-Id` lets people filter it
    (RFC 2919). DeliveryBlocked if the recipient's address is invalid.
    """
    recipient = parse_recipient(headers.to)
    is_international = sender.is_international or recipient.is_international
    mail = EmailMessage(policy=_INTERNATIONAL if is_international else _PLAIN)
    mail["From"] = _mailbox(sender, "Linewatch")
    mail["To"] = _mailbox(recipient)
    mail["Subject"] = one_line(message.subject)
    mail["Date"] = format_datetime(headers.date)
    mail["Message-ID"] = headers.message_id
    if headers.in_reply_to:
        mail["In-Reply-To"] = headers.in_reply_to
        mail["References"] = headers.thread or headers.in_reply_to
    mail["List-Id"] = f"Linewatch <alerts.{sender.domain.strip('[]')}>"
    if message.unsubscribe and len(message.unsubscribe) < _LONGEST_LINE:
        mail["List-Unsubscribe"] = f"<{message.unsubscribe}>"
    if "List-Unsubscribe" in mail and message.unsubscribe.startswith("https://"):
        mail["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"  # RFC 8058 wants HTTPS
    mail["Auto-Submitted"] = "auto-generated"
    _write_content(mail, message)
    _fix_boundaries(mail, headers.message_id)
    return mail


def one_line(text: str) -> str:
    """Return foreign text as one line that every reader shows alike, without repeated blanks.

    The marker of an encoded word would make the reader decode it once more.
    """
    shown = visible(" ".join(text.split()), _LONGEST_SUBJECT).replace("=?", "=\\u003f")
    return shown if len(shown) <= _LONGEST_SUBJECT else f"{shown[:_LONGEST_SUBJECT]}…"


def _mailbox(address: MailAddress, default_name: str = "") -> Address:
    return Address(address.display_name or default_name, address.local, address.domain)


def _write_content(mail: EmailMessage, message: Message) -> None:
    mail.set_content(message.text, cte="quoted-printable")
    mail.add_alternative(message.html, subtype="html", cte="quoted-printable")
    *_, html = mail.iter_parts()
    for image in message.images:
        html.add_related(
            image.content, "image", "png", cid=f"<{image.content_id}>", disposition="inline"
        )
    for attachment in message.attachments:
        maintype, _, subtype = attachment.media_type.partition("/")
        mail.add_attachment(
            attachment.content, maintype=maintype, subtype=subtype, filename=attachment.name
        )


def _fix_boundaries(mail: EmailMessage, message_id: str) -> None:
    """Give every multipart a boundary that is the same at each attempt."""
    token = "".join(character for character in message_id if character.isalnum())[:50]
    for number, part in enumerate(mail.walk()):
        if part.is_multipart():
            part.set_boundary(f"=_{token}.{number}")


class DkimSigner(Struct, frozen=True):
    """Signs mails for a domain; `selector` names the public key below it in DNS."""

    domain: str
    selector: str
    key: Secret

    def sign(self, content: bytes) -> bytes:
        """Return a mail with its signature in front."""
        import dkim  # noqa: PLC0415 - it brings a DNS client, for which each command would wait

        signature = dkim.DKIM(content).sign(
            self.selector.encode("ascii"),
            self.domain.encode("ascii"),
            self.key.reveal().encode("ascii"),
            canonicalize=(b"relaxed", b"relaxed"),
            include_headers=[each.encode("ascii") for each in _SIGNED],
        )
        return bytes(signature) + content


def read_dkim_key(file: str) -> Secret:
    """Read a private RSA key in PEM; InputError if the file has none that is usable."""
    from dkim.crypto import UnparsableKeyError, parse_pem_private_key  # noqa: PLC0415 - see above

    path = path_of(file)
    try:
        pem = path.read_text(encoding="ascii")
        bits = parse_pem_private_key(pem.encode("ascii"))["modulus"].bit_length()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (UnparsableKeyError, ValueError) as error:  # the latter if it is not text at all
        raise InputError(
            f"{path} holds no private RSA key: make one with `openssl genrsa -out FILE 2048`"
        ) from error
    if bits < _LEAST_BITS:
        raise InputError(f"{path} holds a key of {bits} bits: make one of 2048")
    return Secret(pem)
