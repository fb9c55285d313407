"""Streamlit's runtime: warmed up for the first visitor, its logs, and its sessions."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Final, cast

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp
from streamlit import runtime
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import SessionClient
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

from dashboard.application.text import PAGES
from dashboard.show.browser_messages import BoundedMessages
from dashboard.show.parts.frame import view_at

_MEGABYTE: Final = 1_000_000
_UNCOLLECTED: Final = 5_000
"""Objects allocated, minus those freed, before Python collects the youngest ones; 700 usually."""


SCRIPT: Final = Path(__file__).parent / "main.py"
"""What Streamlit runs for each page."""


def pages_app(
    lifespan: Callable[[object], AbstractAsyncContextManager[None]],
    middleware: Sequence[Middleware],
) -> ASGIApp:
    """Return the ASGI app of the pages behind this middleware."""
    pieces = [*middleware, Middleware(BoundedMessages)]
    return cast("ASGIApp", st.App(SCRIPT, lifespan=lifespan, middleware=pieces))


def warm_up() -> None:
    """Import what pages need, exempt all of it from garbage collection, and collect rarely.

    Call it once, in the lifespan, before the first page is served. Frozen objects cost a collection
    nothing, and Streamlit's own collection after each run is off in its settings. A collection of
    all generations visits every open page, while no other is answered.
    """
    for path in PAGES:
        view_at(path)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_UNCOLLECTED, 10, 10)  # more would keep hundreds of closed pages


_FRAMEWORK: Final = ("streamlit", "uvicorn", "websockets")


def join_framework_logs() -> None:
    """Pass the lines of every logger of Streamlit, present and future, to the root logger.

    Streamlit gives each a handler of its own, which writes plain text: what a line quotes could
    begin another line. It names a logger after each of its modules, and some of its server's.
    """
    logging.setLoggerClass(_FrameworkLogger)
    servers = ("uvicorn.access", "uvicorn.asgi", "uvicorn.error")
    for name in [*sys.modules, *servers]:
        if name.partition(".")[0] in _FRAMEWORK:
            logging.getLogger(name).addFilter(_hand_over)


class _FrameworkLogger(logging.Logger):
    """A logger that passes its lines on from the start if the framework makes it."""

    def __init__(self, name: str, level: int = logging.NOTSET) -> None:
        super().__init__(name, level)
        if name.partition(".")[0] in _FRAMEWORK:
            self.addFilter(_hand_over)


def _hand_over(record: logging.LogRecord) -> bool:
    """Let the root logger handle a line, and no handler of the logger itself."""
    logging.getLogger().handle(record)
    return False


def largest_message() -> int:
    """Return how many bytes a browser may send in one message on its WebSocket."""
    megabytes: int = st.get_option("server.maxWidgetStateSize")
    return megabytes * _MEGABYTE


def held_by_streamlit() -> Mapping[str, int]:
    """Return how many bytes of uploads each session holds."""
    manager = runtime.get_instance().uploaded_file_mgr
    assert isinstance(manager, MemoryUploadedFileManager)  # noqa: S101 - the app of Streamlit makes no other
    return {
        session: sum(len(file.data) for file in files.values())
        for session, files in manager.file_storage.items()
    }


SWEEP_PERIOD: Final = timedelta(minutes=1)


async def end_sessions(period: timedelta = SWEEP_PERIOD) -> None:
    """End, again and again, the sessions whose browser did not come back in time.

    Streamlit ends those that are older than `server.disconnectedSessionTTL` only when it stores
    another one. The last hundred would stay for ever, each with an event loop and what it shows.
    """
    while True:
        await asyncio.sleep(period.total_seconds())
        sessions = runtime.get_instance()
        passing = sessions.connect_session(_NoBrowser(), {})
        sessions.disconnect_session(passing)  # stored now, and those that are too old are not
        sessions.close_session(passing)


class _NoBrowser(SessionClient):
    """Discards what a session sends."""

    def write_forward_msg(self, msg: ForwardMsg) -> None:
        """Discard a message."""
