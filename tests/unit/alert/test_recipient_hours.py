"""Recipients with hours and a zone of their own: held, then one summary; what pierces at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import Notification, Recipient
from dashboard.domain.alerts.pace import Pace
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import QUIET_HOURS, ConfiguredRecipients, RecipientProfile
from dashboard.store.engine.engine import Store
from tests.alert_watch import Watch
from tests.builders import A_NETWORK, a_notification
from tests.delivery_checks import PATIENT, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS

HOUR = timedelta(hours=1)
EVENING = RecipientProfile("Europe/Zurich", (WeekSpan.parse("mon-sun 20:00-21:00"),))
KNOWN = ConfiguredRecipients((ONCALL, OTHERS), {ONCALL: EVENING}, zones=ZoneInfo)
RULES = (
    Rule("rejections", RuleKind.REJECTED, recipients=(ONCALL, OTHERS)),
    Rule("busy", RuleKind.BUSY, recipients=(ONCALL, OTHERS), remind_every=3 * HOUR),
)


@pytest.fixture
def watch(store: Store, fake_clock: FakeClock) -> Watch:
    """Return a worker at noon of UTC, for one who gets messages from 20:00 in Zurich on."""
    made = Watch(store, fake_clock, replace(PATIENT, pace=Pace()))
    made.notifier = replace(made.notifier, configured=KNOWN)
    made.rules(*RULES)
    return made


def to(watch: Watch, recipient: Recipient) -> list[Notification]:
    return [each for each in watch.sent() if each.recipient == recipient]


def test_all_that_happened_in_quiet_hours_comes_as_one_when_they_end(watch: Watch) -> None:
    for number in (1, 2):
        reject(watch.store, number)
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


def test_what_a_rule_with_pierces_reports_comes_at_once(watch: Watch) -> None:
    watch.rules(replace(RULES[0], severity=Severity.CRITICAL, pierces=True))
    reject(watch.store, 1)
    watch.wait()

    assert len(to(watch, ONCALL)) == 1


def test_times_are_those_of_the_recipient(watch: Watch) -> None:
    templates = load_templates({A_NETWORK: NetworkName("Linea")}, Links())
    writer = MessageWriter(watch.store, templates, KNOWN)

    mine, others = (
        writer.write(replace(a_notification(), recipient=each)).text for each in (ONCALL, OTHERS)
    )

    assert "2026-11-20 12:00:00 UTC (13:00:00 in Europe/Zurich)" in mine
    assert "Zurich" not in others
