"""Fee arithmetic: the base-fee rule, windows and suggestions, against tables and plain models."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from math import ceil

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.domain.fees.gas import BlockFees
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.fees.suggestion import FeePolicy, next_base_fee, suggest
from dashboard.domain.quantity import LARGEST_FEE, Wei
from tests.builders import GWEI

POLICY = FeePolicy()
FEES = st.lists(st.integers(0, 50).map(Wei), max_size=60)


def a_window(*base_fees: int, capacity: int = 100) -> FeeWindow:
    window = FeeWindow(capacity)
    for base_fee in base_fees:
        window.append(Wei(base_fee))
    return window


def a_block(number: int = 1, base_fee: int = 7, rewards: tuple[int, ...] = ()) -> BlockFees:
    """Rewards stand at the percentiles 10, 20, 30, 50 and 95."""
    return BlockFees(number, Wei(base_fee), 0.5, tuple(map(Wei, rewards)))


LARGEST = {"window_blocks": 200_000, "recent_blocks": 1024, "usual_percentile": 100}
SMALLEST = {"window_blocks": 1, "recent_blocks": 1, "usual_percentile": 0}
LEVEL = msgspec.structs.asdict(POLICY.low)


@pytest.mark.parametrize(
    "written",
    [
        *({name: number + 1} for name, number in LARGEST.items()),
        *({name: number - 1} for name, number in SMALLEST.items()),
        {"low": {**LEVEL, "priority_fee_share": 0}},
        {"low": {**LEVEL, "priority_fee_share": 10_001}},
        {"low": {**LEVEL, "longest_wait": LEVEL["max_wait"]}},
        {"range_percentiles": [10, 95, 99]},
        {"window": 200},
    ],
)
def test_policy_beyond_its_limits_or_with_other_names_is_refused(
    written: dict[str, object],
) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(written, FeePolicy)


@pytest.mark.parametrize(
    "written",
    [
        LARGEST,
        SMALLEST,
        {"low": {**LEVEL, "priority_fee_share": 1}},
        {"low": {**LEVEL, "priority_fee_share": 10_000}},
    ],
)
def test_policy_at_its_limits_is_taken(written: dict[str, object]) -> None:
    policy = msgspec.to_builtins(msgspec.convert(written, FeePolicy), builtin_types=[timedelta])

    assert policy.items() >= written.items()


@pytest.mark.parametrize(
    ("base_fee", "gas_used", "gas_limit", "expected"),
    [
        (1_000_000_000, 15_000_000, 30_000_000, 1_000_000_000),
        (1_000_000_000, 30_000_000, 30_000_000, 1_125_000_000),
        (1_000_000_000, 0, 30_000_000, 875_000_000),
        (7, 15_000_001, 30_000_000, 8),
        (7, 0, 30_000_000, 7),
        (8, 0, 30_000_000, 7),
        (0, 30_000_000, 30_000_000, 1),
        (0, 0, 30_000_000, 0),
        (9, 5, 1, 9),
        (9, 0, 0, 9),
    ],
)
def test_next_base_fee_follows_the_integer_rule(
    base_fee: int, gas_used: int, gas_limit: int, expected: int
) -> None:
    assert next_base_fee(Wei(base_fee), gas_used, gas_limit) == expected


def test_next_base_fee_reproduces_a_published_history() -> None:
    # Limit 30,000,000; the third block is empty. The values are those of the recorded history.
    base_fees = [0x2A0FBAE5E, 0x29D9E4342, 0x249EA7ADA]
    gas_used = [14_400_000, 0]

    found = [next_base_fee(Wei(base_fees[at]), gas_used[at], 30_000_000) for at in range(2)]

    assert found == base_fees[1:]


def test_window_refuses_to_hold_nothing() -> None:
    with pytest.raises(ValueError, match="at least one block, not 0"):
        FeeWindow(0)


def test_window_returns_its_newest_values_oldest_first() -> None:
    window = a_window(1, 2, 3)

    assert window.newest(2) == (2, 3)
    assert window.newest(9) == (1, 2, 3)
    assert window.newest(0) == ()


@pytest.mark.parametrize(
    ("percent", "expected"), [(0, 1), (10, 1), (11, 2), (50, 5), (51, 6), (90, 9), (100, 10)]
)
def test_percentile_is_the_nearest_rank(percent: int, expected: int) -> None:
    assert a_window(10, 9, 8, 7, 6, 5, 4, 3, 2, 1).percentile(percent) == expected


def test_percentile_takes_exact_fractions_of_a_percent() -> None:
    window = a_window(*range(1, 1001), capacity=1000)

    assert window.percentile(Fraction(1, 10)) == 1
    assert window.percentile(Fraction(1001, 10_000)) == 2


@pytest.mark.parametrize("percent", [-1, 101])
def test_percentile_refuses_what_is_no_percentage(percent: int) -> None:
    with pytest.raises(ValueError, match="not a percentage"):
        a_window(1).percentile(percent)


def test_percentile_of_an_empty_window_is_refused() -> None:
    with pytest.raises(ValueError, match="empty window"):
        a_window().percentile(50)


def test_congestion_is_the_share_strictly_below() -> None:
    window = a_window(1, 2, 2, 3)

    assert window.congestion(Wei(2)) == 0.25
    assert window.congestion(Wei(9)) == 1
    assert a_window(7, 7, 7).congestion(Wei(7)) == 0
    assert a_window().congestion(Wei(7)) == 0


@given(FEES, FEES, st.integers(1, 20), st.integers(0, 5), st.integers(0, 100))
@example([], [Wei(1), Wei(2), Wei(3)], 2, 0, 50)
def test_window_equals_a_plain_list(
    older: list[Wei], appended: list[Wei], capacity: int, replaced: int, percent: int
) -> None:
    window, model = FeeWindow(capacity), list[Wei]()
    for base_fee in appended:
        window.append(base_fee)
        model = [*model, base_fee][-capacity:]
    window.truncate(replaced)
    model = model[: max(0, len(model) - replaced)]
    window.prepend(older)
    model = [*older, *model][-capacity:] if len(model) < capacity else model

    assert window.values == tuple(model)
    assert len(window) == len(model)
    if model:
        assert (
            window.percentile(percent)
            == sorted(model)[max(1, ceil(len(model) * percent / 100)) - 1]
        )
        assert window.congestion(model[-1]) == sum(fee < model[-1] for fee in model) / len(model)


def test_policy_asks_for_each_reward_percentile_once_in_order() -> None:
    assert POLICY.reward_percentiles == (10, 20, 30, 50, 95)


def test_suggestion_takes_a_share_of_the_lower_median_reward() -> None:
    rewards = [(2, 3, 4), (9, 9, 9), (1, 1, 1), (3, 4, 5)]
    blocks = [
        a_block(number, 100 * GWEI, tuple(each * GWEI for each in (*row, 9, 9)))
        for number, row in enumerate(rewards)
    ]

    fees = suggest(blocks, Wei(100 * GWEI), a_window(1), POLICY)

    assert fees.low.suggested_max_priority_fee_per_gas == 2 * GWEI * 94 // 100
    assert fees.medium.suggested_max_priority_fee_per_gas == 3 * GWEI * 97 // 100
    assert fees.high.suggested_max_priority_fee_per_gas == 4 * GWEI * 98 // 100
    assert fees.low.suggested_max_fee_per_gas == 110 * GWEI + 2 * GWEI * 94 // 100
    assert fees.medium.suggested_max_fee_per_gas == 120 * GWEI + 3 * GWEI * 97 // 100
    assert fees.high.suggested_max_fee_per_gas == 125 * GWEI + 4 * GWEI * 98 // 100


def test_suggestion_looks_at_the_last_five_blocks() -> None:
    old = [a_block(number, 7, (90 * GWEI,) * 5) for number in range(5)]
    new = [a_block(5 + number, 7, (number * GWEI,) * 5) for number in (7, 3, 5, 4, 6)]

    fees = suggest([*old, *new], Wei(7), a_window(7), POLICY)

    assert fees.low.suggested_max_priority_fee_per_gas == 5 * GWEI * 94 // 100


def test_suggestion_without_rewards_is_the_floor() -> None:
    fees = suggest([a_block(base_fee=7)], Wei(7), a_window(7), POLICY)

    assert fees.low.suggested_max_priority_fee_per_gas == GWEI
    assert fees.medium.suggested_max_priority_fee_per_gas == GWEI * 3 // 2
    assert fees.high.suggested_max_priority_fee_per_gas == 2 * GWEI
    assert fees.low.suggested_max_fee_per_gas == GWEI + 7
    assert fees.latest_priority_fee_range == (0, 0)
    assert fees.historical_priority_fee_range == (0, 0)
    assert fees.priority_fee_trend == "level"


def test_suggestion_never_exceeds_the_largest_fee() -> None:
    huge, policy = LARGEST_FEE * 9 // 10, FeePolicy(low=replace(POLICY.low, priority_fee_share=200))
    fees = suggest([a_block(1, huge, (huge,) * 5)], Wei(huge), a_window(7), policy)

    for level in (fees.low, fees.medium, fees.high):
        assert level.suggested_max_fee_per_gas == LARGEST_FEE
    assert fees.low.suggested_max_priority_fee_per_gas == LARGEST_FEE


def test_suggestion_names_the_published_waits() -> None:
    fees = suggest([a_block()], Wei(7), a_window(7), POLICY)

    waits = [
        (each.min_wait_time_estimate, each.max_wait_time_estimate)
        for each in (fees.low, fees.medium, fees.high)
    ]
    assert waits == [(timedelta(seconds=15), timedelta(seconds=most)) for most in (30, 45, 60)]


def test_ranges_cover_the_latest_and_the_last_two_hundred_blocks() -> None:
    forgotten = [a_block(0, 1, (1, 1, 1, 1, 999))]
    empty = [a_block(number, 50, (0, 0, 0, 0, 0)) for number in range(1, 199)]
    last = [a_block(199, 60, (4, 5, 6, 7, 80)), a_block(200, 55, (3, 5, 6, 7, 8))]

    fees = suggest([*forgotten, *empty, *last], Wei(55), a_window(1), POLICY)

    assert fees.latest_priority_fee_range == (3, 8)
    assert fees.historical_priority_fee_range == (3, 80)
    assert fees.historical_base_fee_range == (50, 60)


@pytest.mark.parametrize(("next_fee", "trend"), [(8, "up"), (7, "level"), (6, "down")])
def test_base_fee_trend_compares_the_latest_with_the_next(next_fee: int, trend: str) -> None:
    assert suggest([a_block()], Wei(next_fee), a_window(7), POLICY).base_fee_trend == trend


@pytest.mark.parametrize(
    ("rewards", "trend"),
    [([1, 2], "up"), ([2, 1], "down"), ([2, 2], "level"), ([0, 2], "level"), ([9, 1, 2], "up")],
)
def test_priority_fee_trend_compares_the_last_two_blocks_that_reward(
    rewards: list[int], trend: str
) -> None:
    blocks = [a_block(number, 7, (reward,) * 5) for number, reward in enumerate(rewards)]

    assert suggest(blocks, Wei(7), a_window(7), POLICY).priority_fee_trend == trend


def test_constant_fee_chain_is_level_and_never_congested() -> None:
    blocks = [a_block(number, 7, (5, 5, 5, 5, 5)) for number in range(10)]
    window = a_window(*[7] * 10)

    fees = suggest(blocks, Wei(7), window, POLICY)

    assert fees.estimated_base_fee == 7
    assert fees.network_congestion == 0
    assert fees.base_fee_trend == "level"
    assert window.percentile(50) == window.percentile(90) == 7
