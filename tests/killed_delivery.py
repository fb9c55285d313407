"""A worker that delivers one round into a Maildir and kills itself at the point it is told.

Run as `python -m tests.killed_delivery STORE_URL MAILDIR POINT`, where POINT is one of POINTS.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.message import Channel, MaySend, Message, MessageHeaders, always
from dashboard.alert.notify import Notifier
from dashboard.store.engine.engine import open_store
from dashboard.wiring.clock import elapsed
from tests.delivery_checks import take_lease
from tests.dying_store import DyingStore, die
from tests.recording_channel import ONCALL_ALONE, SENDER, message_about
from tests.waiting import PATIENCE

_STEPS: Final = ("notify", "claim", "mark")
"""What is committed: that there is a notification, who sends it, that it is sent."""

POINTS: Final = (
    *(f"{when} commit of {step}" for step in _STEPS for when in ("before", "after")),
    "before send",
    "after send",
)

PATIENT: Final = DeliveryPolicy(patience=timedelta(seconds=PATIENCE))
"""A round waits until its mail is sent, however slow the machine is."""


class DyingChannel:
    """A channel around which the process dies."""

    def __init__(self, channel: Channel, point: str) -> None:
        """Wait for the point."""
        self._channel = channel
        self._point = point

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Send, unless the end comes first."""
        if self._point == "before send":
            die()
        answer = self._channel.send(message, headers, may_send)
        if self._point == "after send":
            die()
        return answer


def main(url: str, maildir: str, point: str) -> None:
    """Take notifier and do one round of delivery."""
    assert point in POINTS
    with open_store(url) as store:
        token = take_lease(store, "dying worker")
        channel = DyingChannel(MaildirChannel(Path(maildir), SENDER), point)
        when, _, step = point.partition(" commit of ")
        dying = DyingStore(store, _STEPS.index(step) + 1 if step else 0, when)
        sending = Sending({"mail": channel}, message_about)
        deliverer = Deliverer(dying, sending, utc_now, elapsed, PATIENT)
        Notifier(dying, ONCALL_ALONE, deliverer, utc_now).run(token, always)


def utc_now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


if __name__ == "__main__":
    main(*sys.argv[1:])
