"""Reminders, and the hours in which recipients want messages."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Sending
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import expand_outbox
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.health import Health, NotificationHealth
from dashboard.application.health_troubles import health_troubles
from dashboard.application.incident_words import upcoming_words
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.notification import Delay, Notification, NotificationKind, Recipient
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.formatting import short_hash
from dashboard.domain.people.access import Actor
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import (
    QUIET_HOURS,
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientProfile,
)
from dashboard.errors import DeliveryBlocked
from dashboard.store.alerts.recipients import turn_off
from dashboard.store.engine.engine import Store
from dashboard.store.health import mail_state
from tests.alert_watch import Watch
from tests.builders import A_NETWORK, HOUR, MINUTE, a_hash, a_notification, an_address, seconds
from tests.delivery_checks import PATIENT, notifications, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS, RecordingChannel, message_about

OFTEN = Rule("rejections", RuleKind.REJECTED, remind_every=2 * MINUTE)


def test_reminders_of_many_incidents_are_one_message_that_names_each(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap()))
    watch.rules(
        Rule(
            "rejections",
            RuleKind.REJECTED,
            remind_every=10 * MINUTE,
            group_by=(Dimension.SENDER,),
        )
    )
    for number in range(1, 10):
        reject(watch.store, number, sender=an_address(number))
    watch.wait(seconds(1))
    for _ in range(12):
        watch.wait(3 * MINUTE)
    reminders = [each for each in watch.sent() if each.kind is NotificationKind.REMINDER]
    writer = MessageWriter(store, load_templates({}, Links()))
    said = "".join(writer.write(each).text for each in reminders)

    assert len(watch.sent()) <= 12
    assert [number for number in range(1, 10) if short_hash(a_hash(number)) not in said] == []


def test_alertmanager_gets_what_changes_and_no_reminder(
    store: Store, fake_clock: FakeClock
) -> None:
    program, channel = Recipient("am", "am"), RecordingChannel()
    sending = Sending({"mail": channel, "am": channel}, message_about)
    watch = Watch(store, fake_clock, sending=sending, alertmanagers=frozenset({"am"}))
    watch.rules(replace(OFTEN, recipients=(ONCALL, program)))
    reject(watch.store, 1)
    watch.wait()
    watch.wait(2 * MINUTE)
    watch.clock.wait(seconds(1))
    incidents, incident_id = Incidents(watch.context), watch.incident().incident_id

    incidents.acknowledge(incident_id, Actor("Ann", fake_clock.now()))
    watch.wait(seconds(1))
    incidents.resolve(incident_id, Actor("Ann", fake_clock.now()))
    watch.wait()

    def kinds(recipient: Recipient) -> list[str]:
        return [kind.value for to, kind in watch.taken() if to == recipient]

    assert kinds(ONCALL) == ["change", "reminder", "acknowledged", "resolved"]
    assert kinds(program) == ["change", "resolved"]


def test_frequent_reminders_delay_no_new_rejection(store: Store, fake_clock: FakeClock) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap()))
    often = Rule("busy", RuleKind.BUSY, remind_every=2 * MINUTE)
    watch.rules(often, Rule("rejections", RuleKind.REJECTED))
    watch.turn(1, State.CALM, State.BUSY)
    for _ in range(30):
        watch.wait(2 * MINUTE)
    before = len(watch.sent())

    reject(watch.store, 1)
    watch.wait()

    assert len(watch.sent()) == before + 1
    assert watch.sent()[-1].transition.subject.tx_hash == a_hash(1)


def test_reminders_that_cannot_go_do_not_pile_up(store: Store, fake_clock: FakeClock) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap(largest_hourly=4)))
    watch.rules(Rule("busy", RuleKind.BUSY, remind_every=MINUTE))
    watch.turn(1, State.CALM, State.BUSY)
    for _ in range(30):
        watch.wait(MINUTE)

    reminders = [each for each in notifications(store) if each.kind is NotificationKind.REMINDER]
    waiting = [each for each in reminders if not each.sent_at]
    settings = PageSettings(largest_hourly=4, recipients=watch.known)
    context = ApplicationContext(store, (), fake_clock.now, settings=settings)
    [story] = Incidents(context).open()
    words = upcoming_words(story, fake_clock.now())
    assert words == "reminder in 32 min, after the hourly cap"
    reminded = [line for line in watch.story() if line.startswith("reminded")]
    assert len(waiting) <= 1
    assert len(reminded) == len(reminders)


def test_what_the_cap_held_up_says_so_after_a_restart_with_a_larger_cap(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap(largest_hourly=1)))
    watch.rules(Rule("rejections", RuleKind.REJECTED))
    for number in (1, 2):
        reject(watch.store, number)
        watch.wait(MINUTE)
    watch.wait(MINUTE)
    with store.read() as connection:
        health = Health(None, None, NotificationHealth(mail_state(connection)), None)
    waiting = health_troubles(health, fake_clock.now())
    restarted = Watch(store, fake_clock, PATIENT)
    restarted.wait(5 * MINUTE)

    assert [each.headline for each in waiting] == [
        "1 notification waits for the hourly cap, the oldest since 12:02:30 UTC."
    ]
    assert [each.delay for each in restarted.sent()] == [None, Delay.CAP]


def test_nobody_is_reminded_before_the_first_message_was_sent(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock)
    watch.rules(replace(OFTEN, escalate_after=5 * MINUTE, escalate_to=(OTHERS,)))
    watch.channel.errors[ONCALL.address] = DeliveryBlocked("the server is down")
    reject(watch.store, 1)
    reject(watch.store, 2)
    watch.wait()
    for _ in range(9):
        watch.wait(MINUTE)
    assert [to for to, _ in watch.taken()] == [OTHERS]
    watch.channel.errors.clear()
    watch.wait(MINUTE)

    assert [kind.value for to, kind in watch.taken() if to == ONCALL] == ["change"]
    watch.wait(2 * MINUTE)
    assert [kind.value for to, kind in watch.taken() if to == ONCALL] == ["change", "reminder"]


@pytest.mark.parametrize("pierces", [True, False])
def test_escalation_of_a_rule_that_pierces_is_not_delayed_by_the_cap(
    store: Store, fake_clock: FakeClock, *, pierces: bool
) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap(largest_hourly=2)))
    watch.rules(
        Rule("rejections", RuleKind.REJECTED, recipients=(OTHERS,)),
        Rule(
            *("busy", RuleKind.BUSY, Severity.CRITICAL),
            pierces=pierces,
            recipients=(ONCALL,),
            escalate_after=15 * MINUTE,
            escalate_to=(OTHERS,),
        ),
    )
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    watch.wait(14 * MINUTE)
    reject(watch.store, 1)
    watch.wait()
    assert watch.kinds(OTHERS) == ["change"]
    watch.wait(MINUTE)

    assert watch.kinds(OTHERS) == ["change", *(["escalation"] if pierces else [])]


def test_escalation_over_another_channel_waits_for_no_message_that_a_dead_server_keeps_back(
    store: Store, fake_clock: FakeClock
) -> None:
    pager, mail, page = Recipient("pager", "pager"), RecordingChannel(), RecordingChannel()
    mail.errors[ONCALL.address] = DeliveryBlocked("the server is down")
    sending = Sending({"mail": mail, "pager": page}, message_about)
    watch = Watch(store, fake_clock, sending=sending)
    busy = Rule("busy", RuleKind.BUSY, escalate_after=15 * MINUTE, escalate_to=(pager,))
    watch.rules(busy, Rule("rejections", RuleKind.REJECTED, group_by=(Dimension.SENDER,)))
    for number in range(1, 7):
        reject(watch.store, number, sender=an_address(number))
        for _ in range(20):
            watch.wait(MINUTE)
    watch.wait(15 * MINUTE)  # so many failed that no other message is tried for a while
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    watch.wait(14 * MINUTE)
    assert page.taken == []
    watch.wait(MINUTE)

    assert len(page.taken) == 1
    assert watch.kinds(pager) == ["escalation"]


def test_escalation_waits_for_the_first_message_after_no_worker_was_running(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock)
    busy = Rule("busy", RuleKind.BUSY, escalate_after=15 * MINUTE, escalate_to=(OTHERS,))
    watch.rules(busy)
    watch.turn(1, State.CALM, State.BUSY)
    expand_outbox(store, watch.known, fake_clock.now)
    watch.wait(HOUR)
    watch.wait(14 * MINUTE)
    assert [to for to, _ in watch.taken()] == [ONCALL]
    watch.wait(MINUTE)

    assert [to for to, _ in watch.taken()] == [ONCALL, OTHERS]


EVENING = RecipientProfile("Europe/Zurich", (WeekSpan.parse("mon-sun 20:00-21:00"),))
KNOWN = ConfiguredRecipients(
    (ONCALL,), {ONCALL: EVENING, OTHERS: RecipientProfile()}, zones=ZoneInfo
)
RULES = (
    Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL, OTHERS)),
    Rule("busy", RuleKind.BUSY, recipients=(ONCALL, OTHERS), remind_every=3 * HOUR),
)


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    """Return a worker at noon of UTC, for one who gets messages from 20:00 in Zurich on."""
    made = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap()))
    made.notifier = dataclasses.replace(made.notifier, configured=KNOWN)
    made.rules(*RULES)
    return made


def to(watch: Watch, recipient: Recipient) -> list[Notification]:
    return [each for each in watch.sent() if each.recipient == recipient]


def test_all_that_happened_in_quiet_hours_comes_as_one_when_they_end(watch: Watch) -> None:
    reject(watch.store, 1, 2)
    watch.turn(1, State.CALM, State.BUSY)
    for _ in range(6):  # until 18:00 of UTC
        watch.wait(HOUR)
    assert to(watch, ONCALL) == []
    assert len(to(watch, OTHERS)) > 2
    watch.wait(HOUR)

    assert [each.member_count for each in to(watch, ONCALL)] == [3]
    watch.wait()
    kinds = [each.kind.value for each in to(watch, ONCALL)]
    assert kinds == ["change"]  # nobody is reminded of what they were not notified of
    assert {each.held_for for each in to(watch, ONCALL)} == {QUIET_HOURS}


def test_reminder_follows_the_first_message_to_its_recipient_after_a_while(watch: Watch) -> None:
    often = Rule(
        "busy", RuleKind.BUSY, recipients=(ONCALL, OTHERS), remind_every=timedelta(minutes=10)
    )
    watch.rules(often)
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    watch.wait(7 * HOUR - 8 * MINUTE)
    watch.wait(8 * MINUTE)  # the quiet hours are over
    watch.wait(2 * MINUTE)
    soon = [each.kind.value for each in to(watch, ONCALL)]
    watch.wait(10 * MINUTE)

    assert soon == ["change"]
    assert [each.kind.value for each in to(watch, ONCALL)] == ["change", "reminder"]
    assert [each.kind.value for each in to(watch, OTHERS)][-2:] == ["reminder", "reminder"]


def test_escalation_waits_no_longer_for_a_message_to_an_address_that_is_off(watch: Watch) -> None:
    busy = Rule("busy", RuleKind.BUSY, recipients=(ONCALL,))
    watch.rules(replace(busy, escalate_after=2 * HOUR, escalate_to=(OTHERS,)))
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    watch.wait(3 * HOUR)  # it waits for the evening, and the escalation for that
    assert watch.sent() == []
    off = AddressOff(ONCALL, OffCause.UNSUBSCRIBED, watch.clock.now(), "Ann")
    with watch.store.write() as connection:
        assert turn_off(connection, off)
    watch.wait(seconds(1))
    watch.wait(seconds(1))

    assert watch.taken() == [(OTHERS, NotificationKind.ESCALATION)]


def test_times_are_those_of_the_recipient(watch: Watch) -> None:
    templates = load_templates({A_NETWORK: NetworkName("Linea")}, Links())
    writer = MessageWriter(watch.store, templates, KNOWN)

    mine, others = (
        writer.write(replace(a_notification(), recipient=each)).text for each in (ONCALL, OTHERS)
    )

    assert "2026-11-20 12:00:00 UTC (13:00:00 in Europe/Zurich)" in mine
    assert "Zurich" not in others
