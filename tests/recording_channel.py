"""Messages, envelopes and channels for tests of delivery."""

from __future__ import annotations

import threading
from uuid import UUID

from dashboard.alert.deliver import Sending
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.domain.alerts.notification import Notification, Recipient
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.errors import DeliveryError, DeliveryWithheld
from tests.builders import A_MOMENT
from tests.waiting import PATIENCE

SENDER = "linewatch@example.org"
ONCALL = Recipient("mail", "oncall@example.org")
OTHERS = Recipient("mail", "others@example.org")
ONCALL_ALONE = ConfiguredRecipients((ONCALL,))
MESSAGE = Message("[Linewatch] Rejected", "It was rejected.\n", "<p>It was rejected.</p>\n")


def some_headers(number: int = 1, to: str = ONCALL.address) -> MessageHeaders:
    """Return the headers of the notification with this number."""
    return MessageHeaders(f"<{UUID(int=number)}@linewatch.invalid>", to, A_MOMENT)


def message_about(notification: Notification) -> Message:
    """Write a message that names its notification."""
    return Message(f"[Linewatch] {notification.notification_id}", MESSAGE.text, MESSAGE.html)


class RecordingChannel:
    """Takes every message and remembers its headers, but for those that it was told to fail.

    `errors` names them by address or Message-ID. Sends to `held` addresses wait until `let_go` is
    set.
    """

    def __init__(self, *held: str) -> None:
        self.taken: list[MessageHeaders] = []
        self.tried: list[MessageHeaders] = []
        self.errors: dict[str, DeliveryError] = {}
        self.let_go = threading.Event()
        self._held = held
        self._lock = threading.Lock()

    @property
    def sending(self) -> Sending:
        """Messages that name their notification, over this channel."""
        return Sending({"mail": self}, message_about)

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Take, refuse or hold a message; like a server, it needs a moment before it takes one."""
        assert message.subject
        with self._lock:
            self.tried.append(headers)
        if headers.to in self._held:
            assert self.let_go.wait(PATIENCE), "nobody let the message go"
        if error := self.errors.get(headers.to) or self.errors.get(headers.message_id):
            raise error
        if not may_send():
            raise DeliveryWithheld("the lease is over")
        with self._lock:
            self.taken.append(headers)
        return "250 taken"

    def addresses(self) -> list[str]:
        """Return who got a message, in order."""
        return [headers.to for headers in self.taken]
