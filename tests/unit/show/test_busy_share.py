"""The share of busy time that is told is the true one, at every length."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import numpy as np
import pytest

from dashboard.application.context import ApplicationContext
from dashboard.application.fee_timeline import busy_in_words
from dashboard.application.fees import Fees
from dashboard.application.network_status import NetworkFigures, NetworkProfile, conclude_status
from dashboard.application.time_ranges import TIME_RANGES
from dashboard.domain.fees.busy_spells import Spell
from dashboard.domain.fees.gas import FeeSeries
from dashboard.domain.health.coverage import CoverageChange, Covered, Watched
from dashboard.store.engine.engine import Store
from dashboard.store.fees.busy_window import save_spells
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import A_MOMENT, A_NETWORK

PERIOD = timedelta(hours=2)
COUNT = 366 * 12
CARD = NetworkProfile(
    A_NETWORK, "Net", is_simulated=False, gas_period=PERIOD, threshold_period=6 * PERIOD
)
LONG = [span for span in TIME_RANGES if timedelta(days=1) <= span.length <= timedelta(days=365)]


@pytest.fixture
def store(empty_store: Store) -> Store:
    return empty_store


def a_year_of_spells() -> list[Spell]:
    """Return spells that come the more often the later it is, as whole seconds."""
    chance, at, found = Random(7), A_MOMENT - COUNT * PERIOD, list[Spell]()  # noqa: S311 - no secret
    while at < A_MOMENT:
        left = (A_MOMENT - at) // timedelta(minutes=1)
        at += timedelta(seconds=chance.randrange(60, 60 + 20 * max(left // 100, 1)))
        length = timedelta(seconds=chance.randrange(60, 4000))
        found.append(Spell(at, at + length))
        at += length
    return found


def test_told_share_is_the_true_one_at_every_length(store: Store) -> None:
    spells, watched_since = a_year_of_spells(), A_MOMENT - timedelta(days=200)
    held = Covered(A_NETWORK, Watched.FEES, watched_since, A_MOMENT)
    ages = np.arange(COUNT)[::-1]
    moments = milliseconds_of(A_MOMENT) - ages * (PERIOD // timedelta(milliseconds=1))
    with store.write() as connection:
        for series, fees in (
            (FeeSeries.ESTIMATED_BASE_FEE, 10 + ages % 7),
            (FeeSeries.BUSY_THRESHOLD, np.full(COUNT, 100)),
        ):
            import_fee_years(connection, A_NETWORK, series, moments, fees)
        save_spells(connection, A_NETWORK, spells)
        save_coverage(connection, None, CoverageChange(held))

    queries = Fees(ApplicationContext(store, (CARD,), lambda: A_MOMENT))
    status = conclude_status(NetworkFigures(CARD), A_MOMENT)

    told = {}
    for each in LONG:
        view = queries.view(status, each)
        assert view is not None
        told[each.name] = str(busy_in_words(view.timeline)).split(" of ")[0]
    assert len(set(told.values())) > 2
    assert told == {
        each.name: f"Busy for {true_share(spells, each.begins_at(A_MOMENT), watched_since):.0%}"
        for each in LONG
    }


def true_share(spells: list[Spell], since: datetime, watched_since: datetime) -> float:
    """Return the share of busy seconds among those that were watched until the moment."""
    begin, busy = max(since, watched_since), timedelta()
    for each in spells:
        end = min(each.ends_at or A_MOMENT, A_MOMENT)
        busy += max(end - max(each.begins_at, begin), timedelta())
    return busy / (A_MOMENT - begin)
