"""How fast the store grows, and when its disk is full."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.health.retention import KindSize, StoreKind, StoreSize, growth_of
from tests.builders import A_MOMENT, seconds

DAY = timedelta(days=1)


def a_store(*growths: float | None, inside: int = 0, on_disk: int | None = 1000) -> StoreSize:
    """Return a store of one kind for each growth, with 100 bytes each."""
    kinds = tuple(
        KindSize(kind, 1, 100, growth=growth)
        for kind, growth in zip(StoreKind, growths, strict=False)
    )
    return StoreSize(A_MOMENT, kinds, inside, on_disk)


def test_store_takes_what_its_kinds_take_and_grows_as_they_do() -> None:
    store = a_store(10.0, None, -3.0)

    assert (store.bytes, store.growth) == (300, 7.0)


def test_growth_of_nothing_known_is_not_known() -> None:
    assert a_store(None, None).growth is None


def test_room_inside_of_the_file_is_used_before_the_disk_is_full() -> None:
    assert a_store(100.0).full_in == 10 * DAY
    assert a_store(100.0, inside=500).full_in == 15 * DAY


@pytest.mark.parametrize("growth", [None, 0.0, -5.0])
def test_store_that_does_not_grow_fills_no_disk(growth: float | None) -> None:
    assert a_store(growth).full_in is None


def test_disk_that_tells_no_room_is_never_said_to_be_full() -> None:
    assert a_store(5.0, on_disk=None).full_in is None


def test_time_beyond_a_century_is_told_as_one() -> None:
    assert a_store(1e-300).full_in == 100 * 365 * DAY


def test_growth_is_that_of_a_day_since_the_first_size() -> None:
    earlier = [(A_MOMENT, 100), (A_MOMENT + DAY, 90)]

    assert growth_of(earlier, (A_MOMENT + 2 * DAY, 160)) == 30


def test_less_than_most_of_a_day_tells_no_growth() -> None:
    assert growth_of([], (A_MOMENT, 100)) is None
    assert growth_of([(A_MOMENT, 1)], (A_MOMENT + 20 * seconds(3599), 100)) is None
