"""What becomes of a notification: sent, deferred or refused, whatever happens meanwhile."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from datetime import timedelta

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.delivery_queue import QueueLimits
from dashboard.alert.message import Message, always
from dashboard.alert.notify import Notifier, expand_outbox
from dashboard.alert.retries import RetryRule
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.recipients import Recipients
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.notification import (
    DeliveryResult,
    Notification,
    NotificationState,
    Recipient,
)
from dashboard.domain.people.access import Actor
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.errors import (
    DeliveryBlocked,
    DeliveryDeferred,
    DeliveryError,
    DeliveryRefused,
    DeliveryWithheld,
    StoreUnavailable,
)
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import renew
from tests.builders import A_MOMENT, a_transition, an_id
from tests.delivery_checks import (
    HASTY,
    LEASE,
    PATIENT,
    make_pending,
    notifications,
    reject,
    states,
    take_lease,
)
from tests.fake_clock import FakeClock
from tests.flaky_store import FlakyStore
from tests.recording_channel import ONCALL, ONCALL_ALONE, OTHERS, RecordingChannel
from tests.routes import alone
from tests.waiting import PATIENCE, eventually

DEFERRED = DeliveryDeferred("451 try again later")
SILENT = DeliveryBlocked("did not answer within 20 s")
PENDING, SENT, DEAD = (
    NotificationState.PENDING,
    NotificationState.SENT,
    NotificationState.DEAD,
)

MakeDeliverer = Callable[..., Deliverer]


@pytest.fixture
def over(store: Store, fake_clock: FakeClock) -> MakeDeliverer:
    """Return what makes deliverers over a channel."""

    def make(
        channel: RecordingChannel, policy: DeliveryPolicy = PATIENT, of: Store = store
    ) -> Deliverer:
        return Deliverer(of, channel.sending, fake_clock.now, fake_clock.elapsed, policy)

    return make


def test_notification_is_sent_marked_and_dated_when_its_members_were_fixed(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    token = take_lease(store)
    fake_clock.wait(LEASE / 2)

    results = deliverer.deliver_due(token)

    [sent] = notifications(store)
    assert results == Counter({DeliveryResult.SENT: 1})
    assert (sent.state, sent.outcome, sent.attempts) == (SENT, "250 taken", 1)
    assert [(each.message_id, each.date) for each in channel.taken] == [
        (sent.message_id, sent.closed_at)
    ]


@pytest.mark.parametrize(("trouble", "days"), [(DEFERRED, 0), (DEFERRED, 7), (SILENT, -7)])
def test_deferred_notification_is_tried_later_however_the_clock_was_set_meanwhile(
    store: Store,
    deliverer: Deliverer,
    channel: RecordingChannel,
    fake_clock: FakeClock,
    trouble: DeliveryError,
    days: int,
) -> None:
    make_pending(store)
    token = take_lease(store)
    fake_clock.set_clock(timedelta(days=days))
    channel.errors[ONCALL.address] = trouble
    deliverer.deliver_due(token)
    channel.errors.clear()
    fake_clock.set_clock(-timedelta(days=days))

    too_early = deliverer.deliver_due(token)
    [waiting] = notifications(store)
    fake_clock.wait(RetryRule().first_wait)

    assert too_early == Counter()
    assert (waiting.state, waiting.outcome) == (PENDING, str(trouble))
    assert deliverer.deliver_due(token) == Counter({DeliveryResult.SENT: 1})


def test_refused_notification_is_dead_and_costs_other_recipients_nothing(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 3, [ONCALL, OTHERS])
    channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")

    results = deliverer.deliver_due(take_lease(store))

    assert results == Counter({DeliveryResult.REFUSED: 3, DeliveryResult.SENT: 3})
    found = Counter((each.recipient, each.state, each.outcome) for each in notifications(store))
    assert found == {(ONCALL, DEAD, "550 no such user"): 3, (OTHERS, SENT, "250 taken"): 3}


def test_notifier_expands_once_and_delivers_in_one_round(
    store: Store, deliverer: Deliverer, fake_clock: FakeClock
) -> None:
    reject(store)
    both = ConfiguredRecipients((ONCALL, OTHERS))
    notifier = Notifier(store, both, deliverer, fake_clock.now)

    with pytest.raises(DeliveryWithheld):
        notifier.run(take_lease(store) + 1, always)
    assert states(store) == {}, "a worker without the lease wrote something"
    assert notifier.run(take_lease(store), always), "what was new may have been only a part"
    assert states(store) == {SENT: 2}
    assert expand_outbox(store, both, fake_clock.now) == 0
    assert not notifier.run(take_lease(store), always)
    assert notifier.finish(timedelta(seconds=1)) == Counter()


def test_threads_end_with_their_deliverer(store: Store, over: MakeDeliverer) -> None:
    make_pending(store)
    before = set(threading.enumerate())
    deliverer = over(RecordingChannel())
    assert deliverer.deliver_due(take_lease(store))[DeliveryResult.SENT] == 1
    begun = set(threading.enumerate()) - before
    assert begun

    del deliverer

    eventually(lambda: not any(each.is_alive() for each in begun), what="the end of the threads")


def test_silent_recipient_does_not_hold_up_the_others(store: Store, over: MakeDeliverer) -> None:
    make_pending(store, 5, [ONCALL, OTHERS])
    channel = RecordingChannel(ONCALL.address)

    over(channel, HASTY).deliver_due(take_lease(store))

    assert channel.addresses() == [OTHERS.address] * 5
    channel.let_go.set()


def test_only_a_test_message_that_is_taken_ends_what_a_server_asked_for(
    store: Store, channel: RecordingChannel, deliverer: Deliverer
) -> None:
    make_pending(store, 2)
    token = take_lease(store)
    channel.errors[ONCALL.address] = DeliveryBlocked("429", retry_after=timedelta(hours=1))
    deliverer.deliver_due(token)
    channel.errors.clear()
    settings = PageSettings(recipients=ONCALL_ALONE)
    people = Recipients(ApplicationContext(store, (), lambda: A_MOMENT, settings=settings))

    def refuse() -> str:
        raise DEFERRED

    people.try_out(ONCALL, refuse, Actor("Ann", A_MOMENT))
    deliverer.deliver_due(token)
    assert len(channel.tried) == 1

    people.try_out(ONCALL, lambda: "250 ok", Actor("Ann", A_MOMENT))
    deliverer.deliver_due(token)
    assert states(store) == {SENT: 2}


@pytest.mark.parametrize(
    ("errors", "state"), [({}, SENT), ({ONCALL.address: SILENT}, PENDING)], ids=["sent", "silent"]
)
def test_outcome_that_could_not_be_stored_is_stored_later_and_nothing_is_tried_again(
    store: Store,
    channel: RecordingChannel,
    over: MakeDeliverer,
    errors: dict[str, DeliveryError],
    state: NotificationState,
) -> None:
    make_pending(store, 2 if errors else 1)
    token = take_lease(store)
    channel.errors = errors
    flaky_store = FlakyStore(store)
    deliverer = over(channel, of=flaky_store)
    flaky_store.fail_after(writes=1)

    with pytest.raises(StoreUnavailable):
        deliverer.deliver_due(token)
    deliverer.deliver_due(token)

    assert len(channel.tried) == 1
    assert {(each.state, each.claimed_by) for each in notifications(store)} == {(state, None)}


def test_failure_is_logged_with_its_notification_recipient_and_inert_words(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 1, [ONCALL, OTHERS])
    channel.errors[ONCALL.address] = DeliveryRefused("550 no \x1b[31msuch user")
    channel.errors[OTHERS.address] = DEFERRED

    with capture_logs() as lines:
        deliverer.deliver_due(take_lease(store))

    ids = {each.recipient: str(each.notification_id) for each in notifications(store)}
    said = {
        ("error", "is dead", ONCALL): "550 no \\u001b[31msuch user",
        ("warning", "was deferred", OTHERS): "451 try again later",
    }
    assert sorted(lines, key=lambda line: line["log_level"]) == [
        {
            "log_level": level,
            "subject": "delivery",
            "event": f"a notification {event}",
            "notification": ids[recipient],
            "recipient": recipient.address,
            "answer": answer,
        }
        for (level, event, recipient), answer in said.items()
    ]


def test_nothing_is_sent_once_the_deliverer_finishes_or_without_a_living_lease(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    make_pending(store)
    token = take_lease(store)
    assert deliverer.finish(timedelta(seconds=1)) == Counter()
    fake_clock.wait(LEASE)

    deliverer.deliver_due(token)

    assert channel.tried == []


def test_next_worker_sends_what_the_last_one_claimed(
    store: Store, channel: RecordingChannel, fake_clock: FakeClock, over: MakeDeliverer
) -> None:
    make_pending(store)
    silent = RecordingChannel(ONCALL.address)
    lost = over(silent, HASTY)
    lost.deliver_due(take_lease(store))
    fake_clock.wait(LEASE)

    over(channel).deliver_due(take_lease(store, "worker 2"))

    assert states(store) == {SENT: 1}
    assert channel.taken == silent.tried
    silent.let_go.set()


def test_message_that_is_under_way_in_a_new_term_is_not_sent_twice(
    store: Store, fake_clock: FakeClock, over: MakeDeliverer
) -> None:
    make_pending(store)
    channel = RecordingChannel(ONCALL.address)
    deliverer = over(channel, HASTY)
    deliverer.deliver_due(take_lease(store))
    fake_clock.wait(LEASE)
    deliverer.deliver_due(take_lease(store, "worker 2"))

    channel.let_go.set()
    deliverer.finish(timedelta(seconds=PATIENCE))

    assert len(channel.tried) == 1
    assert states(store) == {SENT: 1}


def test_worker_that_lost_its_lease_sends_nothing_of_what_it_claimed(
    store: Store, over: MakeDeliverer
) -> None:
    make_pending(store, 5, [ONCALL, OTHERS])
    channel = RecordingChannel(ONCALL.address)
    deliverer, lost = over(channel, HASTY), threading.Event()
    deliverer.deliver_due(take_lease(store), lambda: not lost.is_set())
    sent = len(channel.taken)

    lost.set()
    channel.let_go.set()
    deliverer.finish(timedelta(seconds=PATIENCE))
    deliverer.deliver_due(0, lambda: not lost.is_set())

    assert len(channel.taken) == sent
    assert [each.attempts for each in notifications(store) if each.recipient == ONCALL] == [0] * 5


def test_what_was_claimed_before_a_term_lapsed_is_sent_once_the_term_is_renewed(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store, 6)
    token = take_lease(store)

    deliverer.deliver_due(token, may_send=lambda: not channel.taken)  # lapses after the first
    assert states(store) == {SENT: 1, PENDING: 5}
    deliverer.deliver_due(token)  # the same worker, under the same token

    assert states(store) == {SENT: 6}
    assert len({headers.message_id for headers in channel.taken}) == len(channel.taken) == 6


def test_attempt_that_is_withheld_is_made_once_the_term_is_renewed(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    make_pending(store)
    token = take_lease(store)
    answers = iter([True, True, False])  # lapses while the message is handed over
    deliverer.deliver_due(token, may_send=lambda: next(answers, False))
    assert channel.tried
    assert not channel.taken

    deliverer.deliver_due(token)

    assert states(store) == {SENT: 1}


def test_what_has_no_channel_or_cannot_be_written_stays_pending(
    store: Store, fake_clock: FakeClock, channel: RecordingChannel
) -> None:
    make_pending(store, recipients=[Recipient("pigeon", "roof"), ONCALL])

    def stumble(notification: Notification) -> Message:
        raise KeyError(notification.notification_id)

    sending = Sending({"mail": channel}, stumble)
    deliverer = Deliverer(store, sending, fake_clock.now, fake_clock.elapsed, PATIENT)
    deliverer.deliver_due(take_lease(store))

    assert {each.recipient.channel: each.outcome for each in notifications(store)} == {
        "pigeon": "no channel pigeon is configured; see [channels]",
        "mail": "an unexpected error; see the log",
    }
    assert states(store) == {PENDING: 2}


def test_memory_holds_no_more_notifications_than_allowed(store: Store, over: MakeDeliverer) -> None:
    make_pending(store, 5)
    channel = RecordingChannel(ONCALL.address)

    over(channel, replace(HASTY, limits=QueueLimits(per_recipient=2))).deliver_due(
        take_lease(store)
    )

    assert [each.claimed_by is None for each in notifications(store)].count(False) == 2
    channel.let_go.set()


def test_messages_of_a_recovered_address_go_at_once_in_the_order_of_events(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, fake_clock: FakeClock
) -> None:
    for number in range(1, 4):
        again = a_transition(number, transition_id=an_id(100 + number), before=State.REJECTED)
        reject(store, number)
        reject(store, number, transition=again, nonce=6)
        expand_outbox(store, ONCALL_ALONE, fake_clock.now, alone)
    token = take_lease(store)
    channel.errors[ONCALL.address] = SILENT
    for _ in range(5):
        deliverer.deliver_due(token)
        fake_clock.wait(LEASE / 2)
        with store.write() as connection:
            renew(connection, "worker", token, LEASE)
    channel.errors.clear()
    fake_clock.wait(RetryRule().longest_pause)

    deliverer.deliver_due(take_lease(store))

    places = {each.message_id: place for place, each in enumerate(channel.taken)}
    assert states(store).keys() == {SENT}
    assert sum(each.member_count for each in notifications(store)) == 6
    for changed in (each for each in channel.taken if each.in_reply_to):
        assert places[changed.in_reply_to] < places[changed.message_id]
