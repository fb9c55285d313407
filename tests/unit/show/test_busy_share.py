"""The share of busy time that is told is the true one, at every length."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import numpy.typing as npt
import pytest

from dashboard.domain.gas import GasObservation
from dashboard.domain.quantity import Wei
from dashboard.show.charts.fee_timeline import busy_in_words
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.fees import FeeQueries
from dashboard.show.queries.network_status import NetworkFigures, NetworkProfile, conclude_status
from dashboard.show.time_ranges import TIME_RANGES, TimeRange
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import import_gas_history
from tests.builders import A_MOMENT, A_NETWORK, suggested_gas_fees

PERIOD = timedelta(minutes=30)
PERIODS_HELD = 6
COUNT = 366 * 48
CARD = NetworkProfile(
    A_NETWORK,
    "Net",
    is_simulated=False,
    gas_period=PERIOD,
    threshold_period=PERIODS_HELD * PERIOD,
)
LONG = [span for span in TIME_RANGES if timedelta(days=1) <= span.length <= timedelta(days=365)]


@pytest.fixture
def store(empty_store: Store) -> Store:
    return empty_store


def year_of(fees: list[int], thresholds: list[int]) -> list[GasObservation]:
    """Return an observation each half hour until the moment, and a threshold each three hours."""
    return [
        GasObservation(
            A_NETWORK,
            A_MOMENT - (COUNT - number) * PERIOD,
            suggested_gas_fees(estimated_base_fee=Wei(fee)),
            busy_threshold=None if number % PERIODS_HELD else Wei(threshold),
        )
        for number, (fee, threshold) in enumerate(zip(fees, thresholds, strict=True))
    ]


def true_share(is_busy: npt.NDArray[np.bool_], span: TimeRange) -> float:
    """Return the share of busy values among those of a span until the moment."""
    shown = (A_MOMENT - span.begins_at(A_MOMENT)) // PERIOD
    return float(is_busy[-shown:].mean())


def test_told_share_is_the_true_one_at_every_length(store: Store) -> None:
    chance = np.random.default_rng(7)
    fees = chance.integers(0, 1000, COUNT)
    levels = np.linspace(990, 500, COUNT // PERIODS_HELD).astype(int)
    levels += chance.integers(-90, 90, len(levels))
    thresholds = np.repeat(levels, PERIODS_HELD)
    with store.write() as connection:
        import_gas_history(connection, year_of(fees.tolist(), thresholds.tolist()))

    queries = FeeQueries(QueryContext(store, (CARD,), lambda: A_MOMENT))
    status = conclude_status(NetworkFigures(CARD), A_MOMENT)
    views = {span.name: queries.view(status, span) for span in LONG}

    true = {span.name: true_share(fees > thresholds, span) for span in LONG}
    assert len({f"{each:.0%}" for each in true.values()}) > 2
    assert {name: view and busy_in_words(view.story) for name, view in views.items()} == {
        name: f"Above the busy threshold for {share:.0%} of the time that was seen."
        for name, share in true.items()
    }
