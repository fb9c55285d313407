"""How much browsers may upload, counted before Streamlit reads a byte of it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.runtime import get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.runtime_util import get_max_widget_state_size_bytes

_PATH: Final = re.compile(r"/_stcore/upload_file/(?P<session>[^/]+)/[^/]+")
_LONGEST: Final = 60
"""Seconds that one upload may take: while it lasts, its bytes count as held."""


def largest_message() -> int:
    """Return how many bytes a browser may send in one message on its WebSocket."""
    return get_max_widget_state_size_bytes()


class UploadBound:
    """ASGI middleware that bounds what one session holds of uploads, and what all of them do.

    Streamlit itself bounds each file only, and keeps it in memory as long as its session lasts.
    """

    def __init__(self, app: ASGIApp, per_session: int, in_all: int) -> None:
        """Let so many bytes through to the app."""
        self._app = app
        self._per_session = per_session
        self._in_all = in_all
        self._coming: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse an upload that does not fit, and pass all else on."""
        match = _PATH.fullmatch(scope["path"]) if _is_put(scope) else None
        if match is None:
            await self._app(scope, receive, send)
            return
        length = _length(scope)
        refusal = self._refusal(match["session"], length)
        if length is None or refusal is not None:
            await (refusal or _LENGTH_REQUIRED)(scope, receive, send)
            return
        self._coming[match["session"]] += length
        try:
            async with asyncio.timeout(_LONGEST):
                await self._app(scope, receive, send)
        except TimeoutError:
            await PlainTextResponse("The upload did not come in time.", 408)(scope, receive, send)
        finally:
            self._coming[match["session"]] -= length
            self._coming += Counter()  # forgets sessions of which nothing comes any more

    def _refusal(self, session: str, length: int | None) -> PlainTextResponse | None:
        held = _held()
        size = length or 0
        if held.get(session, 0) + self._coming[session] + size > self._per_session:
            return PlainTextResponse(
                f"A session may hold {self._per_session} bytes of uploads "
                "(pages.uploads_per_session): upload less, or reload the page.",
                413,
            )
        if sum(held.values()) + self._coming.total() + size > self._in_all:
            return PlainTextResponse(
                f"All uploads together may hold {self._in_all} bytes (pages.uploads_in_all): "
                "try again when others have left.",
                413,
            )
        return None


_LENGTH_REQUIRED: Final = PlainTextResponse("An upload has to tell its Content-Length.", 411)


def _is_put(scope: Scope) -> bool:
    kind, method = scope["type"], scope.get("method")
    return (kind, method) == ("http", "PUT")


def _length(scope: Scope) -> int | None:
    """Return the length that was announced, to which the server holds the body."""
    headers = Headers(scope=scope)
    text = headers.get("content-length", "")
    if "transfer-encoding" in headers:
        return None
    return int(text) if re.fullmatch(r"\d{1,15}", text, re.ASCII) else None


def _held() -> Mapping[str, int]:
    """Return how many bytes each session holds."""
    manager = get_instance().uploaded_file_mgr
    assert isinstance(manager, MemoryUploadedFileManager)  # noqa: S101 - the app of Streamlit makes no other
    return {
        session: sum(len(file.data) for file in files.values())
        for session, files in manager.file_storage.items()
    }
