"""The size of the store: measured, kept by days, told with its growth."""

from __future__ import annotations

from dashboard.domain.health.retention import StoreSize
from dashboard.store.engine.engine import Store, database_of
from dashboard.store.monitoring.upkeep import last_measured, measure, record_size
from tests.builders import A_MOMENT, DAY
from tests.unit.store.old_rows import reject


def a_size(days: float, octets: int) -> StoreSize:
    """Return a measurement so many days later."""
    return StoreSize(A_MOMENT + days * DAY, octets)


def test_size_is_that_of_the_whole_file_without_what_is_free_in_it(
    store: Store, database: str
) -> None:
    reject(store, 1, A_MOMENT)
    with store.read() as connection:
        measured = measure(connection, A_MOMENT)
        whole = database_of(connection).size(connection)

    assert measured.bytes + measured.free_inside == whole > 0
    assert (measured.free_on_disk is None) == (database == "postgresql")
    assert measured.growth is None


def test_measurement_is_kept_once_a_day_and_read_back(store: Store) -> None:
    with store.write() as connection:
        assert last_measured(connection) is None
        for size in (a_size(0, 1000), a_size(0.1, 2000)):
            record_size(connection, size)
        last = last_measured(connection)

    assert last is not None
    assert last.measured_at == A_MOMENT + 0.1 * DAY
    assert (last.bytes, last.growth) == (2000, None)


def test_growth_is_that_of_a_month(store: Store) -> None:
    with store.write() as connection:
        for days, octets in ((0, 999_999), (70, 1000), (80, 5000), (100, 4000)):
            record_size(connection, a_size(days, octets))
        last = last_measured(connection)

    assert last is not None
    assert last.growth == 100
