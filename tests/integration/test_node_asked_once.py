"""A node is asked once per new block, whether one client or hundreds want the numbers."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import anyio
import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.serve.dependencies import ServedNetwork
from dashboard.upstream.node_failover import FailoverFollower
from tests.integration.faulty_nodes import OddNode, following
from tests.integration.running_server import KEY, a_store, services_of, serving_here
from tests.unit.upstream.chain_followers import a_chain
from tests.waiting import eventually_async

OPERATIONS = ("suggestedGasFees", "baseFeeHistory", "baseFeePercentile", "busyThreshold")
BLOCKS = 5


@pytest.mark.parametrize("clients", [1, 300])
async def test_node_is_asked_once_per_block_however_many_clients_ask(
    tmp_path: Path, clients: int
) -> None:
    node = OddNode(a_chain(300))
    async with following(node) as follower:
        networks = (ServedNetwork(NetworkId(1), "counted", follower),)
        with a_store(tmp_path) as store:
            async with serving_here(services_of(store, networks)) as address:
                await eventually_async(lambda: follower.is_complete, what="the whole window")
                node.methods.clear()
                for number in range(300, 300 + BLOCKS):
                    node.chain.mine(5000 + number)
                    await ask_all(address, clients // BLOCKS + 1)
                    await eventually_async(partial(has_read, follower, number))

    asked = Counter(node.methods)
    assert asked["eth_feeHistory"] == BLOCKS
    assert set(asked) == {"eth_feeHistory", "eth_getBlockByNumber"}


def has_read(follower: FailoverFollower, number: int) -> bool:
    return follower.head is not None and follower.head.number == number


async def ask_all(address: str, clients: int) -> None:
    """Let so many clients ask for one operation each, some at a time, over bare connections."""
    host, _, port = address.partition(":")
    at_once = anyio.CapacityLimiter(20)

    async def ask(place: int) -> None:
        path = f"/v3/{KEY}/networks/1/{OPERATIONS[place % len(OPERATIONS)]}"
        async with at_once, await anyio.connect_tcp(host, int(port)) as stream:
            await stream.send(
                f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
            )
            assert (await stream.receive()).startswith(b"HTTP/1.1 200 ")

    async with anyio.create_task_group() as tasks:
        for place in range(clients):
            tasks.start_soon(ask, place)
