"""The simulation of the benchmarks: how near the cadence is to the best possible, and its chart."""

from __future__ import annotations

import pytest

from dashboard.domain.tracking.cadence import CadencePolicy, expected_delay
from tests.bench.cases.cadences import LAWS, PROMISED, compared, frontier, seen
from tests.bench.frontier import CHART


@pytest.mark.parametrize("law", PROMISED)
def test_usual_setting_is_near_the_bound_and_far_from_fixed_intervals(law: str) -> None:
    found = compared(law, CadencePolicy().calls)

    assert 1.0 < found.of_bound <= 1.2
    assert found.fewer >= 85
    assert found.fewer_to_inclusion >= 50


@pytest.mark.parametrize("law", LAWS)
def test_delay_that_is_planned_is_the_simulated_one(law: str) -> None:
    planned = expected_delay(CadencePolicy(), LAWS[law])
    simulated = seen(CadencePolicy(), LAWS[law])

    assert planned.mean.total_seconds() == pytest.approx(simulated.mean, rel=0.1)
    assert planned.p99.total_seconds() == pytest.approx(simulated.p99, rel=0.1)


def test_chart_of_the_docs_shows_this_cadence() -> None:
    assert CHART.read_text("utf-8") == frontier(), "draw it again: python -m tests.bench S4"
