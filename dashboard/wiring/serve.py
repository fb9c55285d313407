"""The serve role: both APIs, from the store and the configured nodes."""

from __future__ import annotations

import asyncio
from contextlib import closing

from dashboard.domain.secret import Secret
from dashboard.serve.doorman import ConnectionLimits
from dashboard.serve.keys import ApiKey, KeyRing
from dashboard.serve.server import server_config
from dashboard.serve.services import Limits, ServedNetwork, ServeServices
from dashboard.settings import Settings
from dashboard.settings.schema import ServeSettings
from dashboard.upstream.http import open_client
from dashboard.wiring.clock import utc_now
from dashboard.wiring.http import run_http
from dashboard.wiring.networks import Clients, Network, networks_of
from dashboard.wiring.store import open_checked_store

DEVELOPMENT_KEY = "dev"


async def run_serve(settings: Settings, stop: asyncio.Event) -> None:
    """Serve both APIs until `stop`."""
    networks = networks_of(settings)
    http = open_client()
    limits = Limits(
        connections=_connections(settings.serve),
        largest_body=settings.serve.largest_body,
        largest_batch=settings.serve.largest_batch,
        waiting_reports=settings.serve.waiting_reports,
        subscriptions=settings.serve.largest_subscriptions,
        websocket_queue=settings.serve.largest_queue,
        websocket_idle=settings.serve.quiet_timeout,
        oldest_fees=settings.serve.oldest_fees,
    )
    with closing(open_checked_store(settings)) as store:
        async with http:
            clients = Clients(http, settings.poll)
            services = ServeServices(
                store=store,
                keys=key_ring(settings),
                networks=tuple(_served(network, clients, settings) for network in networks),
                clock=utc_now,
                method_prefixes=tuple(settings.serve.method_prefixes),
                cors_origins=tuple(settings.serve.cors_origins),
                limits=limits,
                log_requests=settings.serve.log_requests,
            )
            config = server_config(services, settings.serve.host, settings.serve.port)
            await run_http(config, stop, "LINEWATCH_SERVE_PORT")


def _connections(serve: ServeSettings) -> ConnectionLimits:
    return ConnectionLimits(
        total=serve.largest_connections,
        per_address=serve.largest_connections_per_address,
        largest_head=serve.largest_head,
        head=serve.head_timeout,
        body=serve.body_timeout,
        idle=serve.idle_timeout,
        reading=serve.reading_timeout,
        ping=serve.ping_period,
        pong=serve.ping_timeout,
        stop=serve.stop_timeout,
    )


def key_ring(settings: Settings) -> KeyRing:
    """Return the accepted keys: the configured ones, or the development key."""
    if settings.has_development_key:
        secret = Secret(DEVELOPMENT_KEY)
        return KeyRing([ApiKey.of("development", secret, secret)])
    keys = settings.serve.keys
    return KeyRing(ApiKey.of(name, own.key, own.secret) for name, own in keys.items())


def _served(network: Network, clients: Clients, settings: Settings) -> ServedNetwork:
    is_followed = network.endpoints.serve_fees
    return ServedNetwork(
        network_id=network.network_id,
        name=network.title,
        follower=clients.follower(network, settings.fees) if is_followed else None,
        is_default_for_old_reports=settings.serve.default_network_id == network.network_id,
    )
