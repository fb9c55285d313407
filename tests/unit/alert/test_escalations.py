"""Escalations: from when on an incident escalates, and that none is lost, nor sent twice."""

from __future__ import annotations

import dataclasses

import pytest
from msgspec.structs import replace

from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import NotificationKind, Recipient
from dashboard.domain.alerts.rule import Rule, Severity
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.people.recipients import (
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientProfile,
)
from dashboard.store.alerts.recipients import turn_off
from tests.alert_watch import Watch
from tests.builders import A_MOMENT, HOUR, MINUTE
from tests.recording_channel import ONCALL, OTHERS

EVENING = (WeekSpan.parse("mon-sun 18:00-20:00"),)  # it is noon
ESCALATING = Rule("busy", RuleKind.BUSY, escalate_after=15 * MINUTE, escalate_to=(OTHERS,))


@pytest.mark.parametrize("is_held", [True, False])
def test_incident_that_is_given_back_escalates_unless_somebody_got_its_escalation(
    watch: Watch, *, is_held: bool
) -> None:
    profile = RecipientProfile(active=EVENING if is_held else ())
    known = ConfiguredRecipients((ONCALL,), {OTHERS: profile})
    watch.notifier = dataclasses.replace(watch.notifier, configured=known)
    incident_id, ask = watch.begin(ESCALATING), Incidents(watch.context)
    watch.wait(20 * MINUTE)
    ask.acknowledge(incident_id, watch.person("Ann"))
    watch.wait(MINUTE)
    ask.unacknowledge(incident_id, watch.person("Ann"))
    watch.wait(MINUTE)
    watch.wait(7 * HOUR)

    assert watch.kinds(OTHERS).count("escalation") == 1


HELD_UNTIL_EVENING = ActiveHours(EVENING)
LEAD = Recipient("mail", "lead@example.org")
KNOWN = ConfiguredRecipients((ONCALL,), {OTHERS: RecipientProfile(), LEAD: RecipientProfile()})
LATE = replace(ESCALATING, recipients=(OTHERS,), escalate_to=(LEAD,))


def test_escalation_counts_from_what_its_own_people_heard_not_from_another_rules_message(
    watch: Watch,
) -> None:
    watch.notifier = dataclasses.replace(watch.notifier, configured=KNOWN)
    first = Rule("first", RuleKind.BUSY, recipients=(ONCALL,))
    watch.begin(first, replace(LATE, active_hours=HELD_UNTIL_EVENING))
    for _ in range(80):
        watch.wait(5 * MINUTE)

    [heard] = [each.sent_at for each in watch.sent() if each.recipient == OTHERS]
    [escalated] = [each.sent_at for each in watch.sent() if each.recipient == LEAD]
    assert watch.kinds(ONCALL) == ["change"]
    assert heard is not None
    assert escalated is not None
    assert 15 * MINUTE <= escalated - heard <= 20 * MINUTE


def test_escalation_waits_for_no_message_of_another_rule_to_others(watch: Watch) -> None:
    watch.notifier = dataclasses.replace(watch.notifier, configured=KNOWN)
    off = AddressOff(OTHERS, OffCause.UNSUBSCRIBED, watch.clock.now(), "Ann")
    with watch.store.write() as connection:
        assert turn_off(connection, off)
    held = Rule("held", RuleKind.BUSY, recipients=(ONCALL,), active_hours=HELD_UNTIL_EVENING)
    watch.begin(held, LATE)
    watch.wait(15 * MINUTE)

    assert watch.taken() == [(LEAD, NotificationKind.ESCALATION)]


def test_escalation_counts_from_a_message_of_another_rule_to_its_own_people(watch: Watch) -> None:
    watch.notifier = dataclasses.replace(watch.notifier, configured=KNOWN)
    first = Rule("first", RuleKind.BUSY, recipients=(OTHERS,))
    watch.begin(first, replace(LATE, recipients=(OTHERS, ONCALL), escalate_to=(LEAD,)))
    watch.wait(15 * MINUTE)

    assert watch.kinds(LEAD) == ["escalation"]


def test_page_says_when_what_waits_for_its_first_message_escalates(watch: Watch) -> None:
    watch.begin(replace(ESCALATING, active_hours=HELD_UNTIL_EVENING))
    ask = Incidents(watch.context)
    said = []
    for _ in range(2):
        watch.wait(20 * MINUTE)
        said += [each.upcoming and each.upcoming.at for each in ask.open()]

    assert said == [A_MOMENT + 6 * HOUR + 15 * MINUTE] * 2


def test_rule_that_fires_later_tells_whose_escalation_somebody_withdrew(watch: Watch) -> None:
    known = ConfiguredRecipients((ONCALL,), {OTHERS: RecipientProfile(active=EVENING)})
    watch.notifier = dataclasses.replace(watch.notifier, configured=known)
    later = Rule("later", RuleKind.BUSY, Severity.CRITICAL, recipients=(OTHERS,), pierces=True)
    watch.begin(ESCALATING, replace(later, pending=30 * MINUTE))
    watch.wait(16 * MINUTE)
    ask = Incidents(watch.context)
    [mine] = [each.incident for each in ask.open() if each.incident.rule == "busy"]
    ask.acknowledge(mine.incident_id, watch.person("Ann"))
    watch.wait(14 * MINUTE)

    assert watch.kinds(OTHERS) == ["change"]
