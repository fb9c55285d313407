"""Arrays of fees are rolled up exactly as the same fees are one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.fees.gas import MINUTE, FeeSeries, RollupLevel, SavedFee, TimedFee
from dashboard.domain.fees.percentiles import nearest_rank
from dashboard.domain.quantity import LARGEST_FEE, Wei
from dashboard.store.fees.rollup_arrays import (
    RollupArrays,
    changed_rollups,
    without_purged,
)
from dashboard.store.fees.stored_fees import SeriesKey
from tests.builders import A_NETWORK
from tests.rolled_up_series import roll_up, row_of

OF = SeriesKey(A_NETWORK, FeeSeries.BUSY_THRESHOLD)
A_DAY = RollupLevel.DAY.length
FEES = st.integers(0, LARGEST_FEE) | st.integers(0, 300) | st.sampled_from([2**53 - 1, 2**62])
SERIES = st.dictionaries(st.integers(0, A_DAY // 8) | st.integers(0, 3 * A_DAY), FEES, min_size=1)


def stored_form(
    of: SeriesKey, series: dict[int, int], level: RollupLevel
) -> list[tuple[object, ...]]:
    """Return what the rows of a series are, rolled up one by one, as a driver takes them."""
    values = (TimedFee(at, Wei(fee)) for at, fee in sorted(series.items()))
    return [row_of(of, each) for each in roll_up(values) if each.level is level]


@pytest.mark.parametrize("level", RollupLevel)
@settings(max_examples=40)
@given(series=SERIES)
def test_arrays_are_rolled_up_as_one_by_one(level: RollupLevel, series: dict[int, int]) -> None:
    at = np.array(sorted(series), np.int64)
    fees = np.array([series[each] for each in sorted(series)], np.int64)

    rows = RollupArrays.of_values(at, fees).rolled_up(level.length).rows(*OF, level)

    assert rows == stored_form(OF, series, level)


@given(series=SERIES)
def test_percentiles_lie_within_a_64th_of_the_exact_ones(series: dict[int, int]) -> None:
    fees = list(series.values())

    arrays = RollupArrays.of_values(np.arange(len(fees)), np.array(fees, np.int64))
    [row] = arrays.rolled_up(A_DAY).rows(*OF, RollupLevel.DAY)

    exact = [nearest_rank(sorted(map(Wei, fees)), percent) for percent in (50, 90)]
    assert all(64 * abs(it - fee) <= fee for it, fee in zip(row[11:13], exact, strict=True))


@pytest.mark.parametrize(("count", "width"), [(255, 1), (256, 2), (65_536, 4)])
def test_many_equal_fees_are_counted_in_wider_numbers(count: int, width: int) -> None:
    series = dict.fromkeys(range(count), 7)
    fees = RollupArrays.of_values(np.arange(count), np.full(count, 7))

    [row] = fees.rolled_up(RollupLevel.DAY.length).rows(*OF, RollupLevel.DAY)

    assert [row] == stored_form(OF, series, RollupLevel.DAY)
    assert row[-1][0] == width


@settings(max_examples=40)
@given(series=SERIES, length=st.integers(1, 7).map(lambda many: many * MINUTE))
def test_minutes_are_rolled_up_to_the_steps_of_their_values(
    series: dict[int, int], length: int
) -> None:
    values = RollupArrays.of_fees([fee_at(at, series[at]) for at in sorted(series)])
    minutes = values.rolled_up(MINUTE).rows(*OF, RollupLevel.MINUTE)

    steps = RollupArrays.of_rows(minutes).rolled_up(length)

    assert stored_rows(steps) == stored_rows(values.rolled_up(length))


@pytest.mark.parametrize("count", [255, 256, 65_536])
def test_counts_of_any_width_are_added_up(count: int) -> None:
    fees = RollupArrays.of_values(np.arange(count + 1), np.append(np.full(count, 7), 9))
    parts = fees.rolled_up(MINUTE).rows(*OF, RollupLevel.MINUTE)

    [row] = stored_rows(RollupArrays.of_rows(parts).rolled_up(RollupLevel.DAY.length))

    assert (row[9], row[11], row[12], row[7]) == (count + 1, 7, 7, 9)


NOTHING = RollupArrays.of_rows(())


def rolled_up(level: RollupLevel, *fees: TimedFee) -> RollupArrays:
    return RollupArrays.of_fees(fees).rolled_up(level.length)


def stored_rows(rollups: RollupArrays) -> list[tuple[object, ...]]:
    return rollups.rows(*OF, RollupLevel.DAY)


def fee_at(at: int, fee: int | None = None) -> TimedFee:
    return TimedFee(at, Wei(at if fee is None else fee))


@settings(max_examples=40)
@given(series=SERIES, chance=st.randoms(use_true_random=False))
@pytest.mark.parametrize("level", RollupLevel)
def test_fees_are_added_to_rollups_whose_parts_are_kept_no_longer(
    level: RollupLevel, series: dict[int, int], chance: object
) -> None:
    fees = [fee_at(each, series[each]) for each in sorted(series)]
    is_late = [chance.random() < 0.5 for _ in fees]  # type: ignore[attr-defined]  # hypothesis' own Random
    held = rolled_up(level, *(fee for fee, late in zip(fees, is_late, strict=True) if not late))
    saved = [SavedFee(fee) for fee, late in zip(fees, is_late, strict=True) if late]
    gap = 14

    found = stored_rows(held.updated(level, changed_rollups(level, held, NOTHING, saved)))
    exact = stored_rows(rolled_up(level, *fees))

    assert [row[:gap] + row[gap + 1 :] for row in found] == [
        row[:gap] + row[gap + 1 :] for row in exact
    ]
    assert all(row[gap] >= it[gap] for row, it in zip(found, exact, strict=True))  # type: ignore[operator]  # numbers


def test_minute_that_is_kept_no_longer_stays_missing() -> None:
    purged, late = fee_at(5), fee_at(7)
    hours = rolled_up(RollupLevel.HOUR, purged)
    minutes = rolled_up(RollupLevel.MINUTE, late)

    assert len(without_purged(minutes, NOTHING, hours)) == 0
    assert len(without_purged(minutes, minutes, hours)) == 1
    assert len(without_purged(minutes, NOTHING, NOTHING)) == 1


def test_fee_replaces_another_where_the_parts_are_kept_no_longer() -> None:
    old, new = fee_at(7), TimedFee(7, Wei(6), is_estimated=True)
    held = rolled_up(RollupLevel.DAY, fee_at(5), old)

    changed = changed_rollups(RollupLevel.DAY, held, NOTHING, [SavedFee(new, replaced=old)])

    [row] = stored_rows(changed)
    [kept_bounds] = stored_rows(rolled_up(RollupLevel.DAY, fee_at(5), new))
    assert row == (*kept_bounds[:7], 7, *kept_bounds[8:])


def test_older_fee_that_is_replaced_leaves_the_last_one() -> None:
    old, new, last = fee_at(1, 5), fee_at(1, 8), fee_at(2, 6)
    held = rolled_up(RollupLevel.DAY, old, last)

    changed = changed_rollups(RollupLevel.DAY, held, NOTHING, [SavedFee(new, replaced=old)])

    [row] = stored_rows(changed)
    assert (row[7], row[8], row[13]) == (8, bytes([14]), 6)


def test_rollup_that_is_missing_begins_with_saved_fees_where_its_parts_are_missing_too() -> None:
    first, old, new = fee_at(5), fee_at(7), fee_at(7, 6)
    saved = [SavedFee(first), SavedFee(new, replaced=old)]

    changed = changed_rollups(RollupLevel.DAY, NOTHING, NOTHING, saved)

    assert stored_rows(changed) == stored_rows(rolled_up(RollupLevel.DAY, first, new))
