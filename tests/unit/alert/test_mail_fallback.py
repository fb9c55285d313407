"""A second channel hears that no mail is taken, once, and that mail works again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.alert.channels.alertmanager import alerts_of
from dashboard.alert.deliver import Deliverer
from dashboard.alert.mail_fallback import MailFallback
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.errors import DeliveryBlocked, DeliveryError, DeliveryRefused
from dashboard.store.engine.engine import Store
from tests.builders import seconds
from tests.delivery_checks import make_pending, take_worker_lease
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, RecordingChannel

AFTER = timedelta(minutes=10)
DOWN = DeliveryBlocked("421 out of\x1b[2J order")


class SecondChannel:
    """Keeps what it gets, unless it is to fail as well."""

    def __init__(self) -> None:
        """Have nothing yet."""
        self.got: list[tuple[Message, MessageHeaders]] = []
        self.error: DeliveryError | None = None

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Take a message."""
        assert may_send()
        if self.error is not None:
            raise self.error
        self.got.append((message, headers))
        return "200 OK"

    def types(self) -> list[object]:
        """Return what the messages are."""
        return [message.payload["type"] for message, _ in self.got]


@pytest.fixture
def second() -> SecondChannel:
    return SecondChannel()


def fallback_to(second: SecondChannel, store: Store, clock: FakeClock) -> MailFallback:
    return MailFallback(store, "mail", "pager", second, AFTER, clock.now)


def fail_for(
    duration: timedelta,
    deliverer: Deliverer,
    channel: RecordingChannel,
    clock: FakeClock,
    store: Store,
) -> None:
    channel.errors[ONCALL.address] = DOWN
    end = clock.now() + duration
    while clock.now() < end:
        deliverer.deliver_due(take_worker_lease(store))
        clock.wait(seconds(60))


def test_outage_is_reported_once_with_what_is_pending_and_the_answer(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    second: SecondChannel,
) -> None:
    make_pending(store, 3)
    fallback = fallback_to(second, store, fake_clock)

    fail_for(AFTER - seconds(60), deliverer, channel, fake_clock, store)
    fallback.work(always)
    early = second.types()
    fail_for(seconds(120), deliverer, channel, fake_clock, store)
    for _ in range(3):
        fallback.work(always)

    assert (early, second.types()) == ([], ["mail.failing"])
    [(message, headers)] = second.got
    assert message.subject == "Mail fails since 2026-11-20 12:00:00 UTC"
    assert "2 mails are pending" in message.text
    assert r"421 out of\u001b[2J order" in message.text
    assert headers.to == "pager"


def test_end_is_reported_also_by_another_process(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    second: SecondChannel,
) -> None:
    make_pending(store)
    fail_for(AFTER + seconds(60), deliverer, channel, fake_clock, store)
    fallback_to(second, store, fake_clock).work(always)
    channel.errors.clear()
    fake_clock.wait(seconds(60))
    deliverer.deliver_due(take_worker_lease(store))

    for _ in range(3):
        fallback_to(second, store, fake_clock).work(always)

    assert second.types() == ["mail.failing", "mail.working"]
    opened, over = (alerts_of(message.payload, fake_clock.now())[0] for message, _ in second.got)
    assert opened.labels == over.labels
    assert (opened.ends_at > fake_clock.now(), over.ends_at <= fake_clock.now()) == (True, True)


def test_outage_that_ended_before_it_could_be_reported_is_not_reported_any_more(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    second: SecondChannel,
) -> None:
    make_pending(store)
    fail_for(AFTER + seconds(60), deliverer, channel, fake_clock, store)
    second.error = DeliveryBlocked("so is this one")
    fallback = fallback_to(second, store, fake_clock)
    with pytest.raises(DeliveryBlocked):
        fallback.work(always)
    channel.errors.clear()
    second.error = None
    fake_clock.wait(seconds(60))
    deliverer.deliver_due(take_worker_lease(store))

    fallback.work(always)

    assert second.types() == []


def test_report_that_fails_is_repeated_under_the_same_id(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    second: SecondChannel,
) -> None:
    make_pending(store)
    fail_for(AFTER + seconds(60), deliverer, channel, fake_clock, store)
    other = SecondChannel()
    second.error = DeliveryBlocked("so is this one")
    fallback = fallback_to(second, store, fake_clock)
    with pytest.raises(DeliveryBlocked):
        fallback.work(always)
    second.error = None

    fallback.work(always)
    fallback_to(other, store, fake_clock).work(always)

    assert second.types() == ["mail.failing"]
    assert other.types() == []


def test_worker_without_its_lease_reports_nothing(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    second: SecondChannel,
) -> None:
    make_pending(store)
    fail_for(AFTER + seconds(60), deliverer, channel, fake_clock, store)

    fallback_to(second, store, fake_clock).work(lambda: False)

    assert second.types() == []


def test_mail_that_is_refused_for_good_is_no_outage(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    second: SecondChannel,
) -> None:
    make_pending(store)
    channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")
    deliverer.deliver_due(take_worker_lease(store))
    fake_clock.wait(timedelta(days=1))

    fallback_to(second, store, fake_clock).work(always)

    assert second.types() == []
