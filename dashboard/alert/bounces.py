"""Bounces (RFC 3464): reading mails about messages that came back, and turning addresses off."""

from __future__ import annotations

import imaplib
import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from email.message import Message
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from msgspec import Struct, field

from dashboard.alert.channels.deadline import Deadline, open_socket, resolve
from dashboard.alert.channels.smtp import is_no_mailbox
from dashboard.alert.message import MaySend
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor
from dashboard.domain.people.recipients import AddressOff, MailAddress, OffCause, SuspectAddress
from dashboard.domain.quantity import Clock
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, InputError
from dashboard.logs import get_logger
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.notifications import SentMessage, sent_message
from dashboard.store.alerts.recipients import end_suspicion, is_off, suspect, suspicion_of, turn_off
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store

LARGEST: Final = 1_000_000
"""How many bytes of a mail are read; the rest is cut off."""

_MOST_PARTS: Final = 100
_MOST_GROUPS: Final = 100
_LARGEST_HEAD: Final = 16_000
"""How many bytes are read of the headers of a mail or a part, or of the fields about a recipient.
The standard library takes minutes for a header of a megabyte."""

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_BOUNDARY: Final = re.compile(
    r"boundary\s*=\s*(?:\"(?P<quoted>[^\"]{1,200})\"|(?P<plain>[^\s;\"]{1,200}))", re.IGNORECASE
)
_MESSAGE_ID: Final = re.compile(r"<[!-;=?-~]{1,190}>", re.ASCII)
_ADDRESS: Final = re.compile(r"(?:rfc822|utf-8)\s*;\s*<?([^\s<>;]{1,320})>?", re.IGNORECASE)
_STATUS: Final = re.compile(r"[245]\.\d{1,3}\.\d{1,3}", re.ASCII)
_CODE: Final = re.compile(r"\b(5\d\d)\b[ -]?(.*)", re.ASCII)
_DISABLED: Final = "5.2.1"
"""The mailbox exists, but accepts nothing any more."""

_LONGEST: Final = 200


class Bounce(Struct, frozen=True):
    """A message that came back for good: which, from which addresses, and what the server said.

    All of it is foreign: anybody can write such a mail. `addresses` are in lower case.
    """

    message_id: str
    addresses: frozenset[str]
    why: str


def read_bounces(content: bytes) -> list[Bounce]:
    """Return what a mail says came back for good, once for each recipient; none for other mails.

    Only "no such mailbox" is for good: a full mailbox, a filter or a limit may be corrected, and an
    alert that is not sent is worse than one that comes back.
    """
    mail = _cut(content[:LARGEST])
    if mail.kind != "multipart/report":
        return []
    parts = list(_parts(mail))
    message_id = next(_original_ids(parts), "")
    groups = [group for part in parts for group in _groups(part)]
    found = (_bounce(message_id, group) for group in groups) if message_id else ()
    return [each for each in found if each is not None]


class _Entity(NamedTuple):
    """A mail, or a part of one: its headers, and what follows them.

    It is split by hand: with deeply nested parts, or many parameters, the parser of the standard
    library fails or takes minutes, and a stranger writes this.
    """

    head: Message
    body: bytes

    @property
    def kind(self) -> str:
        """Its media type in lower case, without parameters."""
        return self.head.get_content_type()


def _cut(content: bytes) -> _Entity:
    """Split the headers from the rest; a part without headers begins with an empty line."""
    end = _HEAD_END.search(b"\n" + content)
    head = content if end is None else content[: max(end.start() - 1, 0)]
    body = b"" if end is None else content[end.end() - 1 :]
    return _Entity(_fields(head), body)


def _fields(head: bytes) -> Message:
    return BytesHeaderParser().parsebytes(head[:_LARGEST_HEAD])


def _parts(mail: _Entity) -> Iterator[_Entity]:
    """Yield the parts of a report; parts within these do not matter."""
    if match := _BOUNDARY.search(_text(mail.head, "Content-Type")):
        boundary = (match["quoted"] or match["plain"]).encode("utf-8", "surrogateescape")
        line = re.compile(rb"^--%b(?:--)?[ \t]*\r?\n" % re.escape(boundary), re.MULTILINE)
        _, *parts = line.split(mail.body, _MOST_PARTS)
        yield from map(_cut, parts)


def _groups(part: _Entity) -> Iterator[Message]:
    """Yield the fields about each recipient; those about the whole message come first."""
    if part.kind == "message/delivery-status":
        for group in _HEAD_END.split(part.body.strip(), _MOST_GROUPS)[:_MOST_GROUPS]:
            fields = _fields(group.strip())
            if "Action" in fields:
                yield fields


def _bounce(message_id: str, group: Message) -> Bounce | None:
    if _text(group, "Action").lower() != "failed" or not _is_for_good(group):
        return None
    named = (_text(group, name) for name in ("Final-Recipient", "Original-Recipient"))
    addresses = {match[1].lower() for text in named if (match := _ADDRESS.match(text))}
    why = _text(group, "Diagnostic-Code") or _text(group, "Status")
    return Bounce(message_id, frozenset(addresses), visible(why, _LONGEST))


def _is_for_good(group: Message) -> bool:
    """Whether a status, or the server's own words behind it, says that there is no such mailbox."""
    status = _STATUS.search(_text(group, "Status"))
    if status is None or not status[0].startswith("5."):
        return False
    if status[0] == _DISABLED or is_no_mailbox((550, status[0])):
        return True
    said = _CODE.search(_text(group, "Diagnostic-Code"))
    return said is not None and is_no_mailbox((int(said[1]), said[2]))


def _original_ids(parts: list[_Entity]) -> Iterator[str]:
    """Yield the Message-IDs of what came back: the whole message, or its headers."""
    for part in parts:
        if part.kind in {"text/rfc822-headers", "message/rfc822"}:
            text = _text(_cut(part.body).head, "Message-ID")
            if match := _MESSAGE_ID.search(text):
                yield match[0]


def _text(part: Message, name: str) -> str:
    return " ".join(str(part.get(name, "")).split())


_MOST: Final = 200
"""How many mails one run reads; the next run continues."""

_LARGEST_ANSWER: Final = 64 * LARGEST
"""How many bytes about one mail are accepted from a server, which may send all of it though less
was asked for, or announce any number."""

_READ: Final = re.compile(r":2,[A-Za-z]*$")
_BY: Final = "bounce"
"""Who turned an address off, as the audit log says: no person did."""

_log = get_logger("bounces")


class BounceMailbox(Protocol):
    """Hands out each mail once, and remembers which were bounces."""

    def read(self, use: Callable[[bytes], bool]) -> None:
        """Pass each new mail to `use`, which returns whether it was a bounce.

        A bounce is marked as read, any other mail stays as it is and is not passed on again.
        DeliveryBlocked if the mailbox cannot be read.
        """


class MaildirMailbox(Struct):
    """Reads a Maildir; a bounce is moved from `new` to `cur`, as a mail program does."""

    folder: Path
    _seen: set[str] = field(default_factory=set)

    def read(self, use: Callable[[bytes], bool]) -> None:
        """Read the mails in `new`."""
        try:
            names = sorted(each.name for each in (self.folder / "new").iterdir())
            self._seen &= set(names)
            for name in [each for each in names if each not in self._seen][:_MOST]:
                self._read_one(name, use)
        except OSError as error:
            raise DeliveryBlocked(
                f"the Maildir of bounces cannot be read: {error.strerror}; check [bounces]"
            ) from error

    def _read_one(self, name: str, use: Callable[[bytes], bool]) -> None:
        path = self.folder / "new" / name
        with path.open("rb") as file:
            content = file.read(LARGEST)
        if use(content):
            path.rename(self.folder / "cur" / f"{_READ.sub('', name)}:2,S")
        else:
            self._seen.add(name)


class ImapServer(Struct, frozen=True):
    """A mailbox on a server as in [bounces], through TLS; `timeout` is for one whole run."""

    imap_host: str
    imap_port: int
    username: str
    password: Secret
    mailbox: str = "INBOX"
    timeout: timedelta = timedelta(seconds=30)
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)


class ImapMailbox(Struct):
    """Reads the unread mails of a mailbox; a bounce is marked as read."""

    server: ImapServer
    _seen: set[bytes] = field(default_factory=set)

    def read(self, use: Callable[[bytes], bool]) -> None:
        """Read the unread mails."""
        with _errors_named(self.server), self._connected() as connection:
            _, found = connection.uid("SEARCH", "UNSEEN")
            unread = found[0].split() if found and isinstance(found[0], bytes) else []
            self._seen &= set(unread)
            for uid in [each for each in unread if each not in self._seen][:_MOST]:
                self._read_one(connection, uid, use)

    @contextmanager
    def _connected(self) -> Iterator[_ImapConnection]:
        server = self.server
        with Deadline(server.timeout.total_seconds()) as deadline:
            connection = _ImapConnection(server, deadline)
            try:
                connection.login(server.username, server.password.reveal())
                status, _ = connection.select(f'"{server.mailbox}"')
                if status != "OK":
                    raise DeliveryBlocked(
                        f"the mail server {server.imap_host} has no mailbox "
                        f"{visible(server.mailbox)}; check mailbox in [bounces]"
                    )
                yield connection
            finally:
                for leave in (connection.logout, connection.shutdown):
                    with suppress(OSError, imaplib.IMAP4.error):
                        leave()

    def _read_one(
        self, connection: _ImapConnection, uid: bytes, use: Callable[[bytes], bool]
    ) -> None:
        connection.left = _LARGEST_ANSWER
        _, found = connection.uid("FETCH", uid.decode("ascii"), f"(BODY.PEEK[]<0.{LARGEST}>)")
        content = next((each[1] for each in found if isinstance(each, tuple)), b"")
        if use(content):
            connection.uid("STORE", uid.decode("ascii"), "+FLAGS", r"(\Seen)")
        else:
            self._seen.add(uid)


class _ImapConnection(imaplib.IMAP4_SSL):
    """Connects through TLS, with one deadline for everything that is sent and received.

    At most `left` more bytes are read of what the server says; then the connection ends.
    """

    left = _LARGEST_ANSWER

    def __init__(self, server: ImapServer, deadline: Deadline) -> None:
        self._trust = server.trust
        self._deadline = deadline
        super().__init__(server.imap_host, server.imap_port, ssl_context=server.trust)

    def _create_socket(self, timeout: float | None) -> ssl.SSLSocket:  # noqa: ARG002 - the deadline is stricter
        line = open_socket(resolve(self.host, self.port, self._deadline), self._deadline)
        return self._trust.wrap_socket(line, server_hostname=self.host)

    def read(self, size: int) -> bytes:
        """Read as many bytes as the server has announced."""
        self._take(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._take(len(line))
        return line

    def _take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise self.abort("it sends more than was asked for")


@contextmanager
def _errors_named(server: ImapServer) -> Iterator[None]:
    """Turn errors of a connection into DeliveryBlocked, without what a server says of a login."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise DeliveryBlocked(
            f"the mail server {server.imap_host} has no certificate that can be trusted "
            "(tls.ca_file is for an authority of your own)"
        ) from error
    except (OSError, imaplib.IMAP4.error, UnicodeError) as error:
        kind = "refused" if isinstance(error, imaplib.IMAP4.error) else "did not answer"
        raise DeliveryBlocked(
            f"the mail server {server.imap_host} {kind} when bounces were read; check [bounces]"
        ) from error


class BounceReader(Struct, frozen=True):
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
        """Read new mails; raises DeliveryError and StoreError, and then reads the mail again."""
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
        by = Actor(_BY, now)
        details = {"channel": recipient.channel, "note": bounce.why}
        if is_off(connection, recipient):
            return ""
        known = suspicion_of(connection, recipient)
        if known is None:
            found = SuspectAddress(recipient, now, bounce.message_id, bounce.why)
            suspect(connection, found)
            note_action(connection, by, Action.SUSPECT, recipient.address, details)
            return "an address is suspect: a message to it came back"
        if sent.is_guessable or known.message_id == bounce.message_id:
            return ""
        turn_off(connection, AddressOff(recipient, OffCause.BOUNCED, now, _BY, bounce.why))
        end_suspicion(connection, recipient)
        note_action(connection, by, Action.TURN_OFF, recipient.address, details)
        return "an address is off: several messages to it came back"

    def _is_about(self, bounce: Bounce, recipient: Recipient) -> bool:
        if recipient.channel != self.channel:
            return False
        try:
            address = MailAddress.parse(recipient.address)
        except InputError:
            return False
        return address.spec.lower() in bounce.addresses
