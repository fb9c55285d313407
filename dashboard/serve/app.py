"""The served APIs as one ASGI app, which follows the nodes while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager

import anyio
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.serve.dependencies import ServeServices
from dashboard.serve.documents.openapi import openapi
from dashboard.serve.documents.try_it_page import try_it_page
from dashboard.serve.gas.api import GasApi
from dashboard.serve.gas.followed_networks import NetworkFees
from dashboard.serve.http_reply import Reply, json_reply
from dashboard.serve.monitoring.access_log import AccessLog
from dashboard.serve.monitoring.health import Readiness
from dashboard.serve.monitoring.metrics import MetricsPage
from dashboard.serve.router import Switchboard
from dashboard.serve.rpc.exclusion_status import learn
from dashboard.serve.rpc.methods import document_of

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
    services.counters.known_hashes = lambda: len(services.known)
    services.counters.tallies = services.gate.tallies
    metrics = MetricsPage(services, fees.values())
    readiness = Readiness(services, fees.values())
    board = Switchboard(services, gas, readiness, metrics, _documents(services))
    return _App(services, board, fees.values())


class _App:
    """Takes the shortest way: what only some requests need stands in the way of no other."""

    def __init__(
        self, services: ServeServices, board: Switchboard, fees: Collection[NetworkFees]
    ) -> None:
        self._converse = board.converse
        self._answer = AccessLog(board, services.counters) if services.log_requests else board
        self._answer_browser = CORSMiddleware(
            self._answer,
            allow_origins=services.cors_origins,
            allow_methods=("GET", "HEAD", "POST", "OPTIONS"),
            allow_headers=_CORS_HEADERS,
            expose_headers=("Retry-After",),
        )
        self._live = Router(lifespan=lambda _: _following(services, fees))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            for name, _ in scope["headers"]:
                if name == b"origin":
                    await self._answer_browser(scope, receive, send)
                    return
            await self._answer(scope, receive, send)
        elif kind == "websocket":
            await self._converse(scope, receive, send)
        else:
            await self._live(scope, receive, send)


def _documents(services: ServeServices) -> Mapping[str, Reply]:
    """Return what anybody may read, by its path."""
    followed = [each.network_id for each in services.networks if each.follower is not None]
    page = try_it_page() if services.has_page else {}
    return {
        "/openrpc.json": json_reply(document_of(services)),
        "/openapi.json": json_reply(openapi(followed)),
        **page,
    }


@asynccontextmanager
async def _following(
    services: ServeServices, networks: Iterable[NetworkFees]
) -> AsyncIterator[None]:
    """Learn what is on record, follow nodes, keep the keys and tell subscribers the news."""
    keeper = services.key_keeper
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(learn, services)
        for network in networks:
            tasks.start_soon(network.follow)
        tasks.start_soon(services.feed.run)
        if keeper is not None:
            tasks.start_soon(keeper.run)
        yield
        tasks.cancel_scope.cancel()
    if keeper is not None:
        await keeper.write_counts()  # nothing that was done stays uncounted
    services.rejections.close()
    services.records.close()
