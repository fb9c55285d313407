"""A mail server that notes in which life of the worker each message was handed over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.faults.hosted_apis import nothing
from tests.mail_server import Inbox


@dataclass(frozen=True, slots=True)
class TakenMail:
    """A message that the server took, and the life of the worker that handed it over."""

    message_id: str
    to: str
    life: int


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
        message_id = cast("str", self.mails.pop()["Message-ID"])
        life = self._lives[id(session)]
        self.taken += [TakenMail(message_id, to, life) for to in envelope.rcpt_tos]
        self.arrival.set()
        self.reached("message")
        return answer

    async def handle_QUIT(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, _envelope: Envelope
    ) -> str:
        """See the sender leave, who has read that its message was taken."""
        self.reached("goodbye")
        return "221 Bye"
