"""Whole days of fees are put in at once, once, and beside what is known already."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from dashboard.domain.fees.gas import FeeSeries, RollupLevel
from dashboard.store.engine.engine import Store
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.schema import fee_rollups
from tests.builders import A_NETWORK, ANOTHER_NETWORK

DAY = RollupLevel.DAY.length
SOME_DAY = 20_000 * DAY


def days(first: int, count: int, fee: int = 7) -> tuple[Integers, Integers]:
    """Return a fee each quarter of an hour of so many days."""
    at = np.arange(SOME_DAY + first * DAY, SOME_DAY + (first + count) * DAY, DAY // 96)
    return at, np.full(len(at), fee)


def keep(store: Store, at: Integers, fees: Integers) -> None:
    with store.write() as connection:
        import_fee_years(connection, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, at, fees)


def stored(store: Store, level: RollupLevel) -> list[Any]:
    """Return when each roll-up begins, how many values it has, its fee and its longest gap."""
    column = fee_rollups.c
    query = select(column.begins_at, column.seen, column.median, column.longest_gap)
    with store.read() as connection:
        rows = connection.execute(query.where(column.level == level).order_by(column.begins_at))
        return [tuple(row) for row in rows]


def test_days_are_kept_at_every_level(store: Store) -> None:
    keep(store, *days(0, 40))

    quarter = DAY // 96
    assert stored(store, RollupLevel.DAY) == [
        (SOME_DAY + number * DAY, 96, 7, quarter) for number in range(40)
    ]
    assert [seen for _, seen, *_ in stored(store, RollupLevel.HOUR)] == [4] * 40 * 24
    assert [seen for _, seen, *_ in stored(store, RollupLevel.MINUTE)] == [1] * 40 * 96


def test_same_days_again_change_nothing(store: Store) -> None:
    keep(store, *days(0, 3))
    before = [stored(store, level) for level in RollupLevel]

    keep(store, *days(0, 3, fee=9))

    assert [stored(store, level) for level in RollupLevel] == before


def test_only_unknown_days_are_added(store: Store) -> None:
    keep(store, *days(2, 2))
    keep(store, *days(20, 1))

    keep(store, *days(0, 22, fee=9))

    fees = [fee for _, _, fee, _ in stored(store, RollupLevel.DAY)]
    assert fees == [9, 9, 7, 7, *[9] * 16, 7, 9]


def test_nothing_is_a_history_too(store: Store) -> None:
    keep(store, np.array([], np.int64), np.array([], np.int64))

    assert stored(store, RollupLevel.DAY) == []


def test_series_and_networks_are_kept_apart(store: Store) -> None:
    keep(store, *days(0, 1))

    with store.write() as connection:
        for series in FeeSeries:
            for network_id in (A_NETWORK, ANOTHER_NETWORK):
                import_fee_years(connection, network_id, series, *days(0, 1))

    assert len(stored(store, RollupLevel.DAY)) == 2 * len(FeeSeries)


@pytest.mark.parametrize(
    ("at", "fees"), [([1, 1], [5, 5]), ([2, 1], [5, 5]), ([1, 2], [5, -1]), ([1], [5, 5])]
)
def test_what_is_no_history_is_refused(store: Store, at: list[int], fees: list[int]) -> None:
    with pytest.raises(ValueError, match="times, which ascend"):
        keep(store, np.array(at), np.array(fees))
