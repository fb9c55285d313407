"""The page behind a share link: the verdict and the text for a customer, and nothing else."""

from __future__ import annotations

from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.application import application
from dashboard.application.sharing import CASE, SharedCase
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, visible
from dashboard.domain.secret import Secret
from dashboard.errors import StoreError
from dashboard.logs import get_logger
from dashboard.web.plain_page import plain_page, starting_page

_LONGEST_TEXT: Final = 10_000
_log = get_logger("share-links")


class SharedCases:
    """ASGI middleware that answers share links without a sign-in, and passes all else on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a link, or pass on."""
        if scope["type"] != "http" or not scope["path"].startswith(CASE):
            await self._app(scope, receive, send)
            return
        response = await _answer(Request(scope, receive))
        response.headers["Cache-Control"] = "no-store"
        await response(scope, receive, send)


async def _answer(request: Request) -> Response:
    if request.method not in {"GET", "HEAD"}:
        page = plain_page("Not possible", element("p", "A share link is only opened."))
        return HTMLResponse(page, 405, {"Allow": "GET, HEAD"})
    if not application.is_registered():
        return starting_page()
    secret = Secret(request.url.path.removeprefix(CASE))
    try:
        shown = await run_in_threadpool(application.current().sharing.shown, secret)
    except StoreError as trouble:
        _log.error("a share link could not be answered", why=str(trouble))
        said = element("p", "The store cannot be used now. Try again in a moment.")
        return HTMLResponse(plain_page("Nothing can be shown now", said), 503)
    if shown is None:
        said = element("p", "It has expired or was revoked: ask for a new one.")
        return HTMLResponse(plain_page("This link shows nothing", said), 404)
    return HTMLResponse(_page(shown))


def _page(shown: SharedCase) -> str:
    title = "Your transaction" if shown.verdict is None else capitalized(shown.verdict.value)
    lines = shown.text[:_LONGEST_TEXT].splitlines()
    text = element("div", *(element("p", visible(line)) for line in lines if line.strip()))
    return plain_page(title, text)
