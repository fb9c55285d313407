"""A second channel hears that no mail is taken, once, and that mail works again."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from dashboard.alert.channels.alertmanager import alerts_of
from dashboard.alert.deliver import Deliverer
from dashboard.alert.mail_fallback import MailFallback
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.domain.formatting import moment
from dashboard.errors import DeliveryBlocked, DeliveryError, DeliveryRefused
from dashboard.store.engine.engine import Store
from tests.builders import seconds
from tests.delivery_checks import make_pending, take_lease
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, RecordingChannel

AFTER = timedelta(minutes=10)
DOWN = DeliveryBlocked("421 out of\x1b[2J order")


class SecondChannel:
    """Keeps what it gets, unless it is to fail as well."""

    def __init__(self) -> None:
        self.got: list[tuple[Message, MessageHeaders]] = []
        self.error: DeliveryError | None = None

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        assert may_send()
        if self.error is not None:
            raise self.error
        self.got.append((message, headers))
        return "200 OK"

    def types(self) -> list[object]:
        """Return what the messages are."""
        return [message.payload["type"] for message, _ in self.got]


@dataclass
class Scene:
    """Mail that a server takes or not, and a second channel."""

    store: Store
    deliverer: Deliverer
    channel: RecordingChannel
    clock: FakeClock
    second: SecondChannel = field(default_factory=SecondChannel)

    def fallback(self) -> MailFallback:
        """Start what watches mail, as a restart does."""
        return MailFallback(self.store, "mail", "pager", self.second, AFTER, self.clock.now)

    def deliver(self) -> None:
        """Deliver what is due, after a minute."""
        self.clock.wait(seconds(60))
        self.deliverer.deliver_due(take_lease(self.store))

    def fail_for(self, duration: timedelta) -> None:
        """Let no mail be taken for so long."""
        self.channel.errors[ONCALL.address] = DOWN
        end = self.clock.now() + duration
        while self.clock.now() < end:
            self.deliverer.deliver_due(take_lease(self.store))
            self.clock.wait(seconds(60))


@pytest.fixture
def scene(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> Scene:
    make_pending(store, 3)
    return Scene(store, deliverer, channel, fake_clock)


def test_outage_is_reported_once_and_its_end_also_by_another_process(scene: Scene) -> None:
    fallback = scene.fallback()
    scene.fail_for(AFTER - seconds(60))
    fallback.work(always)
    early = scene.second.types()
    scene.fail_for(seconds(120))
    for _ in range(3):
        fallback.work(always)
    meanwhile = scene.second.types()
    scene.channel.errors.clear()
    scene.deliver()
    accepted_at = scene.clock.now()
    scene.clock.wait(seconds(300))  # until another process takes over
    for _ in range(3):
        scene.fallback().work(always)

    assert (early, meanwhile) == ([], ["mail.failing"])
    assert scene.second.types() == ["mail.failing", "mail.working"]
    [(message, headers), (last, _)] = scene.second.got
    assert f"A mail was accepted at {moment(accepted_at)}, the first since" in last.text
    assert message.subject == "Mail has failed since 2026-11-20 12:00:00 UTC"
    assert "2 mails are pending" in message.text
    assert r"421 out of\u001b[2J order" in message.text
    assert headers.to == "pager"
    now = scene.clock.now()
    opened, over = (alerts_of(message.payload, now)[0] for message, _ in scene.second.got)
    assert opened.labels == over.labels
    assert (opened.ends_at > now, over.ends_at <= now) == (True, True)


@pytest.mark.parametrize("ends_before", [True, False])
def test_report_that_fails_is_repeated_unless_the_outage_is_over(
    scene: Scene, *, ends_before: bool
) -> None:
    scene.fail_for(AFTER + seconds(60))
    scene.second.error = DeliveryBlocked("so is this one")
    fallback = scene.fallback()
    with pytest.raises(DeliveryBlocked):
        fallback.work(always)
    scene.second.error = None
    if ends_before:
        scene.channel.errors.clear()
        scene.deliver()

    fallback.work(always)
    scene.fallback().work(always)

    assert scene.second.types() == ([] if ends_before else ["mail.failing"])


def test_worker_without_its_lease_reports_nothing(scene: Scene) -> None:
    scene.fail_for(AFTER + seconds(60))

    scene.fallback().work(lambda: False)

    assert scene.second.types() == []


def test_mail_that_is_refused_for_good_is_no_outage(scene: Scene) -> None:
    scene.channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")
    scene.deliver()
    scene.clock.wait(timedelta(days=1))

    scene.fallback().work(always)

    assert scene.second.types() == []
