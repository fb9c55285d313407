"""The pages role: serves the pages, and starts all other roles if nothing is configured."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    closing,
    contextmanager,
    nullcontext,
)
from functools import partial
from typing import Final

import uvicorn
from msgspec.structs import replace
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from dashboard.application.application import Application, register
from dashboard.errors import RoleError
from dashboard.logs import configure_logs, get_logger
from dashboard.serve.server import within_descriptors
from dashboard.settings import Settings, load_settings
from dashboard.settings.load import places_in_full
from dashboard.settings.presets import PROJECT, public_tables
from dashboard.settings.schema import fill
from dashboard.show.streamlit_runtime import (
    end_sessions,
    held_by_streamlit,
    join_framework_logs,
    largest_message,
    pages_app,
    warm_up,
)
from dashboard.transport.connection_limits import ConnectionLimiter
from dashboard.transport.host_check import HostCheck
from dashboard.transport.http_connection import limited_http
from dashboard.transport.websocket_connection import NotedMessages
from dashboard.web.api.server import ManagementApi
from dashboard.web.files import PageFiles, SiteMap
from dashboard.web.issuers import Issuers
from dashboard.web.shared_case import SharedCases
from dashboard.web.sign_in import SignInGate
from dashboard.web.signed_links import SignedLinks
from dashboard.web.strict_headers import StrictHeaders
from dashboard.web.upload_bound import UploadBound, UploadLimits
from dashboard.wiring.channels import rules_of_text
from dashboard.wiring.clock import utc_now
from dashboard.wiring.http import allowed_hosts, connection_limits, run_http
from dashboard.wiring.issuers import issuer_client
from dashboard.wiring.lookup import live_lookup
from dashboard.wiring.networks import shown_networks
from dashboard.wiring.page_settings import ShownConfiguration, page_settings, profile_of
from dashboard.wiring.roles import refuse_taken_ports, roles_of
from dashboard.wiring.store import (
    migrate_store,
    open_checked_store,
    open_reading_store,
    worker_is_alive,
)

_SECONDS_TO_STOP: Final = 2
"""How long the server waits for open requests when it is asked to end."""

_LARGEST_HEAD: Final = 65_536
"""Bytes: cookies of other programs on this machine come with each request."""

_UNFINISHED_MESSAGES: Final = 64_000_000
_DESCRIPTORS_OF_A_PAGE: Final = 4
"""Its WebSocket, and those of the event loop that Streamlit makes for its session."""

_SECONDS_TO_END: Final = 10
"""How long the rest may take to end."""

_log = get_logger("pages")


async def run_pages(
    settings: Settings, stop: asyncio.Event, listener: socket.socket | None = None
) -> None:
    """Serve the pages until `stop`.

    Streamlit reads its configuration from the working directory, so that becomes its folder.
    """
    open_checked_store(settings).close()  # or uvicorn would bury in its log what is wrong with it
    os.environ.update(places_in_full(os.environ))
    os.chdir(PROJECT)
    join_framework_logs()
    app = pages_app(pages_lifespan(starts_the_rest=False), MIDDLEWARE)
    connection_limiter = _connection_limiter(settings)
    config = uvicorn.Config(
        NotedMessages(app),
        host=settings.pages.host,
        port=settings.pages.port,
        http=limited_http(connection_limiter),
        ws="websockets-sansio",
        ws_max_size=largest_message(),
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_SECONDS_TO_STOP,
    )
    await run_http(config, stop, "LINEWATCH_PAGES_PORT", listener=listener)


def _connection_limiter(settings: Settings) -> ConnectionLimiter:
    """Return the limiter of connections to the pages, like that of serve.

    A browser has twice as long to send a body or a message, which may have several megabytes.
    """
    usual = connection_limits(settings.serve)
    limits = replace(
        usual,
        largest_head=_LARGEST_HEAD,
        body_timeout=2 * usual.body_timeout,
        unfinished=_UNFINISHED_MESSAGES,
    )
    return ConnectionLimiter(within_descriptors(limits, _DESCRIPTORS_OF_A_PAGE))


def pages_host_check(app: ASGIApp) -> HostCheck:
    """Only let requests for this machine's own names through to the pages."""
    return HostCheck(app, allowed_hosts(load_settings()))


def pages_sign_in(app: ASGIApp) -> SignInGate:
    """Only let signed-in people through, if people sign in at all."""
    settings = load_settings()
    if not settings.sign_in.issuers:
        return SignInGate(app)
    return SignInGate(app, Issuers(issuer_client(settings)))


def pages_upload_bound(app: ASGIApp) -> UploadBound:
    """Bound what browsers may upload to the pages."""
    return UploadBound(app, fill(UploadLimits, load_settings().pages), held_by_streamlit)


MIDDLEWARE: Final = (
    Middleware(StrictHeaders),
    Middleware(pages_host_check),
    Middleware(SignedLinks),
    Middleware(SharedCases),
    Middleware(ManagementApi),
    Middleware(pages_sign_in),
    Middleware(pages_upload_bound),
    Middleware(PageFiles),
    Middleware(SiteMap),
)
"""The middleware in front of Streamlit, the outermost first."""


def pages_lifespan(
    *, starts_the_rest: bool
) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Return the lifespan of the pages: their queries are registered while they are served.

    `starts_the_rest`: run everything else behind them, if nothing is configured and nothing runs
    yet.
    """

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        settings = load_settings()
        if starts_the_rest:
            configure_logs("pages")
            join_framework_logs()
            _refuse_several_processes()
        with (
            _background(settings) if starts_the_rest else nullcontext(),
            _application(settings) as queries,
        ):
            register(queries)
            warm_up()
            ending = asyncio.create_task(end_sessions())
            yield
            ending.cancel()

    return lifespan


def _refuse_several_processes() -> None:
    """Raise RoleError if a server shares its port among processes, as `uvicorn --workers` does.

    The session of a browser, its downloads and its uploads are in the memory of one of them, and
    every other would answer that it does not know them.
    """
    if multiprocessing.parent_process() is not None:
        raise RoleError(
            "the pages run in one process, which holds the sessions: start uvicorn without "
            "--workers and --reload, and without WEB_CONCURRENCY"
        )


@contextmanager
def _application(settings: Settings) -> Iterator[Application]:
    networks = shown_networks(settings)
    with (
        closing(open_reading_store(settings)) as store,
        live_lookup(settings, store, networks) as look_up,
    ):
        profiles = tuple(profile_of(network, settings) for network in networks)
        deadline = settings.pages.lookup_deadline
        configuration = ShownConfiguration(utc_now)
        usual = page_settings(settings)
        known = replace(
            usual,
            read_rules=partial(rules_of_text, usual.rule_names),
            limit_tables=public_tables(),
            configuration=configuration.state,
            check_text=configuration.check,
        )
        yield Application(store, profiles, look_up, utc_now, deadline, known)


@contextmanager
def _background(settings: Settings) -> Iterator[None]:
    """Run all other roles in one child process, if nothing is configured and nothing runs.

    The child ends when its standard input does: at the latest when this process ends, however it
    ends.
    """
    if not settings.has_development_key or worker_is_alive(settings) or _is_taken(settings):
        yield
        return
    migrate_store(settings)
    command = (sys.executable, "-m", "dashboard.cli.main", "up", "--no-pages")
    child = subprocess.Popen(
        [*command, "--until-stdin-closes"], stdin=subprocess.PIPE, start_new_session=True
    )
    _log.info("started the rest in the background", process=child.pid)
    try:
        yield
    finally:
        child.communicate(timeout=_SECONDS_TO_END)


def _is_taken(settings: Settings) -> bool:
    """Whether something listens where the other roles would: most likely they do."""
    try:
        refuse_taken_ports(roles_of(settings, with_pages=False))
    except RoleError:
        return True
    return False
