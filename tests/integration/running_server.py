"""The served APIs under their real server, on a free port of loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx
import uvicorn
from eth_account import Account

from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.serve.dependencies import ServeDependencies, ServedNetwork, ServeLimits
from dashboard.serve.keys.key_ring import KeyRing
from dashboard.serve.server import server_config
from dashboard.store.engine.engine import Store, open_store
from tests.canaries import canary
from tests.databases import new_sqlite_store
from tests.unit.serve.scripted_follower import ScriptedFollower
from tests.waiting import PATIENCE, eventually, eventually_async

KEY = canary("key")
SECRET = canary("secret")
NARROW_KEY = canary("key of one network")
NETWORK = NetworkId(424242)
OTHER_NETWORK = NetworkId(59144)
LIMITS = ServeLimits(
    largest_body=50_000, largest_batch=20, refresh_period=timedelta(milliseconds=20)
)
KEYS = KeyRing(
    [
        ApiKey.of("tests", Secret(KEY), Secret(SECRET)),
        ApiKey.of("narrow", Secret(NARROW_KEY), network_ids=[OTHER_NETWORK]),
    ]
)


def utc_now() -> datetime:
    return datetime.now(UTC)


@contextmanager
def a_store(folder: Path) -> Iterator[Store]:
    """Yield a new store in a file of `folder`."""
    url = new_sqlite_store(folder / "linewatch.db")
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


def services_of(
    store: Store, networks: tuple[ServedNetwork, ...] | None = None, limits: ServeLimits = LIMITS
) -> ServeDependencies:
    """Serve these networks; by default one whose node is scripted, and another without a node."""
    return ServeDependencies(
        store=store,
        keys=KEYS,
        networks=networks
        or (
            ServedNetwork(NETWORK, "devnet", ScriptedFollower(utc_now)),
            ServedNetwork(OTHER_NETWORK, "linea"),
        ),
        clock=utc_now,
        cors_origins=("https://wallet.example",),
        limits=limits,
    )


@contextmanager
def serving(dependencies: ServeDependencies) -> Iterator[str]:
    """Yield ``host:port`` of the APIs, running in a thread; end them in good order."""
    with _listener() as listener:
        server = _server(dependencies)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            eventually(lambda: server.started, what="the start of the server")
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def an_api(folder: Path) -> Iterator[httpx.Client]:
    """Yield an HTTP client of running APIs with a store of their own."""
    with (
        a_store(folder) as store,
        serving(services_of(store)) as address,
        httpx.Client(base_url=f"http://{address}", timeout=PATIENCE) as client,
    ):
        yield client


@asynccontextmanager
async def serving_here(dependencies: ServeDependencies) -> AsyncIterator[str]:
    """Do the same in the loop of the caller, whose HTTP client asks the nodes."""
    with _listener() as listener:
        server = _server(dependencies)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            try:
                await eventually_async(lambda: server.started, what="the start of the server")
                yield f"127.0.0.1:{listener.getsockname()[1]}"
            finally:
                server.should_exit = True


def _listener() -> socket.socket:
    """Listen without Nagle's delay, which asyncio turns off only for sockets of its own making."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _server(dependencies: ServeDependencies) -> uvicorn.Server:
    config = server_config(dependencies, "127.0.0.1", 0)
    return uvicorn.Server(config)


@dataclass(frozen=True)
class Signed:
    """A signed transaction as a node holds it."""

    tx_hash: str
    sender: str
    raw: str


def a_signed_transaction(nonce: int, chain_id: int | None = NETWORK) -> Signed:
    """Sign a transfer; without a chain id as before EIP-155."""
    account = Account.from_key("0x" + "5e" * 32)
    fields: dict[str, Any] = {
        "to": "0x" + "00" * 19 + "42",
        "nonce": nonce,
        "value": 0,
        "gas": 21_000,
        "gasPrice": 10**9,
    }
    if chain_id is not None:
        fields["chainId"] = chain_id
    signed = account.sign_transaction(fields)
    return Signed(
        f"0x{signed.hash.hex()}", account.address.lower(), f"0x{signed.raw_transaction.hex()}"
    )


def a_report_of(transaction: Signed, **changes: object) -> dict[str, Any]:
    """Return the params with which a sequencer reports it just now."""
    report: dict[str, Any] = {
        "txRejectionStage": "SEQUENCER",
        "timestamp": utc_now().isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "blockNumber": 1_000,
        "transactionRLP": transaction.raw,
        "reasonMessage": "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)",
        "overflows": [],
    }
    return report | changes


def a_call(method: str, params: object, request_id: object = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
