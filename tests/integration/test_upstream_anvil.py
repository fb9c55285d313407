"""Following a real EVM node: our numbers against numbers made independently from its blocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.domain.fees.gas import FeeSuggestion
from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamRefused
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.node import NodeClient
from tests.anvil import CHAIN_ID, Anvil, running_anvil

pytestmark = pytest.mark.anyio

GWEI = 10**9
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def busy_node() -> Iterator[Anvil]:
    """Yield a chain of 44 blocks, from empty to full, with 200 transfers of many fees."""
    with running_anvil("--gas-limit", "420000") as node:
        for number in range(40):
            for place in range(number * 7 % 11):
                tip = (1 + number * place * 13 % 37) * GWEI // 10
                node.send(tip, 400 * GWEI if place % 3 else 2 * GWEI + tip, place * number % 50)
            node.mine()
        node.mine(3)
        yield node


@asynccontextmanager
async def a_client(node: Anvil) -> AsyncIterator[NodeClient]:
    async with open_client() as client:
        endpoint = Endpoint("anvil node", Secret(node.url))
        yield NodeClient(HttpAsker(client, endpoint, RetryPolicy()))


@asynccontextmanager
async def a_follower(node: Anvil) -> AsyncIterator[ChainFollower]:
    async with a_client(node) as client:
        yield ChainFollower(client, NetworkId(CHAIN_ID), FollowPolicy(), lambda: NOW)


def base_fee_of(block: dict[str, Any]) -> int:
    return int(block["baseFeePerGas"], 16)


def tips_of(node: Anvil, block: dict[str, Any]) -> list[int]:
    """Return what each unit of the block's gas paid above the base fee, cheapest unit first."""
    tips = []
    for transaction in block["transactions"]:
        receipt = node.ask("eth_getTransactionReceipt", transaction["hash"])
        tip = int(receipt["effectiveGasPrice"], 16) - base_fee_of(block)
        tips += [tip] * int(receipt["gasUsed"], 16)
    return sorted(tips)


def reward_at(tips: list[int], percent: int) -> int:
    """Return the tip of the unit of gas at which `percent` of the block's gas is reached."""
    return tips[max(0, len(tips) * percent // 100 - 1)] if tips else 0


def nearest_rank(values: list[int], percent: int) -> int:
    """Return the smallest value that at least `percent` of all values do not exceed."""
    return min(
        value
        for value in values
        if sum(other <= value for other in values) * 100 >= percent * len(values)
    )


def expected_level(
    blocks: list[dict[str, Any]], tips: list[list[int]], numbers: tuple[int, int, int, int]
) -> tuple[int, int]:
    percent, share, floor, base_share = numbers
    rewards = sorted(reward_at(each, percent) for each in tips[-5:])
    priority_fee = max(floor, rewards[2] * share // 100)
    return priority_fee, base_fee_of(blocks[-1]) * base_share // 100 + priority_fee


async def test_four_operations_agree_with_the_blocks_themselves(busy_node: Anvil) -> None:
    async with a_follower(busy_node) as follower:
        await follower.refresh()
    found, fees = follower.snapshot(), follower.snapshot().suggested_gas_fees
    blocks = busy_node.blocks()
    base_fees = [base_fee_of(block) for block in blocks]
    tips = [tips_of(busy_node, block) for block in blocks]
    p10, p95 = ([reward_at(each, percent) for each in tips] for percent in (10, 95))

    assert len(set(base_fees)) > 20
    assert list(found.base_fee_history) == base_fees
    assert found.base_fee_percentile == nearest_rank(base_fees, 50)
    assert found.busy_threshold == nearest_rank(base_fees, 90)
    assert fees.estimated_base_fee == base_fees[-1]
    assert fees.network_congestion == sum(fee < base_fees[-1] for fee in base_fees) / len(blocks)
    assert fees.historical_base_fee_range == (min(base_fees), max(base_fees))
    assert fees.historical_priority_fee_range == (min(filter(None, p10)), max(p95))
    assert fees.latest_priority_fee_range == (p10[-1], p95[-1])
    assert fees.base_fee_trend == "down"
    assert levels(fees.low) == expected_level(blocks, tips, (10, 94, GWEI, 110))
    assert levels(fees.medium) == expected_level(blocks, tips, (20, 97, GWEI * 3 // 2, 120))
    assert levels(fees.high) == expected_level(blocks, tips, (30, 98, GWEI * 2, 125))


def levels(suggestion: FeeSuggestion) -> tuple[int, int]:
    return suggestion.suggested_max_priority_fee_per_gas, suggestion.suggested_max_fee_per_gas


async def test_rewards_of_full_blocks_reach_the_suggestions() -> None:
    with running_anvil("--gas-limit", "420000") as node:
        for number in range(8):
            for place in range(9):
                node.send((20 + number * place) * GWEI, 900 * GWEI)
            node.mine()
        async with a_follower(node) as follower:
            await follower.refresh()
        fees = follower.snapshot().suggested_gas_fees
        blocks = node.blocks()
        tips = [tips_of(node, block) for block in blocks]

    assert levels(fees.low) == expected_level(blocks, tips, (10, 94, GWEI, 110))
    assert levels(fees.high) == expected_level(blocks, tips, (30, 98, GWEI * 2, 125))
    assert fees.low.suggested_max_priority_fee_per_gas > GWEI
    assert fees.latest_priority_fee_range == (reward_at(tips[-1], 10), reward_at(tips[-1], 95))
    assert fees.priority_fee_trend == "up"


async def test_follower_reads_ranges_that_the_node_refuses_from_headers() -> None:
    with running_anvil() as node:
        node.mine(2299)
        async with a_client(node) as client:
            assert await client.fee_history(10, 100, ()) is None
            follower = ChainFollower(client, NetworkId(CHAIN_ID), FollowPolicy(), lambda: NOW)
            for _ in range(3):
                await follower.refresh()
        everything = follower.snapshot()
        expected = [base_fee_of(block) for block in node.blocks()]

    assert follower.is_complete
    assert len(expected) == 2300
    assert list(everything.base_fee_history) == expected[-500:]
    assert everything.base_fee_percentile == nearest_rank(expected, 50)
    assert everything.busy_threshold == nearest_rank(expected, 90)


async def test_follower_replaces_what_a_reorganisation_replaced() -> None:
    with running_anvil("--gas-limit", "420000") as node:
        node.mine(10)
        async with a_follower(node) as follower:
            await follower.refresh()
            fork = node.ask("evm_snapshot")
            for _ in range(2):
                node.send(GWEI, 900 * GWEI, 4000)
                node.mine()
                await follower.refresh()
            before = follower.snapshot()
            node.ask("evm_revert", fork)
            node.mine(3)
            await follower.refresh()
        expected = [base_fee_of(block) for block in node.blocks()]

    assert before.head.number == 12
    assert follower.snapshot().head.number == 13
    assert list(follower.snapshot().base_fee_history) == expected
    assert list(before.base_fee_history) != expected[:13]


async def test_follower_believes_a_chain_that_went_back_after_a_while() -> None:
    with running_anvil() as node:
        node.mine(4)
        async with a_follower(node) as follower:
            await follower.refresh()
            fork = node.ask("evm_snapshot")
            node.mine(2)
            await follower.refresh()
            node.ask("evm_revert", fork)
            heads = []
            for _ in range(3):
                await follower.refresh()
                heads.append(follower.snapshot().head.number)

    assert heads == [6, 6, 4]
    assert len(follower.snapshot().base_fee_history) == 5


async def test_follower_starts_over_where_another_chain_took_the_place() -> None:
    with running_anvil() as node:
        fork = node.ask("evm_snapshot")
        node.mine(5)
        async with a_follower(node) as follower:
            await follower.refresh()
            node.ask("evm_revert", fork)
            await follower.refresh()

    assert follower.snapshot().head.number == 0
    assert follower.snapshot().base_fee_history == (GWEI,)


async def test_follower_answers_of_a_chain_that_has_one_block() -> None:
    with running_anvil() as node:
        async with a_follower(node) as follower:
            await follower.refresh()

    found = follower.snapshot()
    assert found.head.number == 0
    assert found.base_fee_history == (GWEI,)
    assert found.base_fee_percentile == found.busy_threshold == GWEI
    assert follower.is_complete


async def test_follower_counts_zero_wei_where_there_is_no_base_fee() -> None:
    with running_anvil("--hardfork", "berlin") as node:
        node.mine(2)
        async with a_follower(node) as follower:
            await follower.refresh()

    found = follower.snapshot()
    assert found.head.base_fee_per_gas is None
    assert found.base_fee_history == (0, 0, 0)
    assert (
        found.suggested_gas_fees.low.suggested_max_fee_per_gas == FeePolicy().low.priority_fee_floor
    )


async def test_follower_refuses_a_node_of_another_network() -> None:
    with running_anvil() as node:
        async with a_client(node) as client:
            follower = ChainFollower(client, NetworkId(1), FollowPolicy(), lambda: NOW)
            with pytest.raises(UpstreamRefused, match="follows network 31337, not 1"):
                await follower.refresh()


async def test_node_client_reads_receipts_and_headers(busy_node: Anvil) -> None:
    block = busy_node.blocks()[-5]
    tx_hash = TxHash.parse(block["transactions"][0]["hash"])
    async with a_client(busy_node) as client:
        receipt, absent = await asyncio.gather(
            client.receipt(tx_hash), client.receipt(TxHash(bytes(32)))
        )
        header = await client.block(int(block["number"], 16))
        beyond = await client.block(10**6)

    assert receipt is not None
    assert header is not None
    assert receipt.tx_hash == tx_hash
    assert header.hash.hex() == block["hash"][2:]
    assert (absent, beyond) == (None, None)
