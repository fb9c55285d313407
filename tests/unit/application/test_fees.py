"""Fees of a network, and of several side by side: of many, a long time is read by days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.application.context import ApplicationContext
from dashboard.application.fee_listing import fee_figures
from dashboard.application.fees import Fees
from dashboard.application.network_status import (
    NetworkFigures,
    NetworkProfile,
    conclude_status,
    read_network_figures,
)
from dashboard.application.overview import Overview
from dashboard.application.time_ranges import TIME_RANGES, Zoom
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import import_gas_history
from dashboard.store.fees.save import save_gas
from tests.browser.seeded_store import FLAT, SILENT
from tests.builders import A_MOMENT, A_NETWORK, GWEI, suggested_gas_fees

PROFILE = NetworkProfile(
    A_NETWORK,
    "Net",
    is_simulated=False,
    gas_period=timedelta(hours=6),
    threshold_period=timedelta(days=1),
)


@pytest.mark.parametrize(("many", "steps"), [(1, 27), (12, 11)])
def test_lines_of_many_networks_have_a_step_a_day(
    empty_store: Store, many: int, steps: int
) -> None:
    seen = [
        GasObservation(A_NETWORK, A_MOMENT - number * PROFILE.gas_period, suggested_gas_fees())
        for number in range(1, 41)
    ]
    with empty_store.write() as connection:
        import_gas_history(connection, seen)
    status = conclude_status(NetworkFigures(PROFILE), A_MOMENT)
    [months] = [each for each in TIME_RANGES if each.name == "90 d"]
    queries = Fees(ApplicationContext(empty_store, (PROFILE,), lambda: A_MOMENT))

    drawn = queries.lines([status] * many, range(many), months)

    assert {len(each.steps) for each in drawn.lines} == {steps}


def test_zoomed_line_is_compared_with_what_is_usual_at_this_hour_as_the_table_is(
    empty_store: Store,
) -> None:
    six_hours_ago = A_MOMENT - timedelta(hours=6)
    seen = [
        GasObservation(
            A_NETWORK, at - timedelta(days=day), suggested_gas_fees(estimated_base_fee=Wei(fee))
        )
        for day in range(8)
        for at, fee in ((A_MOMENT, 7 * GWEI), (six_hours_ago, 2 * GWEI))
    ]
    with empty_store.write() as connection:
        import_gas_history(connection, seen)
    status = conclude_status(NetworkFigures(PROFILE), A_MOMENT)
    context = ApplicationContext(empty_store, (PROFILE,), lambda: A_MOMENT)
    earlier = Zoom(six_hours_ago - timedelta(hours=1), six_hours_ago + timedelta(minutes=10))

    [line] = Fees(context).lines([status], [0], earlier).lines

    usual = Overview(context).usual(status).fee
    assert usual is not None
    assert line.usual == usual.fee == 7 * GWEI


def test_first_fee_is_shown_as_soon_as_it_is_known(empty_store: Store) -> None:
    queries = Fees(ApplicationContext(empty_store, (PROFILE,), lambda: A_MOMENT))
    [hour] = [each for each in TIME_RANGES if each.name == "1 h"]
    before = queries.view(conclude_status(NetworkFigures(PROFILE), A_MOMENT), hour)

    with empty_store.write() as connection:
        save_gas(connection, GasObservation(A_NETWORK, A_MOMENT, suggested_gas_fees()))
        figures = read_network_figures(connection, PROFILE, A_MOMENT)

    assert before is None
    assert queries.view(conclude_status(figures, A_MOMENT), hour) is not None


def test_suggested_fees_are_as_old_as_they_are_and_stale(store: Store) -> None:
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    context = ApplicationContext(store, (SILENT,), lambda: now)

    [current] = Fees(context).current((SILENT,))
    ages = {each.name: each.age for each in fee_figures(current, context, now)}

    assert ages["base fee"] == ages["medium priority fee"] == "6 min ago, stale"
    assert ages["high max fee"] == ages["base fee"]


def test_base_fee_that_never_moves_is_not_compared_with_priority_fees(store: Store) -> None:
    now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    fees = Fees(ApplicationContext(store, (FLAT,), lambda: now))
    [current] = fees.current((FLAT,))
    hour = timedelta(hours=1)

    [timeline] = fees.timelines([current], now - hour, now, hour)

    assert current.figures.priority is not None
    assert timeline is not None
    assert timeline.threshold is not None
    assert set(timeline.threshold.tolist()) == {timeline.highest}
