"""A message says what is true when it is sent, however late that is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.message import Message
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import INSTALLATION, Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Notification
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.quantity import Wei
from dashboard.errors import DeliveryError
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notifications import all_members
from dashboard.store.engine.engine import Store
from tests.alert_watch import Watch
from tests.builders import A_NETWORK, GWEI, MINUTE, a_transition, an_address, an_id, seconds
from tests.delivery_checks import PATIENT, notifications, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL

ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(52 * GWEI), Wei(30 * GWEI))
BELOW = FeeGrounds(Signal.BASE_FEE, Wei(20 * GWEI), Wei(30 * GWEI))


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    watch = Watch(store, fake_clock, replace(PATIENT, cap=HourlyCap(largest_hourly=2)))
    watch.rules(
        Rule("busy", RuleKind.BUSY),
        Rule("silent", RuleKind.UPSTREAM_SILENT),
        Rule("rejections", RuleKind.REJECTED),
    )
    return watch


def turn(watch: Watch, number: int, *, is_busy: bool) -> None:
    """Let the network be busy from now on, or be calm again for half a minute by now."""
    before, after = (State.CALM, State.BUSY) if is_busy else (State.BUSY, State.CALM)
    subject, at = Subject(SubjectKind.BUSYNESS, A_NETWORK), watch.clock.now()
    turned = a_transition(
        *(100 + number,),
        subject=subject,
        before=None if is_busy else before,
        after=after,
        at=at,
        since=at if is_busy else at - seconds(30),
        grounds=ABOVE if is_busy else BELOW,
    )
    with watch.store.write() as connection:
        assert record_transition(connection, turned, None)


def written(watch: Watch, notification: Notification) -> Message:
    templates = load_templates({A_NETWORK: NetworkName("Linea")}, Links())
    return MessageWriter(watch.store, templates).write(notification)


def test_mail_that_comes_after_a_busy_spell_says_from_when_to_when_it_was_busy(
    watch: Watch,
) -> None:
    turn(watch, 1, is_busy=True)
    watch.wait()
    [mail] = watch.sent()
    watch.clock.wait(5 * MINUTE)
    turn(watch, 2, is_busy=False)

    message = written(watch, mail)

    assert message.subject == (
        "Linea was busy from 12:00:00 to 12:04:30 UTC: 52 gwei, threshold 30"
    )
    assert "is busy" not in message.text
    assert "another message says" not in message.text
    assert "Suggested fees" not in message.text


def test_calm_notice_answers_the_busy_mail_although_rejections_wait(watch: Watch) -> None:
    turn(watch, 1, is_busy=True)
    watch.wait()
    reject(watch.store, 1, sender=an_address(1))
    watch.wait(seconds(1))
    for number in range(2, 5):
        reject(watch.store, number, sender=an_address(number))
    turn(watch, 2, is_busy=False)
    watch.wait(seconds(1))
    for _ in range(70):
        watch.wait(2 * MINUTE)

    [busy, _, *others] = watch.sent()
    [calm] = [each for each in others if each.transition.after is State.CALM]
    assert (calm.in_reply_to, calm.member_count) == (busy.message_id, 1)
    assert written(watch, calm).subject == "Linea is calm again: 20 gwei, threshold 30"


def test_opening_and_end_that_come_as_one_are_both_named_in_the_subject(watch: Watch) -> None:
    watch.channel.errors.clear()
    reject(watch.store, 1)
    reject(watch.store, 2, sender=an_address(2))
    watch.wait()
    reject(watch.store, 3, sender=an_address(3))
    watch.wait(MINUTE)
    turn(watch, 1, is_busy=True)
    watch.wait(MINUTE)
    turn(watch, 2, is_busy=False)
    watch.wait(seconds(1))

    [late] = [each for each in notifications(watch.store) if each.transition.after is State.BUSY]
    assert written(watch, replace(late, member_count=2)).subject == (
        "Linea was busy from 12:01:00 to 12:01:30 UTC: 52 gwei, threshold 30 · calm · Linea"
    )


@pytest.mark.parametrize("after", [State.BUSY, State.CALM])
def test_unknown_state_that_is_over_is_told_as_past(watch: Watch, after: State) -> None:
    turn(watch, 1, is_busy=True)
    watch.wait()
    watch.clock.wait(5 * MINUTE)
    subject, at = Subject(SubjectKind.BUSYNESS, A_NETWORK), watch.clock.now()
    unknown = a_transition(
        102, subject=subject, before=State.BUSY, after=State.UNKNOWN, at=at, since=at
    )
    with watch.store.write() as connection:
        assert record_transition(connection, unknown, None)
    watch.wait()
    mail = watch.sent()[-1]
    assert "unknown since 12:05 UTC" in written(watch, mail).subject
    watch.clock.wait(MINUTE)
    known = replace(
        unknown, transition_id=an_id(103), before=State.UNKNOWN, after=after, since=at + MINUTE
    )
    with watch.store.write() as connection:
        assert record_transition(connection, replace(known, at=at + MINUTE, grounds=ABOVE), None)

    message = written(watch, mail)

    assert message.subject == "Linea: busyness unknown from 12:05:00 to 12:06:00 UTC"
    assert "unknown since" not in message.text


def test_time_without_a_worker_is_one_mail_that_says_from_when_to_when(watch: Watch) -> None:
    subject = Subject(SubjectKind.WORKER, INSTALLATION, rule="worker")
    begun, over = watch.clock.now(), watch.clock.now() + 2 * MINUTE
    watch.rules(Rule("worker", RuleKind.WORKER_SILENT))
    gap = GapGrounds(begun, over, GapCause.NOT_WATCHED)
    opened = a_transition(301, subject=subject, before=None, after=State.SILENT, since=begun)
    ended = a_transition(
        302, subject=subject, before=State.SILENT, after=State.ANSWERING, since=over
    )
    watch.clock.wait(3 * MINUTE)
    now = watch.clock.now()
    with watch.store.write() as connection:
        assert record_transition(connection, replace(opened, at=now, grounds=gap), None)
        assert record_transition(connection, replace(ended, at=now), None)

    watch.wait()

    [mail] = watch.sent()
    message = written(watch, mail)
    assert message.subject == "No worker was running from 12:00:00 to 12:02:00 UTC"
    assert "2 min" in message.text
    assert watch.incident().state is IncidentState.RESOLVED


def test_summary_after_an_outage_overtakes_no_opening(store: Store, fake_clock: FakeClock) -> None:
    """A summary has the place of its first change, which may be of another incident."""
    watch = Watch(store, fake_clock)
    watch.rules(Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL,)))
    modules = ("ADD", "ADD", "MUL", "HUB", "EXP", "MUL")
    for number, module in enumerate(modules):
        if number:
            watch.channel.errors[ONCALL.address] = DeliveryError("450 4.2.0 try again later")
        reason = f"Transaction line count for module {module}=9 is above the limit 8"
        reject(watch.store, number, reason_message=reason)
        watch.wait(seconds(1))
    for _ in range(6):
        watch.wait(60 * MINUTE)
    watch.channel.errors.clear()
    for _ in range(3):
        watch.wait(60 * MINUTE)

    named = [
        member.transition.transition_id
        for each in watch.messages()
        for member in all_members(watch.store, each.notification_id)
    ]
    assert sorted(named) == [an_id(number) for number in range(6)]
    assert named.index(an_id(2)) < named.index(an_id(5))


def test_summary_names_the_end_of_the_window_and_who_took_what_it_reports(watch: Watch) -> None:
    rejections = Matcher(MatchedProperty.RULE, "rejections")
    watch.silence(SilenceKind.MAINTENANCE, 60 * MINUTE, rejections)
    reject(watch.store, 1)
    watch.wait()
    Incidents(watch.context).acknowledge(watch.incident().incident_id, watch.person("Ada"))
    reject(watch.store, 2, reason_message="out of luck")
    watch.wait(MINUTE)
    watch.clock.wait(60 * MINUTE)
    turn(watch, 1, is_busy=True)
    watch.wait()

    [summary] = watch.sent()
    message = written(watch, summary)

    assert message.text.startswith("Held until 2026-11-20 13:00:00 UTC: maintenance window")
    for text in (message.text, message.html):
        assert "Linea: 1 rejected, ADD over limit (RPC): acknowledged by Ada" in text
    assert message.subject.endswith("2 rejections, busy · Linea")


def test_what_was_held_goes_when_its_time_comes_although_the_clock_was_behind_at_first(
    store: Store, fake_clock: FakeClock
) -> None:
    hours = ActiveHours((WeekSpan.parse("mon-sun 14:00-20:00"),))  # it is noon
    Watch(store, fake_clock).begin(Rule("busy", RuleKind.BUSY, active_hours=hours))
    fake_clock.set_clock(-timedelta(hours=10))
    watch = Watch(store, fake_clock)  # a machine starts with a clock that is behind
    watch.wait(MINUTE)
    fake_clock.set_clock(timedelta(hours=11))
    watch.wait(MINUTE)
    assert watch.sent() == []

    fake_clock.set_clock(timedelta(hours=1))
    watch.wait(MINUTE)

    assert len(watch.sent()) == 1
