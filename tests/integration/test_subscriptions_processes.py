"""Two serve processes on one store: a subscriber hears what the other saves, also after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.serve_processes import KEY, SAVE, ServeHome, open_serve_home
from tests.integration.documented_server import a_socket, exchange, hear
from tests.integration.running_server import a_call, a_report_of, a_signed_transaction


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServeHome]:
    with open_serve_home(tmp_path / "home", doors=2) as opened:
        yield opened


def report(house: ServeHome, nonce: int) -> str:
    """Report a transaction to the first process and return its hash."""
    transaction = a_signed_transaction(nonce)
    [reply] = house.servers[0].call([a_call(SAVE, a_report_of(transaction))])
    assert reply["result"]["status"] == "SAVED"
    return transaction.tx_hash


def subscribe(socket: Any, since: str | None = None) -> None:  # noqa: ANN401 - a WebSocket
    assert "result" in exchange(socket, a_call("linewatch_subscribe", ["rejections", {}, since]))


def test_subscriber_of_a_killed_process_goes_on_at_its_cursor(house: ServeHome) -> None:
    front = house.servers[1]
    with a_socket(f"127.0.0.1:{front.port}", KEY) as socket:
        subscribe(socket)
        first = report(house, 1)
        rejection = hear(socket)["params"]["result"]
        front.kill()
    missed = report(house, 2)
    front.start()
    front.wait_until_ready()
    with a_socket(f"127.0.0.1:{front.port}", KEY) as socket:
        subscribe(socket, rejection["cursor"])
        resumed = hear(socket)["params"]["result"]["txHash"]
        live = report(house, 3)

        assert rejection["txHash"] == first
        assert resumed == missed
        assert hear(socket)["params"]["result"]["txHash"] == live
