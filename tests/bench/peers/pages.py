"""The pages over a store that ended at some time, with a clock that goes on from there.

Arguments: a port, the store's file, when it ended, and a script to run instead of the pages'.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from dashboard import show
from dashboard.application import application
from dashboard.application.application import Application
from dashboard.show.streamlit_runtime import warm_up
from dashboard.store.engine.engine import open_store
from dashboard.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from dashboard.transport.http_connection import limited_http
from dashboard.web.files import PageFiles, SiteMap
from dashboard.web.strict_headers import StrictHeaders
from tests.bench.pages_store import TWELVE
from tests.bench.watched_networks import watch_once

_PERIOD: Final = 12.0
_PAGES: Final = Path(show.__file__).parent / "main.py"


def serve(port: int, file: str, ended: datetime, script: Path) -> None:
    """Serve until this process is ended; meanwhile write what a worker would."""
    begun = datetime.now(UTC)

    def now() -> datetime:
        return ended + (datetime.now(UTC) - begun)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        stop = threading.Event()
        with open_store(f"sqlite:///{file}") as store:

            def watch() -> None:
                while not stop.wait(_PERIOD):
                    watch_once(store, now())

            application.register(Application(store, TWELVE, None, now))
            watch_once(store, now())
            watcher = threading.Thread(target=watch)
            watcher.start()
            warm_up()
            yield
            stop.set()
            watcher.join()

    stack = [Middleware(each) for each in (StrictHeaders, PageFiles, SiteMap)]
    connection_limiter = ConnectionLimiter(ConnectionLimits())
    config = uvicorn.Config(
        cast("ASGIApp", st.App(script, lifespan=lifespan, middleware=stack)),
        host="127.0.0.1",
        port=port,
        http=limited_http(connection_limiter),
        ws="websockets-sansio",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=2,
    )
    asyncio.run(uvicorn.Server(config).serve())


if __name__ == "__main__":
    scripts = [*map(Path, sys.argv[4:]), _PAGES]
    serve(int(sys.argv[1]), sys.argv[2], datetime.fromisoformat(sys.argv[3]), scripts[0])
