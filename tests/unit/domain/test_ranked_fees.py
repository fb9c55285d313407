"""Ranked fees of a window that moves, and where roll-ups begin."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.gas import RollupLevel, TimedFee
from dashboard.domain.fees.percentiles import RankedFees, TimedFees
from dashboard.domain.quantity import Wei

LENGTH = 10
KEPT_FEES = st.integers(0, 5).map(Wei)
STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(-14, 9), KEPT_FEES), max_size=60)


def seen(at: int, fee: int = 7) -> TimedFee:
    return TimedFee(at, Wei(fee))


def a_window(*values: TimedFee) -> tuple[RankedFees, TimedFees]:
    """Return the window of the times 0 to 10 with these values, and what is ranked of them."""
    ranked = RankedFees()
    return ranked, TimedFees(ranked, values, 0, LENGTH)


@given(steps=STEPS)
def test_ranked_are_all_fees_of_the_time_until_now(steps: list[tuple[int, int, Wei]]) -> None:
    now, held = LENGTH, {0: seen(0, 3)}
    ranked, timed = a_window(*held.values())
    for step, offset, fee in steps:
        now += step
        timed.move(now - LENGTH, now)
        held = {at: each for at, each in held.items() if at >= now - LENGTH}
        new = seen(now + offset, fee)
        if (old := held.get(new.at)) is not None and new.at != min(held):
            timed.remove(old)
        if new.at >= now - LENGTH and new.at > min(held, default=-1):
            timed.add(new)
            held[new.at] = new
        expected = sorted(each.fee for at, each in held.items() if at <= now)
        assert list(ranked) == expected
        assert timed.first_at == min((at for at in held if at <= now), default=None)


def test_both_ends_are_included_and_later_values_wait() -> None:
    ranked, timed = a_window(seen(0, 1), seen(10, 2), seen(11, 3), seen(30, 4))

    before = list(ranked)
    timed.move(1, 11)

    assert (before, list(ranked)) == ([1, 2], [2, 3])


def test_value_can_be_removed_whether_it_is_ranked_or_waits() -> None:
    ranked, timed = a_window(seen(4, 1), seen(5, 2), seen(12))

    timed.add(seen(14, 3))
    for value in (seen(5, 2), seen(12)):
        timed.remove(value)
    timed.move(4, 14)

    assert list(ranked) == [1, 3]


def test_values_that_were_never_ranked_are_dropped_when_they_are_too_old() -> None:
    ranked, timed = a_window(seen(0), seen(12, 3), seen(40, 4))

    timed.move(30, 40)

    assert list(ranked) == [4]


@pytest.mark.parametrize("bounds", [(-1, 10), (0, 9)])
def test_window_never_moves_back(bounds: tuple[int, int]) -> None:
    _, timed = a_window()

    with pytest.raises(ValueError, match="never back"):
        timed.move(*bounds)


def test_what_is_too_old_is_neither_added_nor_missed() -> None:
    ranked, timed = a_window(seen(5))

    timed.add(seen(-1))
    timed.remove(seen(-1))

    assert list(ranked) == [7]


@pytest.mark.parametrize("value", [seen(4), seen(5), seen(6)])
def test_value_whose_surroundings_are_not_certain_is_refused(value: TimedFee) -> None:
    _, timed = a_window(seen(5, 1), seen(6, 1))

    with pytest.raises(ValueError, match="older than all"):
        timed.add(value)


def test_value_that_is_not_held_cannot_be_removed() -> None:
    _, timed = a_window(seen(5, 1))

    with pytest.raises(ValueError, match="is not held"):
        timed.remove(seen(5, 2))


@pytest.mark.parametrize(
    ("fees", "is_constant"), [([], True), ([7], True), ([7, 7, 7], True), ([7, 7, 8], False)]
)
def test_fees_are_constant_unless_two_differ(fees: list[int], *, is_constant: bool) -> None:
    assert RankedFees(map(Wei, fees)).is_constant is is_constant


@pytest.mark.parametrize(
    ("level", "begin"),
    [
        (RollupLevel.MINUTE, 90_000_000),
        (RollupLevel.HOUR, 90_000_000),
        (RollupLevel.DAY, 86_400_000),
    ],
)
def test_value_on_an_edge_belongs_to_what_begins_there(level: RollupLevel, begin: int) -> None:
    assert level.begin_of(90_000_000) == begin
    assert level.begin_of(begin + level.length - 1) == begin
    assert level.begin_of(begin + level.length) == begin + level.length
