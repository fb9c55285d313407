"""The serve role: both APIs, from the store and the configured nodes."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from typing import Final

import anyio
from anyio import to_thread
from starlette.types import ASGIApp

from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.poll.lease import record_metered
from dashboard.serve.dependencies import ServeDependencies, ServedNetwork, ServeLimits
from dashboard.serve.keys.key_ring import AuthenticationThrottle, KeyLimiter
from dashboard.serve.keys.key_sync import KeySync
from dashboard.serve.rpc.websocket_endpoint import finish_sessions
from dashboard.serve.server import build_app, server_config
from dashboard.settings import Settings
from dashboard.settings.key_limits import configured_keys
from dashboard.settings.schema import fill
from dashboard.store.engine.engine import Store
from dashboard.transport.host_check import HostCheck
from dashboard.wiring.clients import Clients, open_clients
from dashboard.wiring.clock import utc_now
from dashboard.wiring.http import allowed_hosts, connection_limits, run_http
from dashboard.wiring.networks import Network, networks_of
from dashboard.wiring.store import open_reading_store

_log = get_logger(__name__)

_COUNTED_EVERY: Final = 30.0
"""Seconds between two records of what nodes were asked."""

_UNCOLLECTED: Final = 20_000
"""Objects allocated, minus those freed, before Python collects the youngest ones."""


async def run_serve(
    settings: Settings, stop: asyncio.Event, listener: socket.socket | None = None
) -> None:
    with closing(open_reading_store(settings)) as store:
        async with open_clients(settings, store=store) as clients, _counting(clients, store):
            dependencies = _dependencies(settings, store, clients)
            app = _app(dependencies, settings)
            config = server_config(dependencies, settings.serve.host, settings.serve.port, app)
            _collect_garbage_rarely()
            finish = partial(finish_sessions, dependencies.sessions)
            await run_http(config, stop, "LINEWATCH_SERVE_PORT", finish, listener)


@asynccontextmanager
async def _counting(clients: Clients, store: Store) -> AsyncIterator[None]:
    """Record meanwhile what reading nodes costs, if it costs anything."""

    def count() -> None:
        for network_id, meter in clients.meters.items():
            with meter.handed_over() as metered, store.write() as connection:
                record_metered(connection, network_id, utc_now(), metered)

    async def count_often() -> None:
        while True:
            await anyio.sleep(_COUNTED_EVERY)
            try:
                await to_thread.run_sync(count)
            except StoreError as error:
                _log.warning("What nodes were asked could not be saved yet", why=str(error))

    if not clients.keepers:
        yield
        return
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count_often)
        yield
        tasks.cancel_scope.cancel()


def _app(dependencies: ServeDependencies, settings: Settings) -> ASGIApp:
    """Return the app; with the published development key, only for hosts of this machine."""
    app = build_app(dependencies)
    if not settings.has_development_key:
        return app
    return HostCheck(app, allowed_hosts(settings, with_cors=True))


def _collect_garbage_rarely() -> None:
    """Collect garbage rarely, and never among the objects from the start.

    A batch allocates thousands of objects at once, none of them in a cycle: collecting after every
    700, as is the default, takes a quarter of the time of look-ups.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_UNCOLLECTED, 20, 20)


def _dependencies(settings: Settings, store: Store, clients: Clients) -> ServeDependencies:
    """Build the dependencies of serve, with the present keys; InputError if two clash."""
    serve = settings.serve
    key_limiter = KeyLimiter()
    key_sync = KeySync(store, configured_keys(settings), key_limiter, utc_now)
    key_sync.load()
    return fill(
        ServeDependencies,
        serve,
        store=store,
        keys=key_sync.ring,
        networks=tuple(_served(each, clients, settings) for each in networks_of(settings)),
        clock=utc_now,
        limits=fill(ServeLimits, serve, connections=connection_limits(serve)),
        metrics_key=serve.metrics_key or None,
        has_page=serve.page,
        key_limiter=key_limiter,
        authentication_throttle=AuthenticationThrottle(serve.wrong_keys_per_minute),
        key_sync=key_sync,
        allowed_hosts=allowed_hosts(settings),
    )


def _served(network: Network, clients: Clients, settings: Settings) -> ServedNetwork:
    is_followed = network.endpoints.serve_fees
    return ServedNetwork(
        network_id=network.network_id,
        name=network.title,
        follower=clients.follower(network, settings.fees) if is_followed else None,
        is_default_for_old_reports=settings.serve.default_network_id == network.network_id,
    )
