"""Incidents that are pending, and those of which nobody knows whether they last."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.application.context import ApplicationContext
from dashboard.application.incident_words import state_remarks
from dashboard.application.incidents import Incidents
from dashboard.application.network_status import NetworkProfile
from dashboard.domain.alerts.condition import State
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.alerts.rule_table import turned
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.health.coverage import CoverageChange, Covered, Watched
from dashboard.store.alerts.incident_list import finished_incident_stories
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.coverage import save_coverage
from tests.alert_watch import BUSY, Watch
from tests.builders import A_MOMENT, A_NETWORK, HOUR, seconds
from tests.fake_clock import FakeClock
from tests.faults.alerting_lives import AlertingLives
from tests.recording_channel import ONCALL

LASTING = replace(BUSY, remind_every=None, escalate_after=None, escalate_to=(), pending=HOUR)


def test_pending_incident_of_a_rule_that_is_gone_ends_without_a_note(watch: Watch) -> None:
    watch.begin(LASTING)
    watch.change_rules(turned("busy", is_enabled=False))
    watch.wait(2 * HOUR)

    assert watch.sent() == []
    assert not watch.incident().is_open


def test_incident_that_lasts_through_its_pending_period_is_notified_then(watch: Watch) -> None:
    watch.begin(LASTING)
    assert (watch.incident().state, watch.taken()) == (IncidentState.PENDING, [])

    watch.wait(HOUR)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait()

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE)] * 2
    assert watch.story() == ["opened with 1 change", "fired", "grew by 1 change", "resolved"]


@pytest.mark.parametrize("statements", range(0, 64, 3))
def test_pending_incident_fires_once_although_its_worker_is_killed_between_two_statements(
    store: Store, fake_clock: FakeClock, statements: int
) -> None:
    watch, lives = Watch(store, fake_clock), AlertingLives(store, fake_clock)
    watch.rules(replace(LASTING, recipients=(ONCALL,)))
    watch.turn(1, State.CALM, State.BUSY)
    lives.work(seconds(1))
    lives.die_after(statements)

    lives.work(HOUR)

    [notification] = watch.sent()
    assert {each.headers.message_id for each in lives.post.taken} == {notification.message_id}
    assert watch.incident().state is IncidentState.FIRING
    assert watch.story() == ["opened with 1 change", "fired"]


def test_incident_that_ends_before_it_fires_reaches_nobody_and_says_so(watch: Watch) -> None:
    watch.begin(LASTING)
    watch.wait(HOUR / 2)
    watch.turn(2, State.BUSY, State.CALM)
    watch.wait(HOUR)

    assert watch.sent() == []
    assert watch.story()[-1].startswith("resolved: before its pending period ended")
    with watch.store.read() as connection:
        [story] = finished_incident_stories(connection, 1)
    assert [(each.changes, each.reason) for each in story.withheld] == [
        (2, "it ended within the pending period of busy, 60 min")
    ]


def test_pending_incident_fires_into_a_silence_of_then(watch: Watch) -> None:
    watch.begin(LASTING)
    watch.silence(SilenceKind.SILENCE, 2 * HOUR)
    watch.wait(HOUR)
    watch.wait()

    assert watch.sent() == []
    assert watch.incident().state is IncidentState.SILENCED


def test_recipient_of_two_rules_hears_at_once_and_again_when_the_later_one_fires(
    watch: Watch,
) -> None:
    watch.begin(LASTING, replace(LASTING, name="at-once", pending=timedelta()))
    watch.wait(HOUR)

    assert watch.taken() == [
        (ONCALL, NotificationKind.CHANGE),
        (ONCALL, NotificationKind.REMINDER),
    ]


@pytest.mark.parametrize("address", [ONCALL.address, "oncall@EXAMPLE.org"])
def test_silence_of_one_rule_withholds_nothing_of_another_that_fires_meanwhile(
    watch: Watch, address: str
) -> None:
    watch.silence(SilenceKind.SILENCE, 8 * HOUR, Matcher(MatchedProperty.RULE, "silent"))
    later = replace(LASTING, recipients=(replace(ONCALL, address=address),))
    watch.begin(replace(LASTING, name="silent", pending=timedelta()), later)
    watch.wait(HOUR)

    assert watch.kinds() == ["change"]
    watch.wait(7 * HOUR)
    assert watch.kinds() == ["change", "reminder"]


def test_nobody_is_reminded_of_what_is_not_known_until_it_is_judged_again(watch: Watch) -> None:
    watch.begin(BUSY)
    watch.go_silent()
    watch.wait()
    watch.wait(HOUR)
    assert watch.incident().state is IncidentState.NO_DATA
    assert len(watch.sent()) == 1
    watch.go_silent(is_over=True)
    watch.wait()
    watch.wait()

    assert watch.taken() == [(ONCALL, NotificationKind.CHANGE), (ONCALL, NotificationKind.REMINDER)]
    assert [each.partition(":")[0] for each in watch.story()] == [
        *("opened with 1 change", "no data", "evaluated again", "reminded to oncall@example.org")
    ]
    assert "the fee source has been down since 2026-11-20" in watch.story()[1]


def test_without_a_worker_what_is_open_is_shown_as_not_known(watch: Watch) -> None:
    watch.begin(BUSY)
    looked_at = Covered(A_NETWORK, Watched.FEES, A_MOMENT, watch.clock.now())
    with watch.store.write() as connection:
        save_coverage(connection, None, CoverageChange(looked_at))
    profile = NetworkProfile(
        A_NETWORK, "Linea", is_simulated=False, gas_period=seconds(12), threshold_period=seconds(60)
    )
    ask = Incidents(ApplicationContext(watch.store, (profile,), watch.clock.now))

    [now] = ask.open()
    watch.clock.wait(HOUR)
    [later] = ask.open()

    assert (now.state, later.state) == (IncidentState.FIRING, IncidentState.NO_DATA)
    assert "no worker has been running since 2026-11-20" in next(state_remarks(later))
