"""Asking the gas API over real sockets, with either form of credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamUnavailable, UpstreamUnreadable
from dashboard.settings import load_settings
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas import BasicKey, Credentials, GasClient, PathKey
from dashboard.upstream.http import HttpAsker, open_client
from dashboard.wiring.clients import open_clients
from dashboard.wiring.networks import networks_of
from tests.integration.faulty_upstreams import (
    AT_ONCE,
    TRUST,
    an_upstream,
    asking_http,
    replying,
    silent,
)

CREDENTIALS: list[tuple[Credentials, str, bool]] = [
    (PathKey(Secret("k y/1")), "/v3/k%20y%2F1/networks/59144/busyThreshold", False),
    (BasicKey(Secret("key"), Secret("s3cret")), "/networks/59144/busyThreshold", True),
]


@pytest.mark.parametrize(("credentials", "path", "is_basic"), CREDENTIALS)
async def test_gas_is_asked_with_either_form_of_credentials(
    credentials: Credentials, path: str, *, is_basic: bool
) -> None:
    fee = b'{"busyThreshold":"0.000000007"}'
    async with an_upstream(replying("200 OK", fee)) as upstream, open_client(TRUST) as http:
        url = Secret(f"http://127.0.0.1:{upstream.port}/")
        asker = HttpAsker(http, Endpoint("linea gas", url), AT_ONCE)
        client = GasClient(asker, NetworkId(59144), credentials)
        threshold = await client.ask(Operation.BUSY_THRESHOLD)

    request = upstream.requests[0]
    assert threshold == 7
    assert request.startswith(f"GET {path} HTTP/1.1".encode())
    assert (b"authorization: Basic a2V5OnMzY3JldA==".lower() in request.lower()) is is_basic


async def test_gas_operations_ask_their_own_paths() -> None:
    async with asking_http(replying("200 OK", b'["1","2.5"]')) as (asker, upstream):
        client = GasClient(asker, NetworkId(1), PathKey(Secret("key")))
        history = await client.ask(Operation.BASE_FEE_HISTORY)
        for operation in (Operation.SUGGESTED_GAS_FEES, Operation.BASE_FEE_PERCENTILE):
            with pytest.raises(UpstreamUnreadable, match="cannot be read"):
                await client.ask(operation)

    paths = [request.split()[1].rpartition(b"/")[2] for request in upstream.requests]
    assert history == (1_000_000_000, 2_500_000_000)
    assert paths == [b"baseFeeHistory", b"suggestedGasFees", b"baseFeePercentile"]


async def test_gas_api_that_hangs_is_asked_again_with_the_next_poll(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    async with an_upstream(silent) as upstream:
        path.write_text(
            "[poll]\nrequest_timeout = '150ms'\n[networks.mine]\nnetwork_id = 31337\n"
            f"gas = {{ url = 'http://127.0.0.1:{upstream.port}', key = 'k' }}\n",
            encoding="utf-8",
        )
        settings = load_settings({"LINEWATCH_CONFIG": str(path), "LINEWATCH_HOME": str(tmp_path)})
        async with open_clients(settings) as clients:
            client = clients.gas(networks_of(settings)[0])
            assert client is not None
            with pytest.raises(UpstreamUnavailable):
                await client.ask(Operation.BUSY_THRESHOLD)

    assert len(upstream.requests) == 1
