"""The gas API over a real EVM node that is not ours: right to the last wei, through changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.serve.services import ServedNetwork
from dashboard.upstream.blocks import ChainFollower, FollowPolicy
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.failover import FailoverFollower
from dashboard.upstream.http import HttpAsker, open_client
from dashboard.upstream.node import NodeClient
from dashboard.upstream.retry import RetryPolicy
from dashboard.wiring.clock import elapsed
from tests.anvil import CHAIN_ID, Anvil, running_anvil
from tests.integration.gas_by_hand import GWEI, gas_operations, read_blocks
from tests.integration.serving import KEY, a_store, services_of, serving_here, utc_now
from tests.waiting import eventually_async

pytestmark = pytest.mark.anyio

NEWEST = ("latest", False)
BLOCK_OF_FOUR = ("--gas-limit", "84000")


class Api:
    """The served gas API of one node, and what it must have read before it is asked."""

    def __init__(self, node: Anvil, follower: FailoverFollower, base_url: str) -> None:
        self._node = node
        self._follower = follower
        self._base_url = base_url

    async def answers(self) -> dict[str, Any]:
        """Return all four answers once the node's newest block is known to the API."""
        newest = self._node.ask("eth_getBlockByNumber", *NEWEST)["hash"]
        await eventually_async(lambda: self._has_read(newest), what="reading the newest block")
        read_at = self._follower.read_at
        await eventually_async(lambda: self._follower.read_at != read_at, what="one more round")
        async with httpx.AsyncClient(base_url=self._base_url) as client:
            names = ("suggestedGasFees", "baseFeeHistory", "baseFeePercentile", "busyThreshold")
            return {name: (await client.get(name)).json() for name in names}

    def _has_read(self, newest: str) -> bool:
        head = self._follower.head
        is_newest = head is not None and f"0x{head.hash.hex()}" == newest
        return is_newest and self._follower.is_complete


@asynccontextmanager
async def api_over(node: Anvil, folder: Path, window_blocks: int) -> AsyncIterator[Api]:
    async with open_client() as client:
        asker = HttpAsker(client, Endpoint("anvil node", Secret(node.url)), RetryPolicy())
        policy = replace(FollowPolicy(), window_blocks=window_blocks)
        node_client, network_id = NodeClient(asker), NetworkId(CHAIN_ID)
        chain = ChainFollower(node_client, network_id, policy, utc_now)
        follower = FailoverFollower(chain, [node_client], network_id, elapsed)
        networks = (ServedNetwork(NetworkId(CHAIN_ID), "anvil", follower),)
        with a_store(folder) as store:
            async with serving_here(services_of(store, networks)) as address:
                base_url = f"http://{address}/v3/{KEY}/networks/{CHAIN_ID}/"
                yield Api(node, follower, base_url)


def live_through(node: Anvil, blocks: int, seed: int) -> None:
    """Mine blocks that are empty, half full and full, with tips from dust to high."""
    chance = Random(seed)  # noqa: S311 - traffic that repeats, nothing to guard
    for _ in range(blocks):
        for _ in range(chance.randrange(5)):
            node.send(chance.randrange(1, 9 * GWEI), 10_000 * GWEI)
        node.mine()


@pytest.mark.parametrize("window_blocks", [20_000, 40])
async def test_all_four_operations_agree_with_the_blocks_to_the_last_wei(
    tmp_path: Path, window_blocks: int
) -> None:
    with running_anvil(*BLOCK_OF_FOUR) as node:
        live_through(node, 60, seed=1559)
        async with api_over(node, tmp_path, window_blocks) as api:
            assert await api.answers() == gas_operations(read_blocks(node), window_blocks)

            live_through(node, 15, seed=7)
            assert await api.answers() == gas_operations(read_blocks(node), window_blocks)


async def test_longer_chain_is_told_by_its_newest_five_hundred_blocks(tmp_path: Path) -> None:
    with running_anvil(*BLOCK_OF_FOUR) as node:
        live_through(node, 20, seed=3)
        node.mine(500)
        live_through(node, 10, seed=4)
        async with api_over(node, tmp_path, 20_000) as api:
            answers = await api.answers()

        assert len(answers["baseFeeHistory"]) == 500
        assert answers == gas_operations(read_blocks(node), 20_000)


async def test_replaced_blocks_are_replaced_in_every_answer(tmp_path: Path) -> None:
    with running_anvil(*BLOCK_OF_FOUR) as node:
        live_through(node, 20, seed=5)
        fork = node.ask("evm_snapshot")
        node.mine(4)
        async with api_over(node, tmp_path, 20_000) as api:
            await api.answers()
            node.ask("evm_revert", fork)
            live_through(node, 6, seed=6)

            assert await api.answers() == gas_operations(read_blocks(node), 20_000)


async def test_newborn_chain_has_sensible_answers(tmp_path: Path) -> None:
    with running_anvil() as node:
        async with api_over(node, tmp_path, 20_000) as api:
            answers = await api.answers()
            expected = gas_operations(read_blocks(node), 20_000)

    # This node's block 1 repeats the base fee of its block 0, whatever EIP-1559 says.
    expected["suggestedGasFees"]["baseFeeTrend"] = "level"
    assert answers == expected
