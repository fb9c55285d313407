"""Base fee histories fill the time in which nothing was observed, with what is certain of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.schema.columns import milliseconds_of
from tests.builders import A_MOMENT, A_NETWORK, DAY, seconds, suggested_gas_fees
from tests.one_by_one import base_fees

BLOCK_TIME = seconds(2)


@pytest.fixture
def database() -> str:
    """Run on one database: what is filled in is concluded in Python."""
    return "sqlite"


def observe(store: Store, second: float, **seen: Any) -> None:  # noqa: ANN401 - any field
    """See something of a network's fees at that second, on a chain of two-second blocks."""
    observation = GasObservation(A_NETWORK, A_MOMENT + seconds(second), **seen)
    with store.write() as connection:
        save_gas(connection, observation, BLOCK_TIME)


def observe_base_fee(store: Store, second: float, base_fee: int) -> None:
    """See a base fee."""
    fees = suggested_gas_fees(estimated_base_fee=Wei(base_fee))
    observe(store, second, suggested_gas_fees=fees)


def answer(store: Store, second: float, *fees: int) -> None:
    """See a history and the newest base fee."""
    history = tuple(map(Wei, fees))
    newest = suggested_gas_fees(estimated_base_fee=history[-1])
    observe(store, second, base_fee_history=history, suggested_gas_fees=newest)


def points(store: Store) -> list[tuple[float, int, bool]]:
    """Return the base fees of the day around the moment, with their second."""
    with store.read() as connection:
        found = base_fees(connection, A_NETWORK, A_MOMENT - DAY, A_MOMENT + DAY)
    return [((at - milliseconds_of(A_MOMENT)) / 1000, fee, guess) for at, fee, guess in found]


def guessed_after(store: Store, second: float) -> list[tuple[float, int]]:
    """Return what was filled in after that second."""
    return [(at, fee) for at, fee, guess in points(store) if guess and at > second]


def test_first_history_fills_the_time_before_with_estimated_times(store: Store) -> None:
    history = (Wei(1), Wei(2), Wei(3))
    fees = suggested_gas_fees(estimated_base_fee=Wei(3))
    observe(store, 0, base_fee_history=history, suggested_gas_fees=fees)

    assert points(store) == [(-4, 1, True), (-2, 2, True), (0, 3, False)]


def test_history_tells_nothing_where_each_block_was_observed(store: Store) -> None:
    for second in range(0, 42, 2):
        observe_base_fee(store, second, second // 2)
    observe(store, 40, base_fee_history=tuple(Wei(n) for n in range(21)))

    assert [guess for _, _, guess in points(store)] == [False] * 21


def test_history_fills_a_gap_between_observations(store: Store) -> None:
    for second in (0, 2, 4, 30, 32, 34):
        observe_base_fee(store, second, second // 2)
    observe(store, 34, base_fee_history=tuple(Wei(n) for n in range(18)))

    guessed = [(second, fee) for second, fee, guess in points(store) if guess]
    assert guessed == [(second, second // 2) for second in range(6, 30, 2)]


@pytest.mark.parametrize(
    ("late", "slow"), [(0, 1.0), (0.3, 0.9), (0.8, 1.2), (1.0, 1.0), (1.7, 0.9)]
)
def test_each_block_is_kept_once_whether_a_poll_saw_it_or_not(
    store: Store, late: float, slow: float
) -> None:
    """Polls come every four seconds, `late` after a block; a block takes `slow` times two."""
    asked = [late + 4 * poll for poll in range(1, 61)]
    heads = [int(second / (2 * slow)) for second in asked]
    for poll, (second, head) in enumerate(zip(asked, heads, strict=True)):
        observe_base_fee(store, second, a_fee(head))
        if poll % 15 == 14:
            told = [Wei(a_fee(block)) for block in range(max(0, head - 99), head + 1)]
            observe(store, second + 0.1, base_fee_history=tuple(told))

    fees = [fee for _, fee, _ in points(store)]
    assert sorted(fees) == sorted(a_fee(block) for block in range(heads[-1] + 1))
    assert max(fees) == max(map(a_fee, range(heads[-1] + 1)))


def a_fee(block: int) -> int:
    """Return the base fee of a block, another one for each."""
    return 1 + block * 7919 % 10_007


def test_history_is_not_filled_in_twice(store: Store) -> None:
    observe(store, 0, base_fee_history=(Wei(1),) * 30)
    before = points(store)
    observe(store, 1, base_fee_history=(Wei(1),) * 30)

    assert points(store) == before


CHAIN = tuple(Wei(number * number % 101) for number in range(60))


@pytest.mark.parametrize("order", [1, -1])
def test_block_that_two_histories_tell_is_kept_once(store: Store, order: int) -> None:
    observe(store, 0, base_fee_history=CHAIN[10:40])
    first = len(points(store))
    observe(store, 40, base_fee_history=CHAIN[25:55])
    observe(store, 80, base_fee_history=CHAIN[30:60][::order])

    added = points(store)[first : first + 15]
    assert [fee for _, fee, _ in added] == list(CHAIN[40:55])
    assert [round(second * 3 / 8, 2) for second, _, _ in added] == list(range(1, 16))


def test_history_whose_newest_block_comes_first_is_turned(store: Store) -> None:
    observe(store, 0, base_fee_history=CHAIN[10:40][::-1])
    first = len(points(store))
    observe(store, 20, base_fee_history=CHAIN[30:60][::-1])

    added = points(store)[first:]
    assert [fee for _, fee, _ in added] == list(CHAIN[40:60])
    seconds_between = [after[0] - before[0] for before, after in pairwise(added)]
    assert min(seconds_between) > 0
    assert added[0][0] > 0


def test_history_without_block_time_fills_nothing(store: Store) -> None:
    seen = GasObservation(A_NETWORK, A_MOMENT, base_fee_history=(Wei(1), Wei(2), Wei(3)))
    with store.write() as connection:
        save_gas(connection, seen)

    assert points(store) == []


def test_flat_chain_gives_a_run_since_the_answer_before(store: Store) -> None:
    answer(store, 0, *[7] * 30)

    answer(store, 40, *[7] * 30)

    assert guessed_after(store, 0) == [(second, 7) for second in range(2, 40, 2)]


def test_run_reaches_as_far_as_all_ways_agree(store: Store) -> None:
    answer(store, 0, 1, 2, 3, 4, 7, 7, 7, 7, 7, 7, 7, 7)

    answer(store, 40, *[7] * 8, 8, 8, 8, 9)

    # Four to seven blocks came; before the last four the fee was 7, however many they were.
    told = [(28, 7), (30, 7), (32, 7), (34, 8), (36, 8), (38, 8)]
    assert guessed_after(store, 0) == told


def test_run_ends_where_faster_blocks_would_tell_something_else(store: Store) -> None:
    answer(store, 0, 1, 2, 3, 4, *[7] * 16)

    answer(store, 20, *[7] * 12, 8, *[9] * 7)

    # Eight to fifteen blocks came in twenty seconds.
    told = [(2, 7), (4, 7), (12, 9), (14, 9), (16, 9), (18, 9)]
    assert guessed_after(store, 0) == told


@pytest.mark.parametrize(
    "histories",
    [((1, 2) * 10, (1, 2) * 10), ((1, 2, 3, 4, 5, 6, 1, 2), (4, 5, 6, 1, 2, 3, 4, 5))],
    ids=["swinging", "either order"],
)
def test_nothing_is_told_where_the_ways_differ(
    store: Store, histories: Sequence[Sequence[int]]
) -> None:
    for second, fees in zip((0, 40), histories, strict=True):
        answer(store, second, *fees)

    assert guessed_after(store, 0) == []


def test_newest_block_counts_where_the_suggested_fees_failed(store: Store) -> None:
    observe_base_fee(store, 0, 1)

    observe(store, 30, base_fee_history=CHAIN[10:40])
    observe_base_fee(store, 50, 1)
    answer(store, 51, *CHAIN[20:50])

    told = [fee for _, fee in guessed_after(store, 0)]
    assert told == list(CHAIN[25:49])


def test_newest_block_that_only_the_history_told_keeps_a_time_of_its_own(store: Store) -> None:
    fees = suggested_gas_fees(estimated_base_fee=CHAIN[38])
    observe(store, 40, base_fee_history=CHAIN[10:40], suggested_gas_fees=fees)

    assert points(store)[-2:] == [(39.999, CHAIN[39], True), (40, CHAIN[38], False)]
