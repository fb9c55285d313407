"""The addresses of the pages and their files, compressed once and kept by browsers."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Final, cast

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.domain.markup import element, join, visible
from dashboard.web.plain_page import plain_page

FOREVER: Final = "public, max-age=31536000, immutable"
"""For what has a name of its own as soon as its content changes."""

ASK_AGAIN: Final = "no-cache"
"""For what keeps its name: a browser asks each time whether its copy still holds."""

PLAIN: Final = "identity"
_TAG_LENGTH: Final = 20
_BROTLI: Final = 9
"""Above this level a tenth is saved, and takes ten times as long."""


def _brotli(content: bytes) -> bytes:
    codec = pa.Codec("brotli", compression_level=_BROTLI)
    return cast("bytes", codec.compress(content, asbytes=True))


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "br": _brotli,
    "gzip": _gzip,
    PLAIN: bytes,
}
"""What compresses for each coding that we know, the one that packs best first."""


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text in one coding; `tag` tells it from its other codings and from other contents."""

    body: bytes
    coding: str
    media_type: str
    tag: str

    def reply(self, scope: Scope, caching: str) -> Response:
        """Answer with the text, or that the browser's copy of it still holds."""
        headers = {"ETag": self.tag, "Cache-Control": caching, "Vary": "Accept-Encoding"}
        if is_held(Headers(scope=scope).get("if-none-match", ""), self.tag):
            return Response(status_code=304, headers=headers)
        if self.coding != PLAIN:
            headers["Content-Encoding"] = self.coding
        return Response(self.body, headers=headers, media_type=self.media_type)


def packed(content: bytes, coding: str, media_type: str) -> PackedText:
    """Compress a text; that of a megabyte takes a moment."""
    tag = f'"{sha256(content).hexdigest()[:_TAG_LENGTH]}-{coding}"'
    return PackedText(CODINGS[coding](content), coding, media_type, tag)


def chosen_coding(scope: Scope) -> str:
    """Return the best coding that a request takes, plain where it names none that we know."""
    weights: dict[str, str] = {}
    for accepted in Headers(scope=scope).getlist("accept-encoding"):
        for part in accepted.lower().split(","):
            name, _, weight = part.partition(";")
            weights[name.strip()] = weight.replace(" ", "")
    for coding in CODINGS:
        asked = weights.get(coding, weights.get("*"))
        if asked is not None and not _is_zero(asked):
            return coding
    return PLAIN


def _is_zero(weight: str) -> bool:
    """Whether a weight such as ``q=0.00`` refuses a coding."""
    return weight.startswith("q=0") and not weight[3:].strip(".0")


def is_held(if_none_match: str, tag: str) -> bool:
    """Whether an ``If-None-Match`` names this version."""
    named = {each.strip().removeprefix("W/") for each in if_none_match.split(",")}
    return tag in named or "*" in named


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


PAGES: Final[Mapping[str, str]] = {
    "": "Overview",
    "fees": "Fees",
    "rejections": "Rejections",
    "lookup": "Lookup",
    "tracked": "Tracked",
    "alerts": "Alerts",
    "health": "Health",
    "settings": "Settings",
}
"""The title of each page by its path."""

_CLOSED: Final = ("/_stcore/metrics", "/_stcore/agent/")
"""Parts of Streamlit that nobody here uses: figures for any caller, remote control by agents."""

_BASE: Final = (
    '<script>window.__streamlit={BACKEND_BASE_URL:new URL(".",location.href).href}</script>'
)
"""Tells Streamlit's script where its server is; else it asks below the page first, for a 404."""

_FONT_AHEAD: Final = re.compile(r'<link\s+rel="preload"[^>]*as="font"[^>]*>')
_OWN_FONT: Final = (
    '<style>@font-face{font-family:"Source Sans";font-weight:100 900;'
    "src:local(system-ui),local(Roboto),local(Arial)}</style></head>"
)
"""Stands for Streamlit's font, 170 kB, until our theme comes, which names fonts of the reader."""
_KEYS: Final = (Path(__file__).parent / "keys.js").read_text(encoding="utf-8")
_PAGE_STYLE: Final = (Path(__file__).parents[1] / "show" / "style.css").read_text(encoding="utf-8")
"""Our look is there before the first element is drawn, and after the styles of the framework."""


def index_of_pages() -> str:
    """Return the page of Streamlit that loads all others, for pages below the root too."""
    index = files("streamlit").joinpath("static/index.html").read_text(encoding="utf-8")
    index = index.replace("<head>", f"<head>{_BASE}<script>{_KEYS}</script>", 1).replace(
        "</head>", _OWN_FONT, 1
    )
    index = index.replace("</body>", f"<style>{_PAGE_STYLE}</style></body>", 1)
    return _FONT_AHEAD.sub("", index)


class SiteMap:
    """ASGI middleware that serves the pages' index, and says 404 where Streamlit would serve it.

    Streamlit answers every address that it does not know with its index and 200; the script
    then shows the first page, or cannot find its server.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Answer for what the app does not know."""
        self._app = app
        index = index_of_pages().encode()
        self._index = {coding: packed(index, coding, "text/html") for coding in CODINGS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the index of a page, and pass all else on."""
        if scope["type"] == "http" and scope["path"].startswith(_CLOSED):
            await HTMLResponse(not_found(scope["path"]), 404)(scope, receive, send)
        elif scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
        elif scope["path"][1:] in PAGES:
            index = self._index[chosen_coding(scope)]
            await index.reply(scope, ASK_AGAIN)(scope, receive, send)
        else:
            await self._app(scope, receive, _Substitute(scope, receive, send))


class _Substitute:
    """Passes on what an app sends, but in place of the index a page that says 404."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._is_index = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = dict(message["headers"]).get(b"content-type", b"")
            self._is_index = kind.startswith(b"text/html")
            if self._is_index:
                response = HTMLResponse(not_found(self._scope["path"]), 404)
                await response(self._scope, self._receive, self._send)
                return
        if not self._is_index:
            await self._send(message)


def not_found(path: str) -> str:
    """Return the page that says so, with links that also work behind a proxy's own prefix."""
    up = "../" * (path.count("/") - 1) or "./"
    links = [
        element("li", element("a", title, href=f"{up}{name}")) for name, title in PAGES.items()
    ]
    return plain_page(
        "Page not found",
        element("p", "There is no page at ", element("code", visible(path, 200)), "."),
        element("p", "These are the pages of Linewatch:"),
        element("ul", join(*links)),
    )
