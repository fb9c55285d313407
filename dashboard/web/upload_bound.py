"""Bounds on uploads to the pages: of one session, and of all sessions together."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_PATH: Final = re.compile(r"/_stcore/upload_file/(?P<session>[^/]+)/[^/]+")


class UploadLimits(Struct, frozen=True):
    """How many bytes one session may hold, how many all may, and how large one upload may be.

    During an upload, its bytes count as held.
    """

    uploads_per_session: int
    uploads_in_all: int
    longest: timedelta = timedelta(minutes=1)


class UploadBound:
    """ASGI middleware that bounds the uploads that one session holds, and those of all sessions.

    Streamlit itself bounds each file only, and keeps it in memory as long as its session lasts.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: UploadLimits,
        held: Callable[[], Mapping[str, int]],
    ) -> None:
        """Let so many bytes through to the app; `held`: how many it keeps for each session."""
        self._app = app
        self._limits = limits
        self._held = held
        self._coming: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse an upload that does not fit, and pass everything else on."""
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
            async with asyncio.timeout(self._limits.longest.total_seconds()):
                await self._app(scope, receive, send)
        except TimeoutError:
            await PlainTextResponse("The upload timed out.", 408)(scope, receive, send)
        finally:
            self._coming[match["session"]] -= length
            self._coming += Counter()  # drops sessions that upload nothing any more

    def _refusal(self, session: str, length: int | None) -> PlainTextResponse | None:
        held, limits = self._held(), self._limits
        size = length or 0
        if held.get(session, 0) + self._coming[session] + size > limits.uploads_per_session:
            return PlainTextResponse(
                f"A session may hold {limits.uploads_per_session} bytes of uploads "
                "(pages.uploads_per_session): upload less, or reload the page.",
                413,
            )
        if sum(held.values()) + self._coming.total() + size > limits.uploads_in_all:
            return PlainTextResponse(
                f"All uploads together may hold {limits.uploads_in_all} bytes "
                "(pages.uploads_in_all): try again when others have left.",
                413,
            )
        return None


_LENGTH_REQUIRED: Final = PlainTextResponse("An upload needs a Content-Length.", 411)


def _is_put(scope: Scope) -> bool:
    kind, method = scope["type"], scope.get("method")
    return (kind, method) == ("http", "PUT")


def _length(scope: Scope) -> int | None:
    """Return the announced length, beyond which the server reads no body."""
    headers = Headers(scope=scope)
    text = headers.get("content-length", "")
    if "transfer-encoding" in headers:
        return None
    return int(text) if re.fullmatch(r"\d{1,15}", text, re.ASCII) else None
