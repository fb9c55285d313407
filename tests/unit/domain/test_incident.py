"""Incidents: what opens one, what joins it, and when it is over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.incident import (
    QUIET_AFTER,
    Incident,
    IncidentState,
    OpeningRule,
    grow,
    incident_key,
    open_incident,
)
from dashboard.domain.quantity import NetworkId
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_transition, an_id, seconds

BUSY = OpeningRule("busy", "busy", "info")
GROUP = (("network", "1"), ("module", "ADD"))


def busy(number: int, network: NetworkId = A_NETWORK, *, is_over: bool = False) -> Transition:
    before, after = (State.BUSY, State.CALM) if is_over else (State.CALM, State.BUSY)
    subject = Subject(SubjectKind.BUSYNESS, network)
    at = A_MOMENT + seconds(number)
    return a_transition(number, subject=subject, before=before, after=after, at=at)


def opened(transition: Transition) -> Incident:
    return open_incident(BUSY, GROUP, transition, QUIET_AFTER)


def test_incident_is_of_the_network_that_all_of_its_changes_share() -> None:
    of_all = open_incident(BUSY, (("module", "ADD"),), busy(1), QUIET_AFTER)

    assert opened(busy(1)).network_id == NetworkId(1)
    assert of_all.network_id is None


def test_incident_of_rejections_is_over_when_nothing_joined_it_for_a_while() -> None:
    incident = opened(a_transition())

    later = grow(incident, a_transition(2, at=A_MOMENT + seconds(60)), timedelta(minutes=5))

    assert (incident.state, incident.next_at) == (IncidentState.FIRING, A_MOMENT + QUIET_AFTER)
    assert (later.transitions, later.next_at) == (2, A_MOMENT + seconds(360))


def test_incident_of_networks_is_over_with_the_last_of_them() -> None:
    incident = opened(busy(1))
    both = grow(incident, busy(2, ANOTHER_NETWORK), QUIET_AFTER)
    one = grow(both, busy(3, is_over=True), QUIET_AFTER)
    none = grow(one, busy(4, ANOTHER_NETWORK, is_over=True), QUIET_AFTER)

    assert [each.troubled for each in (incident, both, one, none)] == [1, 2, 1, 0]
    assert (one.is_open, none.is_open) == (True, False)
    assert (none.resolved_at, none.transitions) == (A_MOMENT + seconds(4), 4)


def test_end_whose_beginning_no_rule_saw_is_an_incident_that_is_over() -> None:
    assert not opened(busy(1, is_over=True)).is_open


def test_incident_with_a_pending_period_fires_later_and_may_end_before() -> None:
    hour = timedelta(hours=1)
    pending = open_incident(BUSY, GROUP, busy(1), QUIET_AFTER, hour)

    assert pending.state is IncidentState.PENDING
    assert pending.next_at == busy(1).at + hour
    assert grow(pending, busy(2, ANOTHER_NETWORK), QUIET_AFTER).state is IncidentState.PENDING
    assert grow(pending, busy(3, is_over=True), QUIET_AFTER).state is IncidentState.RESOLVED


def test_same_transition_opens_the_same_incident() -> None:
    assert opened(busy(1)).incident_id == opened(busy(1)).incident_id != an_id(1)


def test_key_tells_groups_apart_whatever_stands_in_them() -> None:
    keys = {
        incident_key("rule", (("module", "A"), ("stage", "B"))),
        incident_key("rule", (("module", "AB"), ("stage", ""))),
        incident_key("rulemodule", (("A", "stage"), ("B", ""))),
        incident_key("rule", (("module", "\ud800"),)),
    }

    assert len(keys) == 4
    assert opened(busy(1)).key == incident_key("busy", GROUP[::-1])


def test_incident_lasts_as_long_as_its_spell_though_both_ends_are_known_later() -> None:
    begun, over = A_MOMENT - seconds(60), A_MOMENT + seconds(40)
    opening = replace(busy(1), since=begun)
    ending = replace(busy(2, is_over=True), at=A_MOMENT + seconds(340), since=over)

    incident = opened(opening)
    resolved = grow(incident, ending, timedelta(minutes=5))

    assert (incident.opened_at, incident.changed_at) == (begun, opening.at)
    assert (resolved.resolved_at, resolved.changed_at) == (over, ending.at)
