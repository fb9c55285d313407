"""Histories without block numbers are aligned where that is certain, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.alignment import SMALLEST_OVERLAP, Alignment, align, overlaps
from dashboard.domain.quantity import Wei

FEES = st.lists(st.integers(0, 3).map(Wei), max_size=40)


def fees(*values: int) -> tuple[Wei, ...]:
    return tuple(map(Wei, values))


CHAIN = fees(*(number * number % 101 for number in range(50)))


@pytest.mark.parametrize("came", [0, 1, 20, 35])
def test_new_blocks_are_those_after_the_overlap(came: int) -> None:
    assert align(CHAIN[:15], CHAIN[came : came + 15]) == (
        Alignment(came) if came <= 15 - SMALLEST_OVERLAP else None
    )


@pytest.mark.parametrize("came", [1, 7])
def test_order_is_found_the_same_way(came: int) -> None:
    newest_first = CHAIN[::-1]

    aligned = align(newest_first[20:40], newest_first[20 - came : 40 - came])

    assert aligned == Alignment(came, newest_first=True)


@pytest.mark.parametrize("count", [SMALLEST_OVERLAP + 1, 3000])
def test_flat_chain_fits_in_many_ways_and_says_nothing(count: int) -> None:
    flat = fees(7) * count

    assert len(overlaps(flat, flat)) == count - SMALLEST_OVERLAP + 1
    assert align(flat, flat) is None


def test_chain_that_swings_says_nothing() -> None:
    assert align(fees(1, 2) * 10, fees(1, 2) * 10) is None


def test_answers_too_far_apart_say_nothing() -> None:
    assert align(fees(*range(20)), fees(*range(100, 120))) is None
    assert align((), fees(1, 2, 3)) is None
    assert align((), ()) is None


@given(FEES, FEES)
def test_every_overlap_is_found(earlier: list[Wei], later: list[Wei]) -> None:
    expected = [
        length
        for length in range(min(len(earlier), len(later)), SMALLEST_OVERLAP - 1, -1)
        if earlier[-length:] == later[:length]
    ]

    assert overlaps(earlier, later) == expected
