"""What one rule holds goes by the route of another that notifies of it sooner, and only once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from dashboard.alert.deliver import DeliveryPolicy
from dashboard.application.incident_words import reach_words
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import Notification
from dashboard.domain.alerts.rule import Rule, RuleScope, Severity
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.errors import DeliveryDeferred
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notifications import with_incidents
from dashboard.store.engine.engine import Store
from dashboard.store.schema import notification_members, notifications
from tests.alert_watch import PLAIN, Watch
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, HOUR, MINUTE, a_transition, seconds
from tests.delivery_checks import PATIENT, reject
from tests.fake_clock import FakeClock
from tests.faults.alerting_lives import AlertingLives
from tests.recording_channel import ONCALL, OTHERS

EVENING = ActiveHours((WeekSpan.parse("mon-sun 18:00-20:00"),))  # it is noon
USUAL = replace(PLAIN, name="usual")
HELD = replace(USUAL, active_hours=EVENING)
LATER = Rule("later", RuleKind.BUSY, Severity.CRITICAL, pierces=True, pending=10 * MINUTE)
OF_USUAL = Matcher(MatchedProperty.RULE, "usual")


@pytest.mark.parametrize("by", ["quiet hours", "maintenance"])
def test_what_another_rule_holds_goes_when_a_rule_that_pierces_fires(watch: Watch, by: str) -> None:
    if by == "maintenance":
        watch.silence(SilenceKind.MAINTENANCE, 6 * HOUR, OF_USUAL)
    watch.begin(HELD if by == "quiet hours" else USUAL, LATER)
    assert watch.sent() == []
    watch.wait(10 * MINUTE)

    [message] = watch.sent()
    assert _rule_of(watch.store, message) == "later"
    assert (message.held_for, message.held_by) == ("", "")
    watch.wait(7 * HOUR)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait()
    assert watch.kinds() == ["change", "change"]
    [_, end] = watch.channel.taken
    assert end.in_reply_to == message.message_id


def test_what_quiet_hours_hold_goes_when_a_silence_of_another_rule_ends(watch: Watch) -> None:
    watch.silence(SilenceKind.SILENCE, HOUR, Matcher(MatchedProperty.RULE, "other"))
    watch.begin(HELD, replace(USUAL, name="other"))
    watch.wait(HOUR)

    assert watch.kinds() == ["change"]
    assert watch.story("other")[-1] == f"reminded to {ONCALL.address}"
    watch.wait(6 * HOUR)
    assert watch.kinds() == ["change"]


def test_what_waits_for_the_cap_goes_when_a_rule_that_pierces_fires(
    store: Store, fake_clock: FakeClock
) -> None:
    tight = DeliveryPolicy(PATIENT.patience, cap=HourlyCap(largest_hourly=2))
    watch = Watch(store, fake_clock, tight)
    watch.rules(USUAL, LATER, Rule("rejections", RuleKind.REJECTED))
    reject(store, 1)
    watch.wait()
    watch.begin()
    watch.wait(5 * MINUTE)
    assert len(watch.sent()) == 1
    watch.wait(5 * MINUTE)

    [_, message] = watch.sent()
    assert (_rule_of(watch.store, message), message.delay) == ("later", None)


def test_message_that_a_worker_tried_stays_as_it_is_when_another_rule_fires(watch: Watch) -> None:
    watch.channel.errors[ONCALL.address] = DeliveryDeferred("not now")
    watch.begin(USUAL, LATER)
    before = _stored(watch.store)
    watch.wait(10 * MINUTE)

    assert _stored(watch.store) == before
    watch.channel.errors.clear()
    watch.wait(HOUR)
    assert watch.kinds() == ["change"]


def test_other_changes_in_a_message_that_goes_sooner_go_with_it(watch: Watch) -> None:
    here = RuleScope(networks=(A_NETWORK,))
    watch.rules(replace(HELD, group_by=(Dimension.STAGE,)), replace(LATER, scope=here))
    elsewhere = Subject(SubjectKind.BUSYNESS, ANOTHER_NETWORK)
    with watch.store.write() as connection:
        for number, (before, after) in enumerate([(None, State.CALM), (State.CALM, State.BUSY)]):
            busy = a_transition(
                10 + number, subject=elsewhere, before=before, after=after, at=A_MOMENT
            )
            assert record_transition(connection, busy, None)
    watch.begin()
    watch.wait(10 * MINUTE)

    assert [each.member_count for each in watch.sent()] == [2]
    watch.wait(7 * HOUR)
    assert len(watch.sent()) == 1


def test_page_says_of_an_incident_that_its_people_heard_of_it_by_another_rule(
    watch: Watch,
) -> None:
    nobody = replace(USUAL, name="unheard", recipients=(OTHERS,))
    watch.silence(SilenceKind.SILENCE, HOUR, Matcher(MatchedProperty.RULE, "unheard"))
    watch.begin(replace(USUAL, name="first"), replace(USUAL, name="second"), nobody)

    said = {each.incident.rule: reach_words(each) for each in Incidents(watch.context).open()}

    assert said == {
        "first": "1 notified",
        "second": "notified by another rule",
        "unheard": "nobody was notified",
    }


@pytest.mark.parametrize("statements", range(0, 72, 4))
def test_what_is_held_goes_once_although_the_worker_is_killed_as_another_rule_fires(
    store: Store, fake_clock: FakeClock, statements: int
) -> None:
    watch, lives = Watch(store, fake_clock), AlertingLives(store, fake_clock)
    watch.rules(*(replace(each, recipients=(ONCALL,)) for each in (HELD, LATER)))
    watch.turn(1, State.CALM, State.BUSY)
    lives.work(seconds(1))
    lives.die_after(statements)
    lives.work(10 * MINUTE)
    lives.work(timedelta(hours=7))

    [notification] = watch.sent()
    assert {each.headers.message_id for each in lives.post.taken} == {notification.message_id}
    assert lives.post.taken[0].at == A_MOMENT + seconds(1) + 10 * MINUTE


def _rule_of(store: Store, message: Notification) -> str:
    """Return the rule of the one incident that a message is about."""
    with store.read() as connection:
        [found] = with_incidents(connection, [message])
    assert found.incident is not None
    return found.incident.rule


def _stored(store: Store) -> list[object]:
    column, member = notifications.c, notification_members.c
    message = select(column.message_id, column.closed_at, column.is_urgent, column.release_at)
    with store.read() as connection:
        return [
            *connection.execute(message).all(),
            *connection.execute(select(member.transition_id, member.incident_id)).all(),
        ]
