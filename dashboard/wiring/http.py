"""Run one ASGI app until it is asked to stop, within the limits on its connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator

import uvicorn

from dashboard.domain.allowed_hosts import AllowedHosts, needs_no_permission
from dashboard.errors import RoleError
from dashboard.settings import Settings
from dashboard.settings.schema import ServeSettings, fill
from dashboard.settings.values import host_of, origin_of
from dashboard.transport.connection_limits import ConnectionLimits
from dashboard.wiring.roles import open_listener


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: a role has its own, which end all that it runs."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the role."""
        yield


async def run_http(
    config: uvicorn.Config,
    stop: asyncio.Event,
    port_variable: str,
    finish: Callable[[], Awaitable[None]] | None = None,
    listener: socket.socket | None = None,
) -> None:
    """Serve until `stop`, then let running requests finish, after what `finish` does.

    A given `listener` is used in place of a new one at the configured address. RoleError if the
    port cannot be used, or if the app could not start or ended by itself.
    """
    server = _Server(config)
    with listener or open_listener(config.host, config.port, port_variable) as listening:
        # asyncio does this only for sockets that it makes itself; without, each reply waits 40 ms.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if finish is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(finish(), config.timeout_graceful_shutdown)
        server.should_exit = True
        await serving
    if not server.started:
        raise RoleError("the server could not start: its log says why")


def connection_limits(serve: ServeSettings) -> ConnectionLimits:
    """Return the limits of [serve], which apply to the pages and the devnet as well."""
    return fill(ConnectionLimits, serve)


def allowed_hosts(settings: Settings, *, with_cors: bool = False) -> AllowedHosts:
    """Return the names of this machine, and those at which people open the pages.

    `with_cors` adds the origins that may call serve.
    """
    bound = {settings.pages.host, settings.serve.host, settings.devnet.host}
    named = {host for host in bound if not needs_no_permission(host)}
    names = {name.lower() for name in (*settings.http.allowed_hosts, *named)}
    origins = set(settings.serve.cors_origins if with_cors else ())
    if public := host_of(settings.pages.public_url):
        names.add(public)
        origins.add(origin_of(settings.pages.public_url))
    return AllowedHosts(frozenset(names), frozenset(origins))
