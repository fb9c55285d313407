"""The served gas API over one real node, asked once it has read the node's newest block."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.serve.dependencies import ServedNetwork
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_failover import FailoverFollower
from dashboard.wiring.clock import elapsed
from tests.anvil import CHAIN_ID, Anvil
from tests.integration.running_server import KEY, a_store, services_of, serving_here, utc_now
from tests.waiting import PATIENCE, eventually_async

NEWEST = ("latest", False)
OPERATIONS = ("suggestedGasFees", "baseFeeHistory", "baseFeePercentile", "busyThreshold")


class Api:
    """The served gas API of one node, and what it must have read before it is asked."""

    def __init__(self, node: Anvil, follower: FailoverFollower, client: httpx.AsyncClient) -> None:
        self._node = node
        self._follower = follower
        self._client = client

    async def answers(self) -> dict[str, Any]:
        """Return all four answers once the node's newest block is known to the API."""
        newest = self._node.ask("eth_getBlockByNumber", *NEWEST)["hash"]
        await eventually_async(lambda: self._has_read(newest), what="reading the newest block")
        read_at = self._follower.read_at
        await eventually_async(lambda: self._follower.read_at != read_at, what="one more round")
        return {name: (await self._client.get(name)).json() for name in OPERATIONS}

    def _has_read(self, newest: str) -> bool:
        head = self._follower.head
        is_newest = head is not None and f"0x{head.hash.hex()}" == newest
        return is_newest and self._follower.is_complete


@asynccontextmanager
async def api_over(node: Anvil, folder: Path, window_blocks: int) -> AsyncIterator[Api]:
    """Yield the API with a window of so many blocks."""
    async with open_client() as client:
        asker = HttpAsker(client, Endpoint("anvil node", Secret(node.url)), RetryPolicy())
        policy = FollowPolicy(FeePolicy(window_blocks=window_blocks))
        node_client, network_id = NodeClient(asker), NetworkId(CHAIN_ID)
        chain = ChainFollower(node_client, network_id, policy, utc_now)
        follower = FailoverFollower(chain, [node_client], network_id, elapsed)
        networks = (ServedNetwork(NetworkId(CHAIN_ID), "anvil", follower),)
        with a_store(folder) as store:
            async with serving_here(services_of(store, networks)) as address:
                base_url = f"http://{address}/v3/{KEY}/networks/{CHAIN_ID}/"
                async with httpx.AsyncClient(base_url=base_url, timeout=PATIENCE) as asking:
                    yield Api(node, follower, asking)
