"""Histories without block numbers are aligned where that is certain, and only there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.fees.history_overlap import SMALLEST_OVERLAP, HistoryOverlap, fits, overlaps
from dashboard.domain.quantity import Wei

LONGEST = 18_000
FEES = st.lists(st.integers(0, 3).map(Wei), max_size=40)


def fees(*values: int) -> tuple[Wei, ...]:
    return tuple(map(Wei, values))


CHAIN = fees(*(number * number % 101 for number in range(50)))


@pytest.mark.parametrize("came", [1, 10])
def test_new_blocks_are_those_after_the_overlap(came: int) -> None:
    later = CHAIN[came : came + 15]

    assert fits(CHAIN[:15], later) == [HistoryOverlap(later, came, came)]


@pytest.mark.parametrize("came", [1, 7])
def test_order_is_found_the_same_way(came: int) -> None:
    newest_first = CHAIN[::-1]
    later = newest_first[20 - came : 40 - came]

    [fit] = fits(newest_first[20:40], later)

    assert fit == HistoryOverlap(later[::-1], came, came)
    assert fit.is_certain


@pytest.mark.parametrize("count", [SMALLEST_OVERLAP + 1, 3000])
def test_flat_chain_fits_in_many_ways_which_all_tell_the_same(count: int) -> None:
    flat = fees(7) * count

    found = fits(flat, flat)

    assert found == [HistoryOverlap(flat, 0, count - SMALLEST_OVERLAP)] * 2
    assert not found[0].is_certain
    assert found[0].common_fee(0, count - SMALLEST_OVERLAP) == 7


def test_order_is_not_decided_where_both_fit_alike() -> None:
    earlier, later = fees(1, 2, 3, 4, 5, 6, 1, 2), fees(4, 5, 6, 1, 2, 3, 4, 5)

    assert fits(earlier, later) == [HistoryOverlap(later, 3, 3), HistoryOverlap(later[::-1], 3, 3)]


def test_same_answer_again_tells_of_no_block_in_either_order() -> None:
    assert [(fit.fewest, fit.most) for fit in fits(CHAIN, CHAIN)] == [(0, 0), (0, 0)]


def test_chain_that_swings_tells_nothing_in_common() -> None:
    swinging = fees(1, 2) * 10

    [forward, backward] = fits(swinging, swinging)

    assert (forward.common_fee(0, 0), backward.common_fee(0, 0)) == (2, 1)
    assert forward.common_fee(0, 1) is None


def test_answers_too_far_apart_do_not_fit() -> None:
    assert fits(CHAIN[:15], CHAIN[20:35]) == []
    assert fits(fees(*range(20)), fees(*range(100, 120))) == []
    assert fits((), fees(1, 2, 3)) == []
    assert fits((), ()) == []


@given(FEES, FEES)
def test_every_overlap_is_found(earlier: list[Wei], later: list[Wei]) -> None:
    expected = [
        length
        for length in range(min(len(earlier), len(later)), SMALLEST_OVERLAP - 1, -1)
        if earlier[-length:] == later[:length]
    ]

    assert overlaps(earlier, later) == expected


@given(FEES, st.integers(0, 39), st.integers(0, 39))
def test_common_fee_is_the_only_one_of_its_blocks(told: list[Wei], one: int, other: int) -> None:
    newest, oldest = sorted((one, other))
    if oldest >= len(told):
        return
    of_ages = {told[::-1][age] for age in range(newest, oldest + 1)}

    assert HistoryOverlap(told, 0, len(told)).common_fee(newest, oldest) == (
        min(of_ages) if len(of_ages) == 1 else None
    )


def test_longest_answer_of_a_flat_chain_is_read_in_no_time() -> None:
    flat = fees(7) * LONGEST
    began = time.process_time()

    fit = HistoryOverlap(flat, 0, LONGEST)
    assert all(fit.common_fee(0, age) == 7 for age in range(LONGEST))

    assert time.process_time() - began < 1
