"""The devnet role: the simulated chain, its nodes' reports, and the sample that is tracked."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import datetime

from starlette.types import ASGIApp

from dashboard.devnet.accepted_transactions import AcceptedTransactions
from dashboard.devnet.app import build_app
from dashboard.devnet.chain import DEVNET_ID, Chain
from dashboard.devnet.genesis import open_genesis
from dashboard.devnet.traffic_runner import TrackTransaction, TrafficRunner
from dashboard.domain.quantity import TxHash
from dashboard.errors import SettingsError
from dashboard.serve.server import within_descriptors
from dashboard.serve.transport.connection_limits import ConnectionLimiter
from dashboard.serve.transport.http_connection import LimitedHttpConnection, ServeConfig
from dashboard.settings import Settings
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.transactions import TrackRequest, track
from dashboard.wiring.clients import open_clients
from dashboard.wiring.clock import utc_now
from dashboard.wiring.host_check import HostCheck, allowed_hosts
from dashboard.wiring.http import connection_limits, run_http
from dashboard.wiring.networks import networks_of
from dashboard.wiring.store import open_role_store


async def run_devnet(settings: Settings, stop: asyncio.Event) -> None:
    """Run the chain until `stop`; it goes on from its stored genesis at the next start."""
    network = next((each for each in networks_of(settings) if each.is_simulated), None)
    if network is None:
        raise SettingsError("devnet.mode is off, or networks are configured: set it to on")
    folder = settings.home / "devnet"
    chain = Chain(open_genesis(folder, settings.devnet.seed, utc_now))
    with (
        closing(AcceptedTransactions(folder)) as accepted,
        closing(open_role_store(settings)) as store,
    ):
        async with open_clients(settings, attempts=1) as clients:
            serve = clients.exclusion(network)
            assert serve is not None  # noqa: S101 - devnet always has the endpoint of our own serve
            traffic_runner = TrafficRunner(chain, accepted, serve, _tracker(store), utc_now)
            app = HostCheck(build_app(chain, accepted, utc_now), allowed_hosts(settings))
            chain.block(chain.head(utc_now()))  # catches up before the first request
            async with _reporting(traffic_runner, stop):
                await run_http(_config(app, settings), stop, "LINEWATCH_DEVNET_PORT")


@asynccontextmanager
async def _reporting(traffic_runner: TrafficRunner, stop: asyncio.Event) -> AsyncIterator[None]:
    """Run the traffic meanwhile; if it fails, the role ends with its error."""
    running = asyncio.create_task(traffic_runner.run())
    running.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def _config(app: ASGIApp, settings: Settings) -> ServeConfig:
    config = ServeConfig(
        app,
        host=settings.devnet.host,
        port=settings.devnet.port,
        http=LimitedHttpConnection,
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=2,
    )
    limits = within_descriptors(connection_limits(settings.serve))
    config.connection_limiter = ConnectionLimiter(limits)
    return config


def _tracker(store: Store) -> TrackTransaction:
    """Return what tracks a sample of the simulated transactions."""

    def track_sample(tx_hash: TxHash, attempted_at: datetime, label: str) -> None:
        request = TrackRequest(tx_hash, (DEVNET_ID,), attempted_at, label)
        with store.write() as connection:
            track(connection, request, utc_now())

    return track_sample
