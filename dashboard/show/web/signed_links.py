"""Pages behind the links in messages: GET asks, and only the form's POST acts.

Scanners of mail follow every link, so that nothing may happen before a person presses the button.
A mail program that unsubscribes with one click posts without having asked (RFC 8058).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.domain.signed_link import LinkFault, SignedLink
from dashboard.errors import InputError, StoreError
from dashboard.logs import get_logger
from dashboard.show.parts.markup import element
from dashboard.show.queries import page_queries
from dashboard.show.queries.signed_links import LinkForm, LinkQueries
from dashboard.show.text import sentence
from dashboard.show.web.link_pages import confirm_page, done_page, fault_page
from dashboard.show.web.plain_page import plain_page

PATH: Final = "/link/"
"""What the path of every signed link begins with; the signed text follows."""

_LARGEST_FORM: Final = 8_192
_MOST_FIELDS: Final = 20
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
_STATUSES: Final = {LinkFault.FORGED: 404, LinkFault.EXPIRED: 410}
_log = get_logger("links")


class SignedLinks:
    """ASGI middleware that answers the signed links of messages, and passes all else on."""

    def __init__(self, app: ASGIApp) -> None:
        """Answer in front of the pages."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a link, or pass on."""
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._app(scope, receive, send)
            return
        response = await _answer(Request(scope, receive))
        response.headers.update(_HEADERS)
        await response(scope, receive, send)


async def _answer(request: Request) -> Response:
    if request.method not in {"GET", "HEAD", "POST"}:
        page = plain_page("Not possible", element("p", "A link is opened, or its form sent."))
        return HTMLResponse(page, 405, {"Allow": "GET, HEAD, POST"})
    if not page_queries.is_registered():
        page = plain_page("Linewatch is starting", element("p", "Try again in a moment."))
        return HTMLResponse(page, 503)
    text = request.url.path.removeprefix(PATH)
    try:
        links = page_queries.current().links
        link = await run_in_threadpool(links.read, text)
        if isinstance(link, LinkFault):  # a stranger's body is not read
            return HTMLResponse(fault_page(link), _STATUSES[link])
        form = await _form(request)
        length = request.query_params.get("for", "")
        return await run_in_threadpool(_respond, links, link, form, length)
    except InputError as mistake:
        said = element("p", sentence(str(mistake)), " Go back and correct it.")
        return HTMLResponse(plain_page("Nothing was changed", said), 400)
    except StoreError as trouble:
        _log.error("a link could not be answered", error=str(trouble))
        said = element("p", "The store cannot be used now. Try again in a moment.")
        return HTMLResponse(plain_page("Nothing was changed", said), 503)


def _respond(links: LinkQueries, link: SignedLink, form: LinkForm | None, length: str) -> Response:
    """Ask for confirmation where no form was sent, else act."""
    if form is None:
        return HTMLResponse(confirm_page(links.about(link), length))
    return HTMLResponse(done_page(links.act(link, form)))


async def _form(request: Request) -> LinkForm | None:
    """Read the form that was sent, None where none was; InputError for what is no such form."""
    if request.method != "POST":
        return None
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _LARGEST_FORM:
                raise InputError(f"the form is larger than {_LARGEST_FORM} bytes")
    except ClientDisconnect:
        raise InputError("the form did not arrive") from None
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InputError(f"the form has more than {_MOST_FIELDS} fields") from None
    return LinkForm({name: values[0] for name, values in fields.items()})
