"""The addresses of the pages and their files, compressed once and cached by browsers."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Final, cast

import brotli
from msgspec import Struct
from plotly.offline import get_plotlyjs
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.application.text import PAGES
from dashboard.domain.markup import element, join, visible
from dashboard.web.plain_page import plain_page

FOREVER: Final = "public, max-age=31536000, immutable"
"""For files whose name changes with their content."""

ASK_AGAIN: Final = "no-cache"
"""For files that keep their name: a browser asks each time whether its copy is current."""

_TAG_LENGTH: Final = 20
_QUALITY: Final = 9
"""Above this quality of brotli a tenth is saved, for ten times as much CPU."""


def _brotli(content: bytes) -> bytes:
    return cast("bytes", brotli.compress(content, quality=_QUALITY))


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {"br": _brotli, "gzip": _gzip}
"""The compressor for each coding that we support, the best one first."""


def chosen_coding(scope: Scope) -> str | None:
    """Return the best coding that a request accepts, None if it names none that we support."""
    accepted = Headers(scope=scope).get("accept-encoding", "").lower()
    return next((coding for coding in CODINGS if _NAMED[coding].search(accepted)), None)


_NAMED: Final = {
    coding: re.compile(rf"\b{coding}\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))") for coding in CODINGS
}
"""A coding in a list of codings, without the weight that refuses it."""


class PackedText(Struct, frozen=True):
    """A text in one coding; `tag` identifies its coding and its content."""

    body: bytes
    coding: str | None
    media_type: str
    tag: str

    def reply(self, scope: Scope, caching: str) -> Response:
        """Answer with the text, or that the browser's copy is current."""
        headers = {"ETag": self.tag, "Cache-Control": caching, "Vary": "Accept-Encoding"}
        if self.tag in Headers(scope=scope).get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if self.coding is not None:
            headers["Content-Encoding"] = self.coding
        return Response(self.body, headers=headers, media_type=self.media_type)


def packed(content: bytes, coding: str | None, media_type: str) -> PackedText:
    """Compress a text; a megabyte takes a moment."""
    tag = f'"{sha256(content).hexdigest()[:_TAG_LENGTH]}-{coding}"'
    body = content if coding is None else CODINGS[coding](content)
    return PackedText(body, coding, media_type, tag)


_TEXTS: Final = frozenset({".css", ".js"})
_CHARTS: Final = f"static/js/plotly-{version('plotly')}.js"
_MENTIONED: Final = re.compile(r'"\.(/static/[^"]+)"')


class PageFiles:
    """ASGI middleware that serves the script of Plotly, and the texts of Streamlit, compressed.

    Streamlit would send its scripts and styles uncompressed, four times as many bytes. Their names
    have a hash of their content, that of Plotly its version. Each is compressed when it is first
    requested, and those of every first visit at the start. They stay in memory: at most each in two
    codings, 12 MB, and Plotly uncompressed, 5 MB, for clients that accept no coding.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Collect the names of all files; only these are ever looked up."""
        self._app = app
        self._files = _texts()
        self._preparing: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a file, and pass everything else on."""
        if scope["type"] == "lifespan":
            self._preparing = asyncio.create_task(run_in_threadpool(self._prepare))
        is_asked = scope["type"] == "http" and scope["method"] in {"GET", "HEAD"}
        is_known = is_asked and scope["path"] in self._files
        coding = chosen_coding(scope) if is_known else None
        if not is_known or (coding is None and scope["path"] != f"/{_CHARTS}"):
            await self._app(scope, receive, send)
        else:
            text = await run_in_threadpool(_packed_text, scope["path"], coding)
            await text.reply(scope, FOREVER)(scope, receive, send)

    def _prepare(self) -> None:
        """Compress what every visitor needs for most browsers, one file after the other."""
        for path in first_asked(self._files):
            _packed_text(path, next(iter(CODINGS)))


@cache
def _texts() -> dict[str, Callable[[], bytes]]:
    """Return a reader for each script and style, by their path below the server's root."""
    folder = Path(str(files("streamlit"))) / "static"
    found = [each for each in (folder / "static").rglob("*") if each.suffix in _TEXTS]
    texts = {f"/{each.relative_to(folder).as_posix()}": each.read_bytes for each in found}
    return texts | {f"/{_CHARTS}": lambda: get_plotlyjs().encode()}


@cache
def _packed_text(path: str, coding: str | None) -> PackedText:
    return packed(_texts()[path](), coding, guess_type(path)[0] or "application/octet-stream")


def first_asked(known: Collection[str]) -> list[str]:
    """Return the texts that every visitor needs: the charts, and what the index mentions."""
    mentioned = _MENTIONED.findall(index_of_pages())
    return [path for path in [f"/{_CHARTS}", *mentioned] if path in known]


_CLOSED: Final = ("/_stcore/metrics", "/_stcore/agent/")
"""Parts of Streamlit that nobody uses here: figures for any caller, remote control by agents."""

_BASE: Final = (
    '<script>window.__streamlit={BACKEND_BASE_URL:new URL(".",location.href).href};'
    f'window.plotlyAddress=new URL("{_CHARTS}",location.href).href</script>'
)
"""Tells Streamlit's script where its server is; else it first asks below the page and gets a 404.
It also tells our chart where Plotly is, as its own script has no address."""

_FONT_AHEAD: Final = re.compile(r'<link\s+rel="preload"[^>]*as="font"[^>]*>')
_OWN_FONT: Final = (
    '<style>@font-face{font-family:"Source Sans";font-weight:100 900;'
    "src:local(system-ui),local(Roboto),local(Arial)}</style></head>"
)
"""Replaces Streamlit's font, 170 kB, until our theme comes, which names fonts of the reader."""

_SIGNS: Final = "/static/media/MaterialSymbols-Rounded."
_OWN_SIGNS: Final = (Path(__file__).parent / "icons.woff2").read_bytes()
"""The icons that pages show: 10 kB of Material Symbols (Apache-2.0), where Streamlit sends 375 kB.
CONTRIBUTING.md says how it is made, and a test checks that no icon is missing. A font of ours
beside that of Streamlit would not do: browsers would load both."""

_SCRIPTS: Final = "".join(
    f"<script>{(Path(__file__).parent / name).read_text(encoding='utf-8')}</script>"
    for name in ("signed_out.js", "keys.js")
)
_PAGE_STYLE: Final = (Path(__file__).parents[1] / "show" / "style.css").read_text(encoding="utf-8")
"""Our style is loaded before the first element is drawn, and after the styles of the framework."""


def index_of_pages() -> str:
    """Return Streamlit's page that loads all others, also for pages below the root."""
    index = files("streamlit").joinpath("static/index.html").read_text(encoding="utf-8")
    index = index.replace("<head>", f"<head>{_BASE}{_SCRIPTS}", 1).replace("</head>", _OWN_FONT, 1)
    index = index.replace("</body>", f"<style>{_PAGE_STYLE}</style></body>", 1)
    return _FONT_AHEAD.sub("", index)


class SiteMap:
    """ASGI middleware that serves the pages' index with its icons, and 404 for other addresses.

    Streamlit answers every unknown address with its index and 200; the script then shows the first
    page, or cannot find its server.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Answer for every path that the app does not know."""
        self._app = app
        index = index_of_pages().encode()
        self._index = {coding: packed(index, coding, "text/html") for coding in (*CODINGS, None)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the index of a page, and pass everything else on."""
        if scope["type"] == "http" and scope["path"].startswith(_CLOSED):
            await HTMLResponse(not_found(scope["path"]), 404)(scope, receive, send)
        elif scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"}:
            await self._app(scope, receive, send)
        elif scope["path"][1:] in PAGES:
            index = self._index[chosen_coding(scope)]
            await index.reply(scope, ASK_AGAIN)(scope, receive, send)
        elif scope["path"].startswith(_SIGNS):
            signs = packed(_OWN_SIGNS, None, "font/woff2")  # its name stays when we add a sign
            await signs.reply(scope, ASK_AGAIN)(scope, receive, send)
        else:
            await self._app(scope, receive, _Substitute(scope, receive, send))


class _Substitute:
    """Passes on what an app sends, but replaces the index by a page with 404."""

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
    """Return the 404 page, with links that also work behind a proxy's own prefix."""
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
