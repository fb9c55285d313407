"""The addresses of the pages; any other is answered with a page that says so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.domain.foreign_text import visible
from dashboard.show.parts.markup import element, join
from dashboard.show.web.packed_text import ASK_AGAIN, CODINGS, chosen_coding, packed
from dashboard.show.web.plain_page import plain_page

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
_STYLE: Final = (Path(__file__).parents[1] / "style.css").read_text(encoding="utf-8")
"""Our look is there before the first element is drawn, and after the styles of the framework."""


def index_of_pages() -> str:
    """Return the page of Streamlit that loads all others, for pages below the root too."""
    index = files("streamlit").joinpath("static/index.html").read_text(encoding="utf-8")
    index = index.replace("<head>", f"<head>{_BASE}<script>{_KEYS}</script>", 1).replace(
        "</head>", _OWN_FONT, 1
    )
    index = index.replace("</body>", f"<style>{_STYLE}</style></body>", 1)
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
