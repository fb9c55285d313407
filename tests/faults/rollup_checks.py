"""Roll-ups of fees must be what the raw values come to, whatever happened between two commits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final, TypeAlias

from dashboard.domain.fees.rollup import FeeSeries, RollupLevel, TimedFee
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.fees.stored_fees import SeriesKey
from tests.rolled_up_series import FeeRollup, rollups_between
from tests.stored_base_fees import base_fees

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EVER: Final = datetime(2100, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)

Rollups: TypeAlias = dict[int, FeeRollup]
"""What is kept of the fees of a time, by when it begins."""


def check_rollups(store: Store, network_id: NetworkId) -> None:
    """Raise AssertionError unless minutes, hours and days agree with the raw base fees."""
    of = SeriesKey(network_id, FeeSeries.ESTIMATED_BASE_FEE)
    end = (_EVER - _EPOCH) // _MILLISECOND
    with store.read() as connection:
        raw = base_fees(connection, network_id, _EPOCH, _EVER)
        stored = {level: rollups_between(connection, of, level, 0, end) for level in RollupLevel}
    _compare("minutes", stored[RollupLevel.MINUTE], _rolled_up(raw))
    for shorter, longer in (
        (RollupLevel.MINUTE, RollupLevel.HOUR),
        (RollupLevel.HOUR, RollupLevel.DAY),
    ):
        _compare(longer.name, stored[longer], _summed_up(stored[shorter], longer))


def _rolled_up(raw: Sequence[TimedFee]) -> Rollups:
    minutes = groupby(raw, lambda each: RollupLevel.MINUTE.begin_of(each.at))
    return {begins_at: FeeRollup.of_all(values) for begins_at, values in minutes}


def _summed_up(parts: Rollups, level: RollupLevel) -> Rollups:
    wholes = groupby(sorted(parts), level.begin_of)
    return {
        begins_at: FeeRollup.of_parts(parts[each] for each in some) for begins_at, some in wholes
    }


def _compare(what: str, stored: Rollups, expected: Rollups) -> None:
    differing = [
        (each, stored.get(each), expected.get(each))
        for each in sorted(stored.keys() | expected.keys())
        if stored.get(each) != expected.get(each)
    ]
    assert not differing, f"{what} differ from what they come to, as in {differing[0]}"
