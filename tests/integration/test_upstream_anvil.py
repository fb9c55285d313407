"""Following a real EVM node where it has ways of its own; `test_serve_real_node.py` has numbers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.node import NodeClient
from tests.anvil import CHAIN_ID, Anvil, running_anvil
from tests.builders import GWEI

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@asynccontextmanager
async def a_client(node: Anvil) -> AsyncIterator[NodeClient]:
    async with open_client() as client:
        endpoint = Endpoint("anvil node", Secret(node.url))
        yield NodeClient(HttpAsker(client, endpoint, RetryPolicy()))


def a_follower(client: NodeClient) -> ChainFollower:
    return ChainFollower(client, NetworkId(CHAIN_ID), FollowPolicy(), lambda: NOW)


async def test_ranges_that_the_node_refuses_are_read_from_headers() -> None:
    with running_anvil() as node:
        node.mine(2299)
        async with a_client(node) as client:
            assert await client.fee_history(10, 100, ()) is None
            follower = a_follower(client)
            for _ in range(3):
                await follower.refresh()
        everything = follower.snapshot()
        expected = [int(block["baseFeePerGas"], 16) for block in node.blocks()]

    assert follower.is_complete
    assert len(expected) == 2300
    assert list(everything.base_fee_history) == expected[-500:]
    assert everything.base_fee_percentile == sorted(expected)[1149]
    assert everything.busy_threshold == sorted(expected)[2069]


async def test_follower_counts_zero_wei_where_there_is_no_base_fee() -> None:
    with running_anvil("--hardfork", "berlin") as node:
        node.mine(2)
        async with a_client(node) as client:
            follower = a_follower(client)
            await follower.refresh()

    found = follower.snapshot()
    assert found.head.base_fee_per_gas is None
    assert found.base_fee_history == (0, 0, 0)
    assert (
        found.suggested_gas_fees.low.suggested_max_fee_per_gas == FeePolicy().low.priority_fee_floor
    )


async def test_node_client_reads_receipts_and_headers() -> None:
    with running_anvil() as node:
        tx_hash = TxHash.parse(node.send(GWEI, 400 * GWEI))
        node.mine()
        async with a_client(node) as client:
            receipt, absent = await asyncio.gather(
                client.receipt(tx_hash), client.receipt(TxHash(bytes(32)))
            )
            header, beyond = await client.block(1), await client.block(10**6)
        block = node.blocks()[1]

    assert receipt is not None
    assert header is not None
    assert receipt.tx_hash == tx_hash
    assert header.hash.hex() == block["hash"][2:]
    assert (absent, beyond) == (None, None)
