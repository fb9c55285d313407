"""The chain: computed from its genesis alone, by EIP-1559, with visible ups and downs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.devnet.chain import GAS_LIMIT
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.fees.suggestion import next_base_fee
from dashboard.domain.quantity import WEI_PER_GWEI, Wei
from tests.unit.devnet.small_devnet import BEGIN, a_chain

NUMBERS = st.integers(0, 12_000)
SEEDS = st.integers(0, 2**63 - 1)
DAY = 43_200
STEP = 32


@settings(max_examples=8)  # each computes up to 48,000 blocks
@given(seed=SEEDS, stops=st.lists(NUMBERS, max_size=4), number=NUMBERS)
def test_chain_is_the_same_however_often_it_restarts(
    seed: int, stops: list[int], number: int
) -> None:
    in_one_go = a_chain(seed)
    restarted = a_chain(seed)
    for stop in stops:
        restarted.block(stop)

    assert restarted.block(number) == in_one_go.block(number)
    assert restarted.block(number + 1) == a_chain(seed).block(number + 1)


@settings(max_examples=15)
@given(seed=SEEDS, number=NUMBERS)
def test_base_fee_follows_from_the_gas_of_the_block_before(seed: int, number: int) -> None:
    chain = a_chain(seed)
    block, following = chain.block(number), chain.block(number + 1)

    expected = next_base_fee(block.base_fee_per_gas, block.gas_used, GAS_LIMIT)

    assert following.base_fee_per_gas == expected
    assert following.first_transaction == block.first_transaction + block.transaction_count


def test_chain_forgets_no_block_that_it_does_not_keep_in_memory() -> None:
    chain = a_chain()
    early = chain.block(100)
    for number in range(0, 18 * 4096, 4096):
        chain.block(number)

    assert chain.block(100) == early


def test_genesis_block_is_empty_and_has_ten_gwei() -> None:
    genesis = a_chain().block(0)

    assert (genesis.gas_used, genesis.transaction_count) == (0, 0)
    assert genesis.base_fee_per_gas == 10 * WEI_PER_GWEI
    assert genesis.timestamp == datetime.fromtimestamp(BEGIN, UTC)


def test_head_grows_every_two_seconds_and_is_never_below_zero() -> None:
    chain = a_chain()
    begin = datetime.fromtimestamp(BEGIN, UTC)

    heads = [chain.head(begin + timedelta(seconds=each)) for each in (-100, 0, 1.999, 2, 3601)]

    assert heads == [0, 0, 0, 1, 1800]


def test_other_seed_makes_another_chain() -> None:
    assert a_chain(seed=7).block(50) != a_chain(seed=8).block(50)


def test_base_fee_stays_within_what_people_have_seen() -> None:
    fees = fees_of_a_week()

    assert min(fees) > 5 * WEI_PER_GWEI
    assert 40 * WEI_PER_GWEI < max(fees) < 75 * WEI_PER_GWEI


def test_busy_hours_come_and_go_every_hour() -> None:
    window, changes = FeeWindow(20_000 // 5), dict.fromkeys(range(24), 0)
    was_busy = False
    for number in range(0, 20_000 + DAY, 5):
        window.append(a_chain_of_days.block(number).base_fee_per_gas)
        if number >= 20_000:
            is_busy = window.newest(1)[0] > window.percentile(90)
            changes[(number - 20_000) // 1800] += is_busy != was_busy
            was_busy = is_busy

    assert sum(count >= 2 for count in changes.values()) >= 22


def test_demand_has_the_shape_of_a_day_and_of_a_week() -> None:
    begin = a_chain_of_days.genesis.timestamp
    fees = fees_of_a_week()
    by_hour = dict.fromkeys(range(24), 0)
    by_day = dict.fromkeys(range(7), 0)
    for number, fee in enumerate(fees):
        moment = datetime.fromtimestamp(begin + 2 * STEP * number, UTC)
        by_hour[moment.hour] += fee
        by_day[moment.weekday()] += fee

    night, afternoon = (sum(by_hour[hour] for hour in range(first, first + 4)) for first in (3, 14))
    assert night * 5 < afternoon * 4
    assert max(by_day[5], by_day[6]) < min(by_day[day] for day in range(5))


def test_gas_of_consecutive_blocks_varies_and_never_exceeds_the_limit() -> None:
    gas = [a_chain_of_days.block(number).gas_used for number in range(1, 5000)]

    assert max(gas) <= GAS_LIMIT
    assert min(gas) >= GAS_LIMIT // 10
    assert sum(here != there for here, there in pairwise(gas)) > 4900


a_chain_of_days = a_chain()


@cache
def fees_of_a_week() -> list[Wei]:
    numbers = range(0, 7 * DAY, STEP)
    return [a_chain_of_days.block(number).base_fee_per_gas for number in numbers]
