"""The scripts, styles and fonts of the pages: compressed once, and kept by browsers.

Streamlit sends its own as they lie on the disk: four times as many bytes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.show.web.packed_text import (
    ASK_AGAIN,
    CODINGS,
    FOREVER,
    PLAIN,
    PackedText,
    chosen_coding,
    is_held,
    packed,
)
from dashboard.show.web.site_map import index_of_pages

_HASHED: Final = re.compile(r"/static/.+\.[\w-]{8}\.\w+", re.ASCII)
"""Names with a hash of the content before the suffix."""

_TEXTS: Final = frozenset({".css", ".js", ".json", ".svg", ".txt"})
_INDEX: Final = "index.html"
_CHARTS: Final = "/static/js/PlotlyChart."
_MENTIONED: Final = re.compile(r'"\.(/static/[^"]+)"')


class PageFiles:
    """ASGI middleware that serves the files of Streamlit's own folder, and passes all else on.

    A text is compressed when it is first asked for, and those of every first visit at the start.
    What is compressed stays in memory: at most each text of that folder in two codings, 12 MB.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Learn the names of all files; only these are ever looked up."""
        self._app = app
        self._files = dict(_files_of_streamlit())
        self._texts: dict[tuple[str, str], asyncio.Task[PackedText]] = {}
        self._preparing: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a file, and pass all else on."""
        if scope["type"] == "lifespan":
            self._preparing = asyncio.create_task(self._prepare())
        is_asked = scope["type"] == "http" and scope["method"] in {"GET", "HEAD"}
        if is_asked and scope["path"] in self._files:
            response = await self._reply(scope)
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _prepare(self) -> None:
        """Compress for most browsers what every visitor needs, one after the other."""
        for path in first_asked(self._files):
            await self._text(path, next(iter(CODINGS)))

    async def _reply(self, scope: Scope) -> Response:
        path = scope["path"]
        caching = FOREVER if _HASHED.fullmatch(path) else ASK_AGAIN
        is_text = self._files[path].suffix in _TEXTS
        coding = chosen_coding(scope) if is_text else PLAIN
        if coding == PLAIN:
            return _plain(scope, self._files[path], caching)
        text = await self._text(path, coding)
        return text.reply(scope, caching)

    async def _text(self, path: str, coding: str) -> PackedText:
        """Return a file in a coding, compressed where nobody has asked for that yet."""
        key = path, coding
        if key not in self._texts:
            packing = run_in_threadpool(_packed_file, self._files[path], coding)
            self._texts[key] = asyncio.create_task(packing)
        try:
            return await asyncio.shield(self._texts[key])
        except OSError:
            self._texts.pop(key, None)
            raise


def _files_of_streamlit() -> Iterator[tuple[str, Path]]:
    folder = Path(str(files("streamlit"))) / "static"
    for file in folder.rglob("*"):
        if file.is_file() and file.name != _INDEX:
            yield f"/{file.relative_to(folder).as_posix()}", file


def _plain(scope: Scope, file: Path, caching: str) -> Response:
    """Answer with a file as it lies on the disk, in parts where that is asked."""
    headers = {"Cache-Control": caching}
    if file.suffix in _TEXTS:
        headers["Vary"] = "Accept-Encoding"
    whole = FileResponse(file, headers=headers, stat_result=file.stat())
    tag = whole.headers["etag"]
    if is_held(Headers(scope=scope).get("if-none-match", ""), tag):
        return Response(status_code=304, headers={**headers, "ETag": tag})
    return whole


def _packed_file(file: Path, coding: str) -> PackedText:
    kind = guess_type(file.name)[0] or "application/octet-stream"
    return packed(file.read_bytes(), coding, kind)


def first_asked(known: Collection[str]) -> list[str]:
    """Return the texts that every visitor needs: the charts, and what the index mentions."""
    charts = [path for path in known if path.startswith(_CHARTS)]
    mentioned = _MENTIONED.findall(index_of_pages())
    return [path for path in [*charts, *mentioned] if Path(path).suffix in _TEXTS]
