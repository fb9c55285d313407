"""The served APIs as one ASGI app, which follows the nodes while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import anyio
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router
from starlette.types import ASGIApp

from dashboard.serve.access import AccessLog
from dashboard.serve.following import NetworkFees
from dashboard.serve.gas import GasApi
from dashboard.serve.health import Readiness
from dashboard.serve.services import ServeServices
from dashboard.serve.switchboard import Switchboard

_CORS_HEADERS = ("Authorization", "X-Client-Id", "Content-Type", "Accept")


def build_app(services: ServeServices) -> ASGIApp:
    """Return the app; its lifespan follows the nodes, so a server has to run it."""
    fees = {
        network.network_id: NetworkFees(
            network.name, network.follower, services.limits.refresh_period
        )
        for network in services.networks
        if network.follower is not None
    }
    gas = GasApi(fees, services.clock, services.limits.oldest_fees)
    cors = Middleware(
        CORSMiddleware,
        allow_origins=services.cors_origins,
        allow_methods=("GET", "HEAD", "POST", "OPTIONS"),
        allow_headers=_CORS_HEADERS,
        expose_headers=("Retry-After",),
    )
    return Router(
        default=Switchboard(services, gas, Readiness(services, fees.values())),
        lifespan=lambda _: _following(fees.values()),
        middleware=[Middleware(AccessLog), cors] if services.log_requests else [cors],
    )


@asynccontextmanager
async def _following(networks: Iterable[NetworkFees]) -> AsyncIterator[None]:
    """Follow every node while the app runs."""
    async with anyio.create_task_group() as tasks:
        for network in networks:
            tasks.start_soon(network.follow)
        yield
        tasks.cancel_scope.cancel()
