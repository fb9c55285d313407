"""Mail servers for tests: a real one (aiosmtpd) that can be told to refuse, and rude ones."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from tests.canaries import canaries_in, canary
from tests.received_mail import read_mail

USERNAME = "linewatch"
PASSWORD = canary("password of the mail server")


class Inbox:
    """Takes mails; `refusals` holds what it answers to a command instead of agreeing."""

    def __init__(self, **refusals: str) -> None:
        """Be empty; `Inbox(RCPT="550 no such user")` refuses every recipient.

        The server never answers for a recipient of `holes`, and `takes` so many seconds for each
        mail.
        """
        self.mails: list[EmailMessage] = []
        self.contents: list[bytes] = []
        self.logins: list[str] = []
        self.were_encrypted: list[bool] = []
        self.greetings: list[str | None] = []
        self.arrived_at: list[float] = []
        self.holes: set[str] = set()
        self.takes: float = 0.0
        self.unreadable: list[Exception] = []
        self._refusals = refusals

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's name
        self,
        _server: SMTP,
        _session: Session,
        envelope: Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        """Accept or refuse a sender."""
        envelope.mail_from = address
        return self._refusals.get("MAIL", "250 OK")

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self,
        _server: SMTP,
        _session: Session,
        envelope: Envelope,
        address: str,
        _options: list[str],
    ) -> str:
        """Accept or refuse a recipient."""
        if address in self.holes:
            await asyncio.Event().wait()
        envelope.rcpt_tos.append(address)
        return self._refusals.get("RCPT", "250 OK")

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """Keep a mail, or refuse it after its final dot."""
        await asyncio.sleep(self.takes)
        if "DATA" in self._refusals:
            return self._refusals["DATA"]
        mail = self.read(cast("bytes", envelope.content))
        self.keep(mail, session, envelope)
        return "250 OK queued as 4711"

    def read(self, content: bytes) -> EmailMessage:
        """Read a mail strictly; one that is not as it should be fails the test in the end."""
        try:
            assert canaries_in(content) == []
            return read_mail(content)
        except Exception as error:
            self.unreadable.append(error)
            raise

    def keep(self, mail: EmailMessage, session: Session, envelope: Envelope) -> None:
        """Keep a mail that was taken."""
        self.mails.append(mail)
        self.contents.append(cast("bytes", envelope.content))
        self.were_encrypted.append(session.ssl is not None)
        self.greetings.append(session.host_name)
        self.arrived_at.append(time.monotonic())

    def protocol(self, loop: asyncio.AbstractEventLoop, **options: Any) -> asyncio.BaseProtocol:  # noqa: ANN401 - aiosmtpd's own
        """Return who converses with the next client."""
        return SMTP(self, hostname="localhost", loop=loop, **options)

    def authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, secret: object
    ) -> AuthResult:
        """Let the one user in."""
        assert isinstance(secret, LoginPassword)
        self.logins.append(secret.login.decode())
        is_known = (secret.login, secret.password) == (USERNAME.encode(), PASSWORD.encode())
        return AuthResult(success=is_known, handled=False)


@contextmanager
def mail_server(
    inbox: Inbox,
    implicit_tls: ssl.SSLContext | None = None,
    **options: Any,  # noqa: ANN401 - aiosmtpd's own
) -> Iterator[int]:
    """Run a real SMTP server on 127.0.0.1 and yield its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def start() -> asyncio.Server:
        return await loop.create_server(
            lambda: inbox.protocol(loop, **options),
            "127.0.0.1",
            0,
            ssl=implicit_tls,
        )

    async def stop(server: asyncio.Server) -> None:
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result(30)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(stop(server), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
    assert not inbox.unreadable, inbox.unreadable


Rudeness = Callable[[socket.socket, threading.Event], None]
"""Deals with one connection; the event says that the test is over."""


@contextmanager
def rude_server(behave: Rudeness, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Listen on 127.0.0.1, treat every connection as told, and yield the port."""
    over = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    if tls is not None:
        listener = tls.wrap_socket(listener, server_side=True)
    threads: list[threading.Thread] = []

    def serve(line: socket.socket) -> None:
        with line, contextlib.suppress(OSError):
            behave(line, over)

    def listen() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                line, _ = listener.accept()
                threads.append(threading.Thread(target=serve, args=(line,)))
                threads[-1].start()

    threads.append(threading.Thread(target=listen))
    threads[0].start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in threads:
            thread.join()


def be_silent(_line: socket.socket, over: threading.Event) -> None:
    """Accept, and say nothing for ever."""
    over.wait()


def announce_a_terabyte(line: socket.socket, _over: threading.Event) -> None:
    """Speak IMAP, have one unread mail, and announce that it has a terabyte."""
    line.sendall(b"* OK ready\r\n")
    answers = {
        b"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
        b"SELECT": b"* 1 EXISTS\r\n",
        b"SEARCH": b"* SEARCH 7\r\n",
        b"FETCH": b"* 1 FETCH (UID 7 BODY[]<0> {1000000000000}\r\nx",
    }
    with line.makefile("rb") as lines:
        for each in lines:
            tag, *words = each.split()
            said = next((answers[word] for word in words if word in answers), b"")
            line.sendall(said if b"FETCH" in words else said + tag + b" OK done\r\n")


def drip(line: socket.socket, over: threading.Event) -> None:
    """Greet at a byte at a time, without end."""
    while not over.wait(0.02):
        line.sendall(b"2")


def answer_without_end(line: socket.socket, _over: threading.Event) -> None:
    """Greet, and answer EHLO with line after line for ever."""
    line.sendall(b"220 localhost\r\n")
    while True:
        line.sendall(b"250-another thing\r\n" * 1000)


def greet_without_end(line: socket.socket, _over: threading.Event) -> None:
    """Greet in one line for ever."""
    while True:
        line.sendall(b"2" * 64_000)


def drip_handshake(line: socket.socket, over: threading.Event) -> None:
    """Begin a TLS record of 16 kB and never finish it."""
    line.sendall(b"\x16\x03\x03\x40\x00")
    while not over.wait(0.02):
        line.sendall(b"\0")


def hang_up_after_the_final_dot(line: socket.socket, _over: threading.Event) -> None:
    """Take a whole message, and close instead of answering."""
    _converse(line, b"354 go on")


def cut_the_last_answer(line: socket.socket, _over: threading.Event) -> None:
    """Take a whole message, and close in the middle of the answer."""
    _converse(line, b"354 go on")
    line.sendall(b"250")


def be_silent_at_quit(line: socket.socket, over: threading.Event) -> None:
    """Take a whole message, and never answer QUIT nor hang up."""
    line.sendall(b"220 localhost\r\n")
    with line.makefile("rb") as lines:
        for command in map(bytes.upper, lines):
            if command.startswith(b"DATA"):
                line.sendall(b"354 go on\r\n")
            elif command.startswith((b"EHLO", b"MAIL", b"RCPT", b".\r\n")):
                line.sendall(b"250 OK\r\n")
            elif command.startswith(b"QUIT"):
                over.wait()


def answer_the_handshake(answer: bytes, *, is_asked: bool) -> Rudeness:
    """Return who answers a TLS handshake with these bytes, after STARTTLS where `is_asked`."""

    def behave(line: socket.socket, _over: threading.Event) -> None:
        if is_asked:
            line.sendall(b"220 localhost\r\n")
            line.recv(1000)
            line.sendall(b"250-localhost\r\n250 STARTTLS\r\n")
            line.recv(1000)
            line.sendall(b"220 go on\r\n")
        line.recv(16_384)
        line.sendall(answer)

    return behave


def refuse_to_listen(line: socket.socket, _over: threading.Event) -> None:
    """Agree to everything until the message comes."""
    _converse(line, b"554 no valid recipients")


def _converse(line: socket.socket, answer_to_data: bytes) -> None:
    line.sendall(b"220 localhost\r\n")
    with line.makefile("rb") as lines:
        for command in map(bytes.upper, lines):
            if command == b".\r\n":
                return
            if command.startswith(b"DATA"):
                line.sendall(answer_to_data + b"\r\n")
            elif command.startswith((b"EHLO", b"MAIL", b"RCPT")):
                line.sendall(b"250 OK\r\n")


def speak_http(line: socket.socket, over: threading.Event) -> None:
    """Be another kind of server."""
    line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    over.wait()
