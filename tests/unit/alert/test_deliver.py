"""Delivery from a real store over channels that do as they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from dashboard.alert.deliver import Deliverer, DeliveryPolicy, expand_outbox
from dashboard.alert.outcome import Result
from dashboard.alert.post import PostOffice
from dashboard.alert.retry import RetryRule
from dashboard.domain.condition import State
from dashboard.domain.notice import NoticeState, Recipient
from dashboard.errors import DeliveryDeferred, DeliveryRefused, StoreUnavailable
from dashboard.store.connection import Connection
from dashboard.store.engine import Store
from tests.builders import a_transition
from tests.letters import ONCALL, OTHERS, RecordingChannel, a_letter_of
from tests.owing import LEASE, notices, owe, reject, states, take_office
from tests.timepiece import Timepiece


class MoodyStore(Store):
    """The same store, which refuses one write when it is told to."""

    def __init__(self, store: Store) -> None:
        """Work as the store does."""
        self._store = store
        self._writes_until_failure: int | None = None

    def fail_after(self, writes: int) -> None:
        """Let so many writes pass, then refuse one."""
        self._writes_until_failure = writes

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Refuse before anything is written, or write."""
        if self._writes_until_failure == 0:
            self._writes_until_failure = None
            raise StoreUnavailable("the disk is full")
        if self._writes_until_failure is not None:
            self._writes_until_failure -= 1
        with self._store.write() as connection:
            yield connection


PATIENT = DeliveryPolicy(patience=timedelta(seconds=30))
HASTY = DeliveryPolicy(patience=timedelta(milliseconds=50))
DEFERRED = DeliveryDeferred("451 try again later")


@pytest.fixture
def channel() -> RecordingChannel:
    return RecordingChannel()


@pytest.fixture
def deliverer(store: Store, channel: RecordingChannel, timepiece: Timepiece) -> Deliverer:
    return Deliverer(store, {"mail": channel}, a_letter_of, timepiece.now, PATIENT)


def test_notice_is_sent_and_marked(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store)

    results = deliverer.deliver_due(take_office(store))

    [notice] = notices(store)
    assert results == Counter({Result.SENT: 1})
    assert (notice.state, notice.outcome, notice.attempts) == (NoticeState.SENT, "250 taken", 1)
    assert [envelope.message_id for envelope in channel.taken] == [notice.message_id]


def test_letter_is_dated_when_the_notice_was_made(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    token = take_office(store)
    timepiece.wait(LEASE / 2)

    deliverer.deliver_due(token)

    assert [each.date for each in channel.taken] == [each.created_at for each in notices(store)]


def test_sent_notice_is_not_sent_again(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store)
    token = take_office(store)

    for _ in range(2):
        deliverer.deliver_due(token)

    assert len(channel.taken) == 1


def test_many_notices_arrive_once_each(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store, 300, [ONCALL, OTHERS])

    deliverer.deliver_due(take_office(store))

    assert states(store) == {NoticeState.SENT: 600}
    assert len({envelope.message_id for envelope in channel.taken}) == 600


def test_deferred_notice_stays_owed_and_is_tried_later(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    token = take_office(store)
    channel.errors[ONCALL.address] = DEFERRED
    deliverer.deliver_due(token)
    channel.errors.clear()

    too_early = deliverer.deliver_due(token)
    timepiece.wait(RetryRule().first_wait)
    later = deliverer.deliver_due(token)

    assert (too_early, later) == (Counter(), Counter({Result.SENT: 1}))


def test_deferred_notice_says_why(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store)
    channel.errors[ONCALL.address] = DEFERRED

    deliverer.deliver_due(take_office(store))

    [notice] = notices(store)
    assert (notice.state, notice.outcome) == (NoticeState.OWED, "451 try again later")


def test_refused_notice_becomes_a_dead_letter(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store)
    channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")

    results = deliverer.deliver_due(take_office(store))

    [notice] = notices(store)
    assert results == Counter({Result.REFUSED: 1})
    assert (notice.state, notice.outcome) == (NoticeState.DEAD, "550 no such user")


def test_notice_deferred_for_seven_days_becomes_a_dead_letter(
    store: Store, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    channel.errors[ONCALL.address] = DEFERRED
    rule = RetryRule(longest_wait=timedelta(hours=12))
    deliverer = Deliverer(
        store, {"mail": channel}, a_letter_of, timepiece.now, DeliveryPolicy(retry=rule)
    )

    while states(store)[NoticeState.OWED]:
        deliverer.deliver_due(take_office(store))
        timepiece.wait(timedelta(hours=12))

    assert timepiece.now() - notices(store)[0].created_at >= timedelta(days=7)


def test_one_refused_recipient_costs_the_others_nothing(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store, 3, [ONCALL, OTHERS])
    channel.errors[ONCALL.address] = DeliveryRefused("550 no such user")

    deliverer.deliver_due(take_office(store))

    assert states(store) == {NoticeState.DEAD: 3, NoticeState.SENT: 3}


def test_silent_recipient_does_not_hold_up_the_others(store: Store, timepiece: Timepiece) -> None:
    owe(store, 5, [ONCALL, OTHERS])
    channel = RecordingChannel(ONCALL.address)
    deliverer = Deliverer(store, {"mail": channel}, a_letter_of, timepiece.now, HASTY)

    deliverer.deliver_due(take_office(store))

    assert channel.addresses() == [OTHERS.address] * 5
    channel.let_go.set()


def test_slow_letter_is_marked_when_it_arrives(store: Store, timepiece: Timepiece) -> None:
    owe(store)
    channel = RecordingChannel(ONCALL.address)
    deliverer = Deliverer(store, {"mail": channel}, a_letter_of, timepiece.now, HASTY)
    deliverer.deliver_due(take_office(store))

    channel.let_go.set()
    results = deliverer.finish(timedelta(seconds=30))

    assert results == Counter({Result.SENT: 1})


def test_silent_recipient_is_tried_once_for_all_that_waits_for_it(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store, 5)
    channel.errors[ONCALL.address] = DeliveryDeferred("did not answer within 20 s")

    results = deliverer.deliver_due(take_office(store))

    assert len(channel.tried) == 1
    assert results == Counter({Result.DEFERRED: 5})


def test_finishing_starts_nothing_more(
    store: Store, deliverer: Deliverer, channel: RecordingChannel
) -> None:
    owe(store)

    assert deliverer.finish(timedelta(seconds=1)) == Counter()
    assert channel.tried == []


def test_worker_without_a_living_lease_sends_nothing(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    token = take_office(store)
    timepiece.wait(LEASE)

    deliverer.deliver_due(token)

    assert channel.tried == []


def test_next_worker_sends_what_the_last_one_claimed(
    store: Store, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    silent = RecordingChannel(ONCALL.address)
    lost = Deliverer(store, {"mail": silent}, a_letter_of, timepiece.now, HASTY)
    lost.deliver_due(take_office(store))
    timepiece.wait(LEASE)

    successor = Deliverer(store, {"mail": channel}, a_letter_of, timepiece.now, PATIENT)
    successor.deliver_due(take_office(store, "worker 2"))

    assert states(store) == {NoticeState.SENT: 1}
    assert channel.taken == silent.tried
    silent.let_go.set()


def test_letter_that_is_under_way_in_a_new_term_is_not_sent_twice(
    store: Store, timepiece: Timepiece
) -> None:
    owe(store)
    channel = RecordingChannel(ONCALL.address)
    deliverer = Deliverer(store, {"mail": channel}, a_letter_of, timepiece.now, HASTY)
    deliverer.deliver_due(take_office(store))
    timepiece.wait(LEASE)
    deliverer.deliver_due(take_office(store, "worker 2"))

    channel.let_go.set()
    deliverer.finish(timedelta(seconds=30))

    assert len(channel.tried) == 1
    assert states(store) == {NoticeState.SENT: 1}


def test_outcome_that_could_not_be_stored_is_stored_later_and_not_sent_again(
    store: Store, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    token = take_office(store)
    moody = MoodyStore(store)
    deliverer = Deliverer(moody, {"mail": channel}, a_letter_of, timepiece.now, PATIENT)
    moody.fail_after(writes=1)

    with pytest.raises(StoreUnavailable):
        deliverer.deliver_due(token)
    deliverer.deliver_due(token)

    assert len(channel.tried) == 1
    assert states(store) == {NoticeState.SENT: 1}


def test_notice_of_a_channel_that_is_gone_stays_owed(store: Store, deliverer: Deliverer) -> None:
    owe(store, recipients=[Recipient("pigeon", "roof")])

    deliverer.deliver_due(take_office(store))

    [notice] = notices(store)
    assert (notice.state, notice.outcome) == (
        NoticeState.OWED,
        "no channel pigeon is configured; see [mail]",
    )


def test_clock_set_back_does_not_strand_a_deferred_notice(
    store: Store, deliverer: Deliverer, channel: RecordingChannel, timepiece: Timepiece
) -> None:
    owe(store)
    token = take_office(store)
    channel.errors[ONCALL.address] = DEFERRED
    deliverer.deliver_due(token)
    channel.errors.clear()

    timepiece.set_clock(timedelta(days=-7))

    assert deliverer.deliver_due(token) == Counter({Result.SENT: 1})


def test_outbox_owes_one_notice_to_each_recipient(store: Store, timepiece: Timepiece) -> None:
    reject(store)

    assert expand_outbox(store, [ONCALL, OTHERS], timepiece.now) == 2
    assert expand_outbox(store, [ONCALL, OTHERS], timepiece.now) == 0


def test_outbox_tells_nobody_of_a_transaction_that_is_not_reported(
    store: Store, timepiece: Timepiece
) -> None:
    reject(store, transition=a_transition(after=State.UNREPORTED))

    assert expand_outbox(store, [ONCALL], timepiece.now) == 0


def test_post_office_owes_and_delivers_in_one_round(
    store: Store, deliverer: Deliverer, timepiece: Timepiece
) -> None:
    reject(store)
    office = PostOffice(store, [ONCALL], deliverer, timepiece.now)

    assert office.run(take_office(store)) == Counter({Result.SENT: 1})
    assert office.finish(timedelta(seconds=1)) == Counter()
