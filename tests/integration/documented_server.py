"""A real server at the moment and in the place of the documented examples."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from websockets.sync.client import ClientConnection, connect

from dashboard.domain.quantity import NetworkId
from dashboard.serve.dependencies import ServedNetwork
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import migrate
from tests.integration.running_server import KEY, services_of, serving

NETWORK = NetworkId(59144)
"""The network of the signed transaction in the documented examples."""
INSTALLATION = UUID("4c494e45-5741-4743-8000-000000000001")
MOMENT = datetime(2026, 11, 20, 12, 0, 1, tzinfo=UTC)


@contextmanager
def a_documented_server(folder: Path) -> Iterator[str]:
    """Yield ``host:port`` of a server whose clock and store are those of the examples."""
    url = f"sqlite:///{folder / 'linewatch.db'}"
    migrate(url, INSTALLATION)
    with open_store(url) as store:
        networks = (ServedNetwork(NETWORK, "linea"),)
        dependencies = replace(services_of(store, networks), clock=lambda: MOMENT)
        with serving(dependencies) as address:
            yield address


@contextmanager
def a_socket(address: str, key: str = KEY) -> Iterator[ClientConnection]:
    """Yield a WebSocket to the RPC."""
    with connect(f"ws://{address}/ws/v3/{key}", proxy=None) as connection:
        yield connection


def exchange(socket: ClientConnection, message: object) -> Any:  # noqa: ANN401 - any JSON value
    """Send a message and return the next one that comes."""
    socket.send(json.dumps(message))
    return hear(socket)


def hear(socket: ClientConnection, timeout: float = 10) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(socket.recv(timeout=timeout))
