"""Reminders and escalations: whom they reach, when, and that they delay nothing new."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dashboard.alert.compose import Links
from dashboard.alert.deliver import Sending
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.rejection_text import shorten_hash
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.pace import Pace
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.people.access import Actor
from dashboard.errors import DeliveryBlocked
from dashboard.store.engine.engine import Store
from tests.alert_watch import Watch
from tests.builders import a_hash, an_address, seconds
from tests.delivery_checks import PATIENT, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS, RecordingChannel, message_about

MINUTE = timedelta(minutes=1)
OFTEN = Rule("rejections", RuleKind.REJECTED, remind_every=2 * MINUTE)


def test_reminders_of_many_incidents_are_one_message_that_names_each(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, pace=Pace()))
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
    for _ in range(40):
        watch.wait(MINUTE)
    reminders = [each for each in watch.sent() if each.kind is NotificationKind.REMINDER]
    writer = MessageWriter(store, load_templates({}, Links()))
    said = "".join(writer.write(each).text for each in reminders)

    assert len(watch.sent()) <= 12
    assert [number for number in range(1, 10) if shorten_hash(a_hash(number)) not in said] == []


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
    watch = Watch(store, fake_clock, replace(PATIENT, pace=Pace()))
    often = Rule("busy", RuleKind.BUSY, remind_every=2 * MINUTE)
    watch.rules(often, Rule("rejections", RuleKind.REJECTED))
    watch.turn(1, State.CALM, State.BUSY)
    for _ in range(60):
        watch.wait(MINUTE)
    before = len(watch.sent())

    reject(watch.store, 1)
    watch.wait()

    assert len(watch.sent()) == before + 1
    assert watch.sent()[-1].transition.subject.tx_hash == a_hash(1)


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
