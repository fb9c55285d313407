"""What people do about incidents is notified, and reminders of many are one message."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from dashboard.alert.compose import Links
from dashboard.alert.message_writer import MessageWriter
from dashboard.alert.rejection_text import shorten_hash
from dashboard.alert.template_loader import load_templates
from dashboard.domain.active_hours import ActiveHours, WeekSpan
from dashboard.domain.audit import Actor
from dashboard.domain.condition import State, Subject, SubjectKind
from dashboard.domain.grounds import InclusionGrounds
from dashboard.domain.notification import NotificationKind
from dashboard.domain.notification_pace import Pace
from dashboard.domain.rule import DEFAULT_RULES, Dimension, Rule, RuleKind
from dashboard.show.queries.incidents import IncidentQueries
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from tests.alert_watch import Watch
from tests.builders import (
    A_NETWORK,
    a_hash,
    a_transition,
    an_address,
    seconds,
)
from tests.delivery_checks import PATIENT, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS

HOUR = timedelta(hours=1)
BUSY = Rule(
    "busy", RuleKind.BUSY, remind_every=HOUR, escalate_after=2 * HOUR, escalate_to=(OTHERS,)
)


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    return Watch(store, fake_clock)


def test_what_a_person_does_reaches_all_others_in_the_thread(watch: Watch) -> None:
    watch.rules(
        replace(
            BUSY,
            recipients=(ONCALL, OTHERS),
            remind_every=None,
            escalate_after=None,
            escalate_to=(),
        )
    )
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait()
    incident_id = watch.incident().incident_id
    ask = IncidentQueries(watch.context)
    ask.acknowledge(incident_id, Actor(OTHERS.address, watch.clock.now()), "looking")
    ask.acknowledge(incident_id, Actor("Bob", watch.clock.now()))
    watch.wait(seconds(1))
    ask.hand_over(incident_id, "Bob", Actor(ONCALL.address, watch.clock.now()))
    watch.wait(seconds(1))
    ask.unacknowledge(incident_id, Actor("Bob", watch.clock.now()))
    watch.wait(seconds(1))
    ask.resolve(incident_id, Actor("Bob", watch.clock.now()))
    watch.wait()

    found = {
        to: [kind.value for each, kind in watch.taken() if each == to] for to in (ONCALL, OTHERS)
    }
    assert found == {
        ONCALL: ["change", "acknowledged", "unacknowledged", "resolved"],
        OTHERS: ["change", "handed over", "unacknowledged", "resolved"],
    }
    opening = {each.recipient: each.message_id for each in watch.sent() if not each.in_reply_to}
    assert all(each.in_reply_to in {"", opening[each.recipient]} for each in watch.sent())


def test_what_a_person_does_in_quiet_hours_wakes_nobody(watch: Watch) -> None:
    morning = ActiveHours((WeekSpan.parse("mon-sun 11:00-13:00"),))
    watch.rules(
        replace(BUSY, active_hours=morning, remind_every=None, escalate_after=None, escalate_to=())
    )
    watch.turn(1, State.CALM, State.BUSY)
    watch.wait(seconds(1))
    watch.clock.wait(3 * HOUR)
    ask = IncidentQueries(watch.context)
    ask.acknowledge(watch.incident().incident_id, Actor("Bob", watch.clock.now()))
    watch.wait(HOUR)
    assert [kind.value for _, kind in watch.taken()] == ["change"]
    watch.wait(20 * HOUR)

    assert [kind.value for _, kind in watch.taken()] == ["change", "acknowledged"]
    assert watch.sent()[1].held_for == "quiet hours of the rule busy"


def test_reminders_of_many_incidents_are_one_message_that_names_each(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock, replace(PATIENT, pace=Pace()))
    watch.rules(
        Rule(
            "rejections",
            RuleKind.REJECTED,
            remind_every=timedelta(minutes=10),
            group_by=(Dimension.SENDER,),
        )
    )
    for number in range(1, 10):
        reject(watch.store, number, sender=an_address(number))
        watch.wait(seconds(1))
    for _ in range(4):
        watch.wait(timedelta(minutes=10))
    reminders = [each for each in watch.sent() if each.kind is NotificationKind.REMINDER]
    writer = MessageWriter(store, load_templates({}, Links()))
    said = "".join(writer.write(each).text for each in reminders)

    assert len(watch.sent()) <= 12
    assert [number for number in range(1, 10) if shorten_hash(a_hash(number)) not in said] == []


def test_what_becomes_of_a_transaction_answers_the_message_about_its_rejection(
    watch: Watch,
) -> None:
    watch.rules(*DEFAULT_RULES)
    reject(watch.store, 1)
    watch.wait()
    reject(watch.store, 2)
    reject(watch.store, 3)
    watch.wait(timedelta(minutes=1))
    include(watch.store, 2, watch.clock.now())
    watch.wait(timedelta(minutes=1))

    first, gathered, included = watch.channel.taken
    assert gathered.in_reply_to == first.message_id
    assert included.in_reply_to == gathered.message_id
    assert included.thread == f"{first.message_id} {gathered.message_id}"


def include(store: Store, number: int, at: datetime) -> None:
    """Let the transaction with this number be found in a block."""
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, a_hash(number))
    found = a_transition(
        900 + number,
        subject=subject,
        after=State.INCLUDED,
        at=at,
        grounds=InclusionGrounds(7, is_successful=True),
    )
    with store.write() as connection:
        assert record_transition(connection, found, None)
