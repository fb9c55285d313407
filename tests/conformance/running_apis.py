"""Both APIs under their real server at a time that the test sets, and how they are spoken to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection

from dashboard.serve.dependencies import ServeDependencies, ServedNetwork
from tests.builders import A_MOMENT
from tests.fake_clock import FakeClock
from tests.integration.running_server import (
    KEY,
    LIMITS,
    NETWORK,
    OTHER_NETWORK,
    Signed,
    a_call,
    a_report_of,
    a_store,
    services_of,
    serving,
)
from tests.unit.serve.scripted_follower import ScriptedFollower
from tests.waiting import PATIENCE, eventually

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"
UNKNOWN_HASH = f"0x{'ab' * 32}"
FORMER_TIME = (A_MOMENT - timedelta(hours=1)).isoformat()
"""A rejection time an hour before the server's clock."""


@dataclass(frozen=True)
class Served:
    """Running APIs; `clock` is the time by which they answer."""

    address: str
    clock: FakeClock
    client: httpx.Client

    @property
    def http_url(self) -> str:
        return f"http://{self.address}/v3/{KEY}"

    @property
    def ws_url(self) -> str:
        return f"ws://{self.address}/ws/v3/{KEY}"

    def post(self, message: object, key: str = KEY) -> httpx.Response:
        """Send bytes as they are and any other value as JSON."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return self.client.post(f"/v3/{key}", content=body)

    def ask(self, method: str, params: object, key: str = KEY) -> dict[str, Any]:
        """Return the whole reply to one call."""
        response = self.post(a_call(method, params), key)
        assert response.status_code == 200
        reply: dict[str, Any] = response.json()
        return reply

    def result(self, method: str, params: object, key: str = KEY) -> Any:  # noqa: ANN401 - any JSON value
        """Return the result of a call that must succeed."""
        reply = self.ask(method, params, key)
        assert "error" not in reply, reply
        return reply["result"]

    def gas(self, rest: str) -> httpx.Response:
        """Get what stands behind ``/networks/`` with the key in the path."""
        return self.client.get(f"/v3/{KEY}/networks/{rest}")


def a_former_report(transaction: Signed, **changes: object) -> dict[str, Any]:
    """Return a report of something that a sequencer rejected an hour ago by the server's clock."""
    return a_report_of(transaction, **({"timestamp": FORMER_TIME} | changes))


@contextmanager
def apis(
    folder: Path,
    adapted: Callable[[ServeDependencies], ServeDependencies] = lambda dependencies: dependencies,
) -> Iterator[Served]:
    """Yield running APIs with a store of their own, with dependencies that a test may adapt."""
    clock = FakeClock()
    with a_store(folder) as store:
        dependencies = replace(
            services_of(store), clock=clock.now, networks=networks_at(clock), log_requests=False
        )
        with (
            serving(adapted(dependencies)) as address,
            httpx.Client(base_url=f"http://{address}", timeout=PATIENCE) as client,
        ):
            served = Served(address, clock, client)
            eventually(lambda: served.gas(f"{NETWORK}/busyThreshold").status_code == 200)
            yield served


def networks_at(clock: FakeClock) -> tuple[ServedNetwork, ...]:
    """Serve two networks, of which the first has a node and takes reports that name none."""
    follower = ScriptedFollower(clock.now)
    return (
        ServedNetwork(NETWORK, "devnet", follower, is_default_for_old_reports=True),
        ServedNetwork(OTHER_NETWORK, "linea"),
    )


__all__ = [
    "FORMER_TIME",
    "GET",
    "KEY",
    "LIMITS",
    "NETWORK",
    "OTHER_NETWORK",
    "SAVE",
    "UNKNOWN_HASH",
    "Served",
    "a_call",
    "a_former_report",
    "apis",
]


def answer_over(
    socket: ClientConnection, message: bytes, mark: str, besides: str = "no push"
) -> bytes | None:
    """Send text, or bytes where they are none, and then a mark; return what comes before that.

    None for nothing; what begins as `besides` is no answer.
    """
    try:
        socket.send(message.decode())
    except UnicodeDecodeError:
        socket.send(message)
    socket.send(f'{{"jsonrpc":"2.0","id":"{mark}","method":"mark"}}')
    answers = []
    while mark not in (answer := str(socket.recv(timeout=PATIENCE))):
        if not answer.startswith(besides):
            answers.append(answer.encode())
    assert len(answers) < 2, (message, answers)
    return answers[0] if answers else None
