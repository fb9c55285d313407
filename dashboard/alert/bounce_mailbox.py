"""Where bounces arrive: a Maildir, or a mailbox that is read over IMAP."""

from __future__ import annotations

import imaplib
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol

from dashboard.alert.bounce import LARGEST
from dashboard.alert.channels.deadline import Deadline, open_socket, resolve
from dashboard.domain.foreign_text import visible
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked

_MOST: Final = 200
"""Mails that one look reads; the next look goes on."""

_LARGEST_ANSWER: Final = 64 * LARGEST
"""Bytes about one mail that are taken from a server, which may send all of it though less was asked
for, or announce any number."""

_READ: Final = re.compile(r":2,[A-Za-z]*$")


class BounceMailbox(Protocol):
    """Hands out each mail once, and remembers which were bounces."""

    def read(self, use: Callable[[bytes], bool]) -> None:
        """Hand each new mail to `use`, which says whether it was a bounce.

        A bounce is marked as read, any other mail stays as it is and is not handed out again.
        DeliveryBlocked where the mailbox cannot be read.
        """
        ...


@dataclass(slots=True)
class MaildirMailbox:
    """Reads a Maildir; a bounce is moved from `new` to `cur`, as a mail program does."""

    folder: Path
    _seen: set[str] = field(default_factory=set)

    def read(self, use: Callable[[bytes], bool]) -> None:
        """Read what is in `new`."""
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


@dataclass(frozen=True, slots=True)
class ImapServer:
    """A mailbox on a server, always through TLS; `timeout` is for one whole look."""

    host: str
    port: int
    username: str
    password: Secret
    mailbox: str = "INBOX"
    timeout: timedelta = timedelta(seconds=30)
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)


@dataclass(slots=True)
class ImapMailbox:
    """Reads what is unread in a mailbox; a bounce is marked as read."""

    server: ImapServer
    _seen: set[bytes] = field(default_factory=set)

    def read(self, use: Callable[[bytes], bool]) -> None:
        """Read what is unread."""
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
                        f"the mail server {server.host} has no mailbox "
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
    """Connects through TLS, with one deadline for all that is sent and received.

    Of what the server says `left` bytes more are read; then the connection ends.
    """

    left = _LARGEST_ANSWER

    def __init__(self, server: ImapServer, deadline: Deadline) -> None:
        self._trust = server.trust
        self._deadline = deadline
        super().__init__(server.host, server.port, ssl_context=server.trust)

    def _create_socket(self, timeout: float | None) -> ssl.SSLSocket:  # noqa: ARG002 - the deadline is stricter
        line = open_socket(resolve(self.host, self.port, self._deadline), self._deadline)
        return self._trust.wrap_socket(line, server_hostname=self.host)

    def read(self, size: int) -> bytes:
        """Read as many bytes as the server has announced."""
        self._take(size)
        return super().read(size)

    def readline(self) -> bytes:
        """Read a line."""
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
            f"the mail server {server.host} has no certificate that can be trusted "
            "(tls.ca_file is for an authority of your own)"
        ) from error
    except (OSError, imaplib.IMAP4.error, UnicodeError) as error:
        kind = "refused" if isinstance(error, imaplib.IMAP4.error) else "did not answer"
        raise DeliveryBlocked(
            f"the mail server {server.host} {kind} when bounces were read; check [bounces]"
        ) from error
