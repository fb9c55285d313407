"""Devnet as people meet it: over HTTP, from its first start, past any end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dashboard.devnet.chain import GAS_LIMIT, Chain
from dashboard.devnet.genesis import DEVNET_ID, open_genesis
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.fees.suggestion import next_base_fee
from dashboard.domain.quantity import NetworkId, TxHash, Wei
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from dashboard.upstream.node import NodeClient
from tests.installation import Installation, listens, new_installation
from tests.integration.devnet_process import DevnetProcess, running_devnet, utc_now
from tests.integration.raw_client import raw_client, status_of, upgrade_head
from tests.waiting import eventually


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("devnet")


@pytest.fixture(scope="module")
def devnet(folder: Path) -> Iterator[DevnetProcess]:
    with running_devnet(folder) as process:
        yield process


def upgrade_from(installation: Installation, host: str) -> int | None:
    """Ask for a WebSocket under the name of that host; return the status."""
    with raw_client(installation.devnet.removeprefix("http://")) as client:
        client.sendall(upgrade_head("/").replace(b"Host: localhost", f"Host: {host}".encode()))
        return status_of(client.recv(65_536))


def test_first_start_answers_with_a_past(devnet: DevnetProcess) -> None:
    assert int(devnet.ask("eth_blockNumber"), 16) >= 20_000


def test_chain_goes_on_unchanged_after_a_kill(tmp_path: Path) -> None:
    with running_devnet(tmp_path) as devnet:
        before = devnet.block("latest")

    with running_devnet(tmp_path) as restarted:
        again = restarted.block(before["number"])

    assert again == before


def test_other_verbs_and_paths_are_not_answered(devnet: DevnetProcess) -> None:
    assert devnet.client.get(devnet.url).status_code == 405
    assert devnet.client.post(f"{devnet.url}/v3/key", content=b"{}").status_code == 404


def test_notification_gets_an_empty_answer(devnet: DevnetProcess) -> None:
    reply = devnet.client.post(devnet.url, content=b'{"jsonrpc":"2.0","method":"eth_chainId"}')

    assert (reply.status_code, reply.content) == (204, b"")


def test_batch_is_answered_in_its_order(devnet: DevnetProcess) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": place, "method": method, "params": []}
        for place, method in enumerate(["net_version", "eth_chainId", "eth_nothing"])
    ]

    replies = devnet.client.post(devnet.url, json=calls).json()

    assert [reply["id"] for reply in replies] == [0, 1, 2]
    assert replies[1]["result"] == hex(DEVNET_ID)


def test_websocket_that_devnet_refuses_is_no_error_in_its_log(tmp_path: Path) -> None:
    installation, log = new_installation(tmp_path / "home"), tmp_path / "log"
    assert installation.run("migrate").returncode == 0

    with installation.role("devnet", log):
        eventually(lambda: listens(installation.devnet_port), what="the start")
        statuses = [upgrade_from(installation, host) for host in ("127.0.0.1", "evil.example")]

    assert statuses == [405, 403]
    assert "uvicorn" not in log.read_text()


async def test_follower_reads_the_whole_window_at_the_first_start(
    devnet: DevnetProcess, folder: Path
) -> None:
    chain = Chain(open_genesis(folder, 7, utc_now))
    async with open_client() as http:
        node = NodeClient(HttpAsker(http, Endpoint("devnet", Secret(devnet.url)), RetryPolicy()))
        follower = ChainFollower(node, NetworkId(DEVNET_ID), FollowPolicy(), utc_now)
        while not follower.is_complete:
            await follower.refresh()
        fees = follower.snapshot()

    window = FeeWindow(20_000)
    for number in range(fees.head.number - 19_999, fees.head.number + 1):
        window.append(chain.block(number).base_fee_per_gas)
    assert fees.busy_threshold == window.percentile(90)
    assert fees.base_fee_percentile == window.percentile(50)
    assert fees.base_fee_history == window.newest(500)
    assert fees.head.timestamp <= datetime.now(UTC)


async def test_client_reads_blocks_fees_and_receipts(devnet: DevnetProcess) -> None:
    async with open_client() as http:
        node = NodeClient(HttpAsker(http, Endpoint("devnet", Secret(devnet.url)), RetryPolicy()))
        newest = await node.block("latest")
        assert newest is not None
        head = newest.number
        parent, block = await node.blocks([head - 1, head])
        history = await node.fee_history(2, head, [10, 50, 95])
        tx_hash = devnet.block(hex(head))["transactions"][0]
        receipt = await node.receipt(TxHash.parse(tx_hash))

    assert parent.base_fee_per_gas is not None
    assert block.parent_hash == parent.hash
    expected = next_base_fee(Wei(parent.base_fee_per_gas), parent.gas_used, GAS_LIMIT)
    assert block.base_fee_per_gas == expected
    assert history is not None
    assert history.base_fee_per_gas[:2] == (parent.base_fee_per_gas, block.base_fee_per_gas)
    assert history.reward is not None
    assert all(list(row) == sorted(row) for row in history.reward)
    assert receipt is not None
    assert receipt.block_number == head
