"""What asking takes at the present load, and what other settings would give."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.polling_plan import PlannedPolling, plan_in_words, planned_polling
from dashboard.domain.rejections.reasons import LimitsEnd, LineLimits
from dashboard.domain.tracking.cadence import CadencePolicy, calls_between
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.cohorts import mark_included, mark_rejected
from dashboard.store.tracking.search import AgeGroup, count_by_age
from dashboard.store.tracking.transactions import track, track_all
from tests.browser.seeded_store import SIMULATED
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash

DAY = timedelta(days=1)
HOSTED = replace(SIMULATED, network_id=A_NETWORK, question_credits=80, planned_credits=1000)


def a_load(age: timedelta, many: int = 1000, *, is_rejected: bool = False) -> list[AgeGroup]:
    return [AgeGroup(A_NETWORK, is_rejected, many, A_MOMENT - age)]


def in_force(load: list[AgeGroup], limits: LineLimits | None = None) -> PlannedPolling:
    profile = HOSTED if limits is None else replace(HOSTED, line_limits=limits)
    [found] = (each for each in planned_polling(profile, load, A_MOMENT) if each.is_in_force)
    return found


def test_calls_of_a_day_are_those_at_every_age_that_is_there() -> None:
    evenly = [
        AgeGroup(A_NETWORK, False, 10, A_MOMENT - timedelta(hours=hours + 0.5))  # noqa: FBT003 - is_rejected
        for hours in range(7 * 24 + 2)
    ]

    planned = in_force(evenly)

    assert planned.tracked == 1700
    assert planned.calls_a_day == pytest.approx(240 * 220, rel=0.03)
    assert planned.credits_a_day == planned.calls_a_day * 80


def test_other_settings_scale_calls_and_delays() -> None:
    half, ours, double, most = planned_polling(HOSTED, a_load(DAY / 2), A_MOMENT)

    assert [each.calls for each in (half, ours, double, most)] == [110, 220, 440, 880]
    assert double.calls_a_day == pytest.approx(2 * ours.calls_a_day, rel=0.02)
    assert half.delay.mean > ours.delay.mean > double.delay.mean > most.delay.mean


def test_what_is_rejected_or_seen_after_line_limits_takes_less() -> None:
    usual = in_force(a_load(DAY / 2)).calls_a_day
    rejected = in_force(a_load(DAY / 2, is_rejected=True)).calls_a_day
    ended = LimitsEnd(A_MOMENT - DAY)
    seldom = in_force(a_load(DAY / 2), LineLimits((), ended)).calls_a_day
    never = in_force(a_load(DAY / 2), LineLimits((), ended, is_asked_after=False)).calls_a_day

    assert usual > 4 * rejected > 4 * seldom > never == 0


def test_what_is_in_a_block_takes_a_few_calls() -> None:
    [usual] = a_load(DAY / 2)
    included = usual._replace(included_after=timedelta(seconds=20))

    assert in_force([usual]).calls_a_day > 10_000
    assert in_force([included]).calls_a_day == pytest.approx(12_000, abs=2000)


def test_network_without_charges_has_no_other_setting_to_choose() -> None:
    free = replace(HOSTED, question_credits=0, cadence=CadencePolicy(22))

    [planned] = planned_polling(free, a_load(DAY), A_MOMENT)

    assert (planned.calls, planned.credits_a_day) == (22, 0)


def test_store_counts_what_is_watched_by_network_age_and_record(empty_store: Store) -> None:
    def request(number: int, ago: timedelta | None) -> TrackRequest:
        attempted: datetime | None = None if ago is None else A_MOMENT - ago
        return TrackRequest(a_hash(number), (A_NETWORK, ANOTHER_NETWORK), attempted, "")

    with empty_store.write() as connection:
        requests = [request(1, None), request(2, None), request(3, 2 * DAY), request(4, 9 * DAY)]
        track_all(connection, requests, A_MOMENT)
        mark_rejected(connection, A_NETWORK, [a_hash(2)])
        for number, seconds in ((1, 0), (5, 10), (6, 20)):
            track(connection, request(number, None), A_MOMENT)
            at = A_MOMENT + timedelta(seconds=seconds)
            mark_included(connection, A_NETWORK, [a_hash(number)], at if seconds else None)
        found = count_by_age(connection, A_MOMENT - 7 * DAY)

    ours = {
        (each.is_rejected, each.born_at, each.included_after): each.many
        for each in found
        if each.network_id == A_NETWORK
    }
    assert ours == {
        (False, A_MOMENT, None): 1,
        (False, A_MOMENT, timedelta(seconds=15)): 2,
        (True, A_MOMENT, None): 1,
        (False, A_MOMENT - 2 * DAY, None): 1,
    }


def test_plan_says_what_it_rests_on(queries: Application) -> None:
    plan = queries.health.plan()

    words = " ".join(plan_in_words(plan))

    calls = sum(each.calls_a_day for each in plan if each.is_in_force)
    assert f"{calls:,} call" in words
    assert calls_between(-DAY, timedelta(), CadencePolicy()) == 1
