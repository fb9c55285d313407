"""Letters, envelopes and channels for tests of delivery."""

from __future__ import annotations

import threading
from uuid import UUID

from dashboard.alert.delivery_result import Sending
from dashboard.alert.message import Envelope, Letter, MaySend, always
from dashboard.domain.notification import Notification, Recipient
from dashboard.errors import DeliveryError, DeliveryWithheld
from tests.builders import A_MOMENT

SENDER = "linewatch@example.org"
ONCALL = Recipient("mail", "oncall@example.org")
OTHERS = Recipient("mail", "others@example.org")
LETTER = Letter("[Linewatch] Rejected", "It was rejected.\n", "<p>It was rejected.</p>\n")


def an_envelope(number: int = 1, to: str = ONCALL.address) -> Envelope:
    """Return the envelope of the notification with this number."""
    return Envelope(f"<{UUID(int=number)}@linewatch.invalid>", to, A_MOMENT)


def a_letter_of(notification: Notification) -> Letter:
    """Write a letter that names its notification."""
    return Letter(f"[Linewatch] {notification.notification_id}", LETTER.text, LETTER.html)


class RecordingChannel:
    """Takes every letter and remembers its envelope, but for those that it was told to fail.

    `errors` names them by address or Message-ID. Sends to `held` addresses wait until `let_go` is
    set.
    """

    def __init__(self, *held: str) -> None:
        """Remember nothing yet."""
        self.taken: list[Envelope] = []
        self.tried: list[Envelope] = []
        self.errors: dict[str, DeliveryError] = {}
        self.let_go = threading.Event()
        self._held = held
        self._lock = threading.Lock()

    @property
    def sending(self) -> Sending:
        """Letters that name their notification, over this channel."""
        return Sending({"mail": self}, a_letter_of)

    def send(self, letter: Letter, envelope: Envelope, may_send: MaySend = always) -> str:
        """Take, refuse or hold a letter; like a server, it needs a moment before it takes one."""
        assert letter.subject
        with self._lock:
            self.tried.append(envelope)
        if envelope.to in self._held:
            assert self.let_go.wait(30), "nobody let the letter go"
        if error := self.errors.get(envelope.to) or self.errors.get(envelope.message_id):
            raise error
        if not may_send():
            raise DeliveryWithheld("the lease is over")
        with self._lock:
            self.taken.append(envelope)
        return "250 taken"

    def addresses(self) -> list[str]:
        """Return who got a letter, in order."""
        return [envelope.to for envelope in self.taken]
