"""A mail server that notes in which life of the worker each message was handed over."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.message import EmailMessage
from typing import Final, cast

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
        """Begin with the first life."""
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
