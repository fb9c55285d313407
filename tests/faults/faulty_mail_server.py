"""Mail servers that count what they take, and that fail in every way."""

from __future__ import annotations

import asyncio
import re
import ssl
import threading
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from enum import StrEnum
from random import Random
from typing import Any, Final, Self, cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.faults.hosted_apis import nothing
from tests.mail_server import Inbox

_HASH: Final = re.compile(rb"0x[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class TakenMail:
    """A message that the server took, and the life of the worker that handed it over."""

    message_id: str
    to: str
    life: int
    hashes: frozenset[str] = frozenset()
    """The transactions that it names, in its text or its table."""
    at: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)


def hashes_in(mail: EmailMessage) -> frozenset[str]:
    """Return the transactions that a mail names, in its text or its table."""
    parts = [part for part in mail.walk() if part.get_content_maintype() == "text"]
    found = (_HASH.findall(cast("bytes", part.get_payload(decode=True))) for part in parts)
    return frozenset(each.decode() for some in found for each in some)


def taken_mails(mail: EmailMessage, recipients: Sequence[str], life: int) -> list[TakenMail]:
    """Return what to note of a mail that was handed over in a life of the worker."""
    message_id, hashes = cast("str", mail["Message-ID"]), hashes_in(mail)
    return [TakenMail(message_id, to, life, hashes) for to in recipients]


class CountingMailServer(Inbox):
    """Takes every message.

    `reached` is told when a worker names a sender, when its message is taken but not yet
    acknowledged, and when it has read the acknowledgement and leaves.
    """

    def __init__(self) -> None:
        super().__init__()
        self.life = 0
        self.taken: list[TakenMail] = []
        self.arrival = threading.Event()
        self.reached: Callable[[str], None] = nothing
        self._lives: dict[int, int] = {}

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's name
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        address: str,
        options: list[str],
    ) -> str:
        """Note whose message comes: it is alive, or the message does not come."""
        self._lives[id(session)] = self.life
        self.reached("sender")
        return await super().handle_MAIL(server, session, envelope, address, options)

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """Take a message; whether its sender ever learns so is another matter."""
        answer = await super().handle_DATA(server, session, envelope)
        self.arrival.set()
        self.reached("message")
        return answer

    def keep(self, mail: EmailMessage, session: Session, envelope: Envelope) -> None:
        """Note a mail, and forget its content."""
        self.taken += taken_mails(mail, envelope.rcpt_tos, self._lives[id(session)])

    async def handle_QUIT(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, _envelope: Envelope
    ) -> str:
        """See the sender leave, who has read that its message was taken."""
        self.reached("goodbye")
        return "221 Bye"


_DRIP: Final = 1.0
"""Seconds from one byte to the next."""


class Stage(StrEnum):
    """When a fault happens: instead of the answer to a command, or to the message after its dot."""

    GREETING = "greeting"
    EHLO = "EHLO"
    STARTTLS = "STARTTLS"
    HANDSHAKE = "handshake"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    MESSAGE = "message"


class Behaviour(StrEnum):
    """What a server does then."""

    REFUSE = "refuse"
    BE_SILENT = "be silent"
    DRIP = "drip"
    HANG_UP = "hang up"
    TALK_NONSENSE = "talk nonsense"
    SHOW_ANOTHER_CERTIFICATE = "show another certificate"


@dataclass(frozen=True, slots=True)
class MailFault:
    """One way to fail, at any of some stages; `answer` is what a refusal says."""

    behaviour: Behaviour
    stages: tuple[Stage, ...]
    answer: str = ""

    @property
    def takes_the_message(self) -> bool:
        """Whether the message is taken, which its sender cannot know."""
        return self.stages == (Stage.MESSAGE,) and self.behaviour is not Behaviour.REFUSE

    def at_one_stage(self, chance: Random) -> Self:
        """Return it at one of its stages."""
        return replace(self, stages=(chance.choice(self.stages),))


_LATER: Final = "451 4.3.0 try again later"
_NOT_FROM_YOU: Final = "554 5.7.1 not from you"
_ANSWERS: Final = (
    *(Stage.GREETING, Stage.EHLO, Stage.STARTTLS),
    *(Stage.MAIL, Stage.RCPT, Stage.DATA),
)
"""The stages before the message at which a server answers a line."""

FAULTS: Final = (
    MailFault(Behaviour.REFUSE, _ANSWERS, _LATER),
    MailFault(Behaviour.REFUSE, (Stage.MESSAGE,), _LATER),
    MailFault(Behaviour.REFUSE, _ANSWERS, _NOT_FROM_YOU),
    MailFault(Behaviour.REFUSE, (Stage.MESSAGE,), _NOT_FROM_YOU),
    MailFault(Behaviour.BE_SILENT, (*_ANSWERS, Stage.HANDSHAKE)),
    MailFault(Behaviour.BE_SILENT, (Stage.MESSAGE,)),
    MailFault(Behaviour.DRIP, _ANSWERS),
    MailFault(Behaviour.DRIP, (Stage.MESSAGE,)),
    MailFault(Behaviour.HANG_UP, (*_ANSWERS, Stage.HANDSHAKE)),
    MailFault(Behaviour.HANG_UP, (Stage.MESSAGE,)),
    MailFault(Behaviour.SHOW_ANOTHER_CERTIFICATE, (Stage.HANDSHAKE,)),
    MailFault(Behaviour.TALK_NONSENSE, (*_ANSWERS, Stage.HANDSHAKE)),
)

_COMMANDS: Final = {
    b"EHLO": (Stage.EHLO, "250-localhost\r\n250 STARTTLS"),
    b"HELO": (Stage.EHLO, "250 localhost"),
    b"STAR": (Stage.STARTTLS, "220 go on"),
    b"MAIL": (Stage.MAIL, "250 OK"),
    b"RCPT": (Stage.RCPT, "250 OK"),
    b"DATA": (Stage.DATA, "354 go on"),
}


class FaultyMailServer(CountingMailServer):
    """Fails each connection as the next of `faults` says, and takes every message after the last.

    `happened` are those that came to their stage. `unanswered` was taken by connections that
    failed afterwards.
    """

    def __init__(self, trusted: ssl.SSLContext, other: ssl.SSLContext) -> None:
        """Fail nothing yet; clients do not trust the `other` certificate."""
        super().__init__()
        self.faults: deque[MailFault] = deque()
        self.happened: list[MailFault] = []
        self.unanswered: list[TakenMail] = []
        self.trusted, self.other = trusted, other

    def protocol(self, loop: asyncio.AbstractEventLoop, **options: Any) -> asyncio.BaseProtocol:  # noqa: ANN401 - aiosmtpd's own
        """Fail the next client, or take its message."""
        if not self.faults:
            return super().protocol(loop, **options)
        fault = self.faults.popleft()

        async def converse(reader: StreamReader, writer: StreamWriter) -> None:
            with suppress(OSError, asyncio.IncompleteReadError):
                await _Conversation(self, fault, reader, writer).hold()
            writer.close()

        return StreamReaderProtocol(StreamReader(loop=loop), converse, loop=loop)


@dataclass(frozen=True, slots=True)
class _Conversation:
    """One connection that fails at a stage."""

    server: FaultyMailServer
    fault: MailFault
    reader: StreamReader
    writer: StreamWriter

    async def hold(self) -> None:
        """Do what the client says until the fault has happened or it leaves."""
        goes_on = await self._answers(Stage.GREETING, "220 localhost")
        while goes_on and (command := _COMMANDS.get((await self.reader.readline())[:4].upper())):
            stage, answer = command
            goes_on = await self._answers(stage, answer)
            if goes_on and stage is Stage.STARTTLS:
                goes_on = await self._shakes_hands()
            elif goes_on and stage is Stage.DATA:
                goes_on = await self._takes_message()

    async def _answers(self, stage: Stage, answer: str) -> bool:
        """Answer a line, or fail; return whether to go on."""
        if stage in self.fault.stages:
            return await self._fails()
        self.writer.write(f"{answer}\r\n".encode())
        await self.writer.drain()
        return True

    async def _shakes_hands(self) -> bool:
        if Stage.HANDSHAKE not in self.fault.stages:
            await self.writer.start_tls(self.server.trusted)
            return True
        return await self._fails()

    async def _takes_message(self) -> bool:
        """Read the message up to its dot, and fail; unless it is refused it counts as taken."""
        lines = []
        while (line := await self.reader.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        mail = self.server.read(b"".join(lines))
        if self.fault.takes_the_message:
            self.server.unanswered += taken_mails(mail, [str(mail["To"])], self.server.life)
        return await self._fails()

    async def _fails(self) -> bool:
        """Let the fault happen; nothing comes after it."""
        self.server.happened.append(self.fault)
        match self.fault.behaviour:
            case Behaviour.HANG_UP:
                pass
            case Behaviour.REFUSE:
                self.writer.write(f"{self.fault.answer}\r\n".encode())
            case Behaviour.TALK_NONSENSE:
                self.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            case Behaviour.SHOW_ANOTHER_CERTIFICATE:
                await self.writer.start_tls(self.server.other)
            case Behaviour.BE_SILENT:
                await self.reader.read()
            case Behaviour.DRIP:
                await self._drip()
        return False

    async def _drip(self) -> None:
        while True:
            self.writer.write(b"2")
            await self.writer.drain()
            await asyncio.sleep(_DRIP)
