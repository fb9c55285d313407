"""Several troubles in one incident: none is lost because of another, nor waits as long as that."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.alert.deliver import DeliveryPolicy
from dashboard.application.incidents import Incidents
from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.hourly_cap import HourlyCap
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.rule import Rule, RuleScope, Severity
from dashboard.domain.alerts.rule_table import replaced_by
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.quantity import NetworkId
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from tests.alert_watch import PLAIN, Watch
from tests.builders import (
    A_NETWORK,
    ANOTHER_NETWORK,
    HOUR,
    MINUTE,
    a_hash,
    a_transition,
    an_id,
    seconds,
)
from tests.delivery_checks import PATIENT, reject
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL, OTHERS

TOGETHER = replace(PLAIN, group_by=(Dimension.STAGE,))
"""All busy networks are one incident."""


def turn(
    watch: Watch, number: int, network_id: NetworkId, before: State | None, after: State
) -> None:
    """Let a network become busy or calm, which is notified of a second later."""
    subject, at = Subject(SubjectKind.BUSYNESS, network_id), watch.clock.now()
    turned = a_transition(number, subject=subject, before=before, after=after, at=at)
    with watch.store.write() as connection:
        assert record_transition(connection, turned, None)
    watch.wait(seconds(1))


def told_of(watch: Watch) -> list[NetworkId]:
    return [each.transition.subject.network_id for each in watch.sent()]


@pytest.mark.parametrize("networks", [(A_NETWORK, ANOTHER_NETWORK), (ANOTHER_NETWORK, A_NETWORK)])
def test_what_a_silence_withheld_is_told_when_it_ends_although_its_incident_fires_already(
    watch: Watch, networks: tuple[NetworkId, NetworkId]
) -> None:
    watch.rules(TOGETHER)
    watch.silence(SilenceKind.SILENCE, HOUR)
    for number, network_id in enumerate(networks):
        turn(watch, number, network_id, None, State.BUSY)
    watch.wait(HOUR / 2)
    assert told_of(watch) == [ANOTHER_NETWORK]

    watch.wait(HOUR)
    watch.wait(HOUR)

    assert told_of(watch) == [ANOTHER_NETWORK, A_NETWORK]


def test_silenced_trouble_that_another_rule_told_one_person_is_told_to_the_rest_when_given_back(
    watch: Watch,
) -> None:
    loud = replace(PLAIN, name="loud", recipients=(OTHERS,))
    watch.silence(SilenceKind.SILENCE, HOUR, Matcher(MatchedProperty.RULE, "busy"))
    watch.rules(PLAIN, loud)
    turn(watch, 1, A_NETWORK, None, State.BUSY)
    ask = Incidents(watch.context)
    [mine] = [each.incident for each in ask.open() if each.incident.rule == "busy"]
    ask.acknowledge(mine.incident_id, watch.person("Ann"))
    watch.wait(HOUR)
    assert watch.kinds(ONCALL) == []

    ask.unacknowledge(mine.incident_id, watch.person("Ann"))
    watch.wait()

    assert watch.kinds(ONCALL) == ["change"]


def test_trouble_that_comes_as_a_silence_ends_takes_no_earlier_one_with_it(
    watch: Watch,
) -> None:
    labelled = Rule("rejections", RuleKind.REJECTED, group_by=(Dimension.LABEL,))
    watch.rules(TOGETHER, replace(labelled, keep_firing=24 * HOUR))
    for number in range(100, 170):  # more incidents than a worker looks at in one round
        watch.label(number, f"bot {number}")
        reject(watch.store, number)
    watch.wait()
    watch.silence(SilenceKind.SILENCE, HOUR, Matcher(MatchedProperty.RULE, "busy"))
    turn(watch, 11, A_NETWORK, None, State.BUSY)
    watch.clock.wait(HOUR)
    turn(watch, 12, ANOTHER_NETWORK, None, State.BUSY)
    for _ in range(3):
        watch.wait(seconds(1))

    told = [each.transition.transition_id for each in watch.sent()]
    assert {an_id(11), an_id(12)} <= set(told)


def test_critical_trouble_does_not_wait_as_long_as_the_end_that_it_joins(
    store: Store, fake_clock: FakeClock
) -> None:
    watch = Watch(store, fake_clock, DeliveryPolicy(PATIENT.patience, cap=HourlyCap()))
    watch.rules(replace(TOGETHER, severity=Severity.CRITICAL), Rule("r", RuleKind.REJECTED))
    turn(watch, 1, A_NETWORK, None, State.BUSY)
    turn(watch, 2, ANOTHER_NETWORK, None, State.BUSY)
    for number in range(20, 26):
        reject_one(watch, number)
    turn(watch, 3, A_NETWORK, State.BUSY, State.CALM)
    waits = len(watch.sent())
    turn(watch, 4, A_NETWORK, State.CALM, State.BUSY)
    watch.wait(seconds(1))

    assert len(watch.sent()) == waits + 1
    assert watch.sent()[-1].member_count == 2


def test_change_of_a_rule_that_pierces_by_now_does_not_wait_with_those_before(
    store: Store, fake_clock: FakeClock
) -> None:
    tight = DeliveryPolicy(PATIENT.patience, cap=HourlyCap(largest_hourly=2))
    watch = Watch(store, fake_clock, tight)
    rule = Rule("r", RuleKind.REJECTED, Severity.CRITICAL)
    watch.rules(rule)
    reject_one(watch, 20)
    reject_one(watch, 21)
    assert len(watch.sent()) == 1
    watch.rules(replace(rule, pierces=True))
    reject_one(watch, 22)

    assert [each.member_count for each in watch.sent()] == [1, 2]


def reject_one(watch: Watch, number: int) -> None:
    """Let a transaction be rejected, and time pass until it is notified of."""
    subject = Subject.transaction(A_NETWORK, a_hash(number))
    news = a_transition(number, subject=subject, at=watch.clock.now())
    reject(watch.store, number, transition=news)
    watch.wait(seconds(1))
    watch.wait(seconds(40))


@pytest.mark.parametrize("is_known", [True, False])
def test_silence_that_ends_in_an_outage_tells_of_what_lasts_once_that_is_known_again(
    watch: Watch, *, is_known: bool
) -> None:
    upstream = Rule("upstream", RuleKind.UPSTREAM_SILENT, recipients=(OTHERS,))
    watch.rules(PLAIN, upstream)
    of_busy = Matcher(MatchedProperty.RULE, "busy")
    if is_known:
        turn(watch, 1, A_NETWORK, None, State.BUSY)
    watch.silence(SilenceKind.SILENCE, HOUR, of_busy)
    if not is_known:
        turn(watch, 1, A_NETWORK, None, State.BUSY)
    watch.wait(MINUTE)
    watch.go_silent()
    watch.wait(MINUTE)
    watch.wait(2 * HOUR)
    found = Incidents(watch.context).open()
    assert {each.incident.rule: each.incident.state for each in found} == {
        "busy": IncidentState.NO_DATA,
        "upstream": IncidentState.FIRING,
    }
    assert watch.kinds(ONCALL) == (["change"] if is_known else [])

    watch.go_silent(is_over=True)
    watch.wait(MINUTE)
    watch.wait(MINUTE)

    assert watch.kinds(ONCALL) == ["change"]


THERE = RuleScope(networks=(ANOTHER_NETWORK,))


def test_incident_ends_with_what_its_edited_rule_still_covers(watch: Watch) -> None:
    watch.rules(TOGETHER)
    turn(watch, 1, A_NETWORK, None, State.BUSY)
    turn(watch, 2, ANOTHER_NETWORK, None, State.BUSY)
    watch.change_rules(replaced_by([replace(TOGETHER, scope=THERE)]))
    watch.wait(seconds(1))
    assert (watch.incident().state, watch.incident().troubled) == (IncidentState.FIRING, 1)

    turn(watch, 3, ANOTHER_NETWORK, State.BUSY, State.CALM)

    assert not watch.incident().is_open


@pytest.mark.parametrize("is_over", [True, False])
def test_incident_lasts_with_what_its_rule_covers_again(watch: Watch, *, is_over: bool) -> None:
    watch.rules(TOGETHER)
    turn(watch, 1, A_NETWORK, None, State.BUSY)
    turn(watch, 2, ANOTHER_NETWORK, None, State.BUSY)
    watch.change_rules(replaced_by([replace(TOGETHER, scope=THERE)]))
    if is_over:
        turn(watch, 3, A_NETWORK, State.BUSY, State.CALM)
    watch.change_rules(replaced_by([TOGETHER]))
    turn(watch, 4, ANOTHER_NETWORK, State.BUSY, State.CALM)

    assert watch.incident().is_open is not is_over
    if not is_over:
        turn(watch, 5, A_NETWORK, State.BUSY, State.CALM)
        assert not watch.incident().is_open


def test_incident_of_which_its_rule_covers_nothing_any_more_is_closed(watch: Watch) -> None:
    watch.rules(TOGETHER)
    turn(watch, 1, A_NETWORK, None, State.BUSY)
    watch.change_rules(replaced_by([replace(TOGETHER, scope=THERE)]))
    watch.wait(seconds(1))

    assert watch.kinds() == ["change", "closed"]
    assert watch.story()[-1] == "resolved by Ann: its rule covers nothing of it any more"
    assert not watch.incident().is_open
