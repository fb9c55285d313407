"""The size of the store: measured by kinds, kept by days, told with its growth."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.health.retention import KindSize, StoreKind, StoreSize, growth_of
from dashboard.store.engine.engine import Store, database_of
from dashboard.store.monitoring.sizes import (
    estimated_sizes,
    last_measured,
    measure,
    record_size,
    table_sizes,
)
from tests.builders import A_MOMENT
from tests.unit.store.old_rows import reject, see_fees

DAY = timedelta(days=1)


def kind(measured: StoreSize, wanted: StoreKind) -> KindSize:
    """Return the size of one kind."""
    return next(each for each in measured.kinds if each.kind is wanted)


def a_size(days: float, octets: int, number_of_rows: int = 1) -> StoreSize:
    """Return a measurement so many days later, of rejections alone."""
    kinds = (KindSize(StoreKind.REJECTIONS, number_of_rows, octets),)
    return StoreSize(A_MOMENT + days * DAY, kinds)


def test_rows_and_bytes_of_each_kind_are_measured(store: Store) -> None:
    for number in range(1, 8):
        reject(store, number, A_MOMENT)
    see_fees(store, A_MOMENT)

    with store.read() as connection:
        measured = measure(connection, A_MOMENT)

    rows = {each.kind: each.rows for each in measured.kinds}
    assert (rows[StoreKind.REJECTIONS], rows[StoreKind.FEES]) == (7, 2)
    assert (rows[StoreKind.NOTIFICATIONS], rows[StoreKind.AUDIT_LOG]) == (7, 0)
    assert min(each.bytes for each in measured.kinds) > 0
    assert measured.growth is None


def test_kinds_together_are_the_whole_file(store: Store, database: str) -> None:
    with store.read() as connection:
        measured = measure(connection, A_MOMENT)
        whole = database_of(connection).size(connection)

    if database == "sqlite":
        assert measured.bytes + measured.free_inside == whole
        assert (measured.free_on_disk or 0) > 0
    else:
        assert 0 < measured.bytes < whole
        assert measured.free_on_disk is None


def test_estimate_says_so_and_comes_near(store: Store, database: str) -> None:
    for number in range(1, 40):
        reject(store, number, A_MOMENT)

    with store.read() as connection:
        exact = table_sizes(connection)
        guessed = estimated_sizes(connection) if database == "sqlite" else exact

    assert exact["rejections"].rows == guessed["rejections"].rows == 39
    assert guessed["rejections"].is_estimated == (database == "sqlite")
    assert guessed["rejections"].bytes > guessed["deliveries"].bytes > 0


def test_measurement_is_kept_once_a_day_and_read_back(store: Store) -> None:
    with store.write() as connection:
        assert last_measured(connection) is None
        for size in (a_size(0, 1000), a_size(0.1, 2000)):
            record_size(connection, size)
        last = last_measured(connection)

    assert last is not None
    assert last.measured_at == A_MOMENT + 0.1 * DAY
    assert [(each.bytes, each.growth) for each in last.kinds] == [(2000, None)]


def test_growth_is_that_of_a_month(store: Store) -> None:
    with store.write() as connection:
        for days, octets in ((0, 999_999), (70, 1000), (80, 5000), (100, 4000)):
            record_size(connection, a_size(days, octets))
        last = last_measured(connection)

    assert last is not None
    assert last.growth == 100


@pytest.mark.parametrize(
    ("hours", "grown"), [(19, None), (20, 1200), (24, 1000), (48, 500), (240, 100)]
)
def test_growth_needs_nearly_a_day(hours: int, grown: float | None) -> None:
    then = A_MOMENT - timedelta(hours=hours)

    assert growth_of([(then, 500)], (A_MOMENT, 1500)) == grown
    assert growth_of([], (A_MOMENT, 1500)) is None


@pytest.mark.parametrize(
    ("growth", "on_disk", "full_in"),
    [
        (100.0, 900, 10 * DAY),
        (100.0, None, None),
        (None, 900, None),
        (0.0, 900, None),
        (-5.0, 900, None),
        (1e-9, 10**15, 36_500 * DAY),
    ],
)
def test_disk_is_full_when_free_room_is_grown_into(
    growth: float | None, on_disk: int | None, full_in: timedelta | None
) -> None:
    kinds = (KindSize(StoreKind.FEES, 1, 5000, growth=growth),)

    assert StoreSize(A_MOMENT, kinds, 100, on_disk).full_in == full_in
