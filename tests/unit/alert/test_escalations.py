"""Escalations: from when on an incident escalates, and that none is lost, nor sent twice."""

from __future__ import annotations

import dataclasses

import pytest

from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import ConfiguredRecipients, RecipientProfile
from tests.alert_watch import HOUR, MINUTE, Watch
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
