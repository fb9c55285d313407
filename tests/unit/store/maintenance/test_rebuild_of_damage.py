"""Damage that no program of ours does: rebuilding goes on around it, and says what it leaves."""

from __future__ import annotations

import pytest

from dashboard.domain.people.access import Actor
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.rebuild import rebuild, wrong_derived
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, seconds
from tests.saved_record import save_record
from tests.unit.store.maintenance.test_rebuild import derived, found_in, see_fees, spoil

BY = Actor("operator", A_MOMENT)
MOVED = "UPDATE rejection_days SET day = day + 1800001"
ALONE = "DELETE FROM fee_rollups WHERE level <> {}"


@pytest.fixture
def lived(store: Store) -> Store:
    """Return a store with two hours of fees, and rejections in three."""
    with store.write() as connection:
        for offset in (*range(0, 200, 20), 3600, 3630):
            see_fees(connection, offset)
        for number in range(3):
            at = A_MOMENT + seconds(3600 * number)
            save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(number)), at)
    return store


def test_counters_whose_time_is_damaged_are_rebuilt(lived: Store) -> None:
    before = derived(lived)
    spoil(lived, MOVED)

    rebuild(lived, BY)

    assert found_in(lived) == []
    assert derived(lived) == before


@pytest.mark.parametrize("level", [1, 2])
def test_day_without_a_roll_up_that_can_be_read_is_named_and_left(lived: Store, level: int) -> None:
    spoil(
        lived,
        "DELETE FROM suggested_gas_fees",
        "DELETE FROM fee_percentiles",
        ALONE.format(level),
        "UPDATE fee_rollups SET histogram = total",
    )

    rebuild(lived, BY)

    with lived.read() as connection:
        found = list(wrong_derived(connection))
    assert found
    assert not any(each.is_rebuildable for each in found)
