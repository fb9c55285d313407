"""Small pages without script, with their forms: links of messages, sign-in, no such page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.application import application
from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.people.sign_in import LONGEST_PASSWORD
from dashboard.errors import InputError, StoreError
from dashboard.logs import get_logger

_log = get_logger("links")
_LARGEST_FORM: Final = 8_192
_MOST_FIELDS: Final = 20

OWN_FORM: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
"""Headers of a page with a form: without a referrer, a browser would name no origin either."""

_STYLE: Final = Markup(
    "<style>:root{color-scheme:light dark;--panel:light-dark(#fff,#161e25);"
    "--line:light-dark(#dce3e7,#2a353f);--edge:light-dark(#7b8993,#6b7d8b);"
    "--text:light-dark(#15222c,#e6edf2);--quiet:light-dark(#52616d,#9fb0bd);"
    "--accent:light-dark(#0b6868,#56cdc1);--bad:light-dark(#a1231c,#f79c95);"
    "--busy:light-dark(#8f4604,#f7b863);--calm:light-dark(#0b5c47,#77d8af);"
    "background:light-dark(#f4f7f8,#0f151a);color:var(--text)}"
    "body{font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;"
    "max-width:40rem;margin:0 auto;padding:1rem}"
    "header{display:flex;align-items:center;gap:.5rem;margin:0 0 .8rem;font-weight:650;"
    "color:var(--accent)}header svg{width:28px;height:28px}"
    "main{background:var(--panel);border:1px solid var(--line);border-radius:12px;"
    "border-top:4px solid var(--accent);padding:1rem 1.2rem 1.2rem}"
    "h1{font-size:1.35rem;line-height:1.3;margin:.3rem 0 .4rem;overflow-wrap:anywhere}"
    "h2{font-size:1.1rem;line-height:1.4;margin:1.5rem 0 .4rem}p[role=alert]{color:var(--bad)}"
    "code{overflow-wrap:anywhere}li{margin:.25rem 0}p,dd{overflow-wrap:anywhere}"
    "p{margin:.6rem 0}a{color:var(--accent)}dl{margin:1rem 0 0}"
    "dt,.quiet{font-size:.87rem;color:var(--quiet)}dd{margin:0 0 .6rem}"
    "label{display:block;margin:.7rem 0 .2rem;font-size:.9rem}"
    "fieldset{border:0;padding:0;margin:.7rem 0 0}"
    "fieldset label{display:inline-block;margin:.2rem 1rem .2rem 0;padding:.4rem 0}"
    "legend{padding:0;font-size:.9rem}summary{cursor:pointer;padding:.3rem 0}"
    "input[type=text],input[type=password]{font:inherit;width:100%;box-sizing:border-box;"
    "color:inherit;background:light-dark(#f1f5f6,#1b242c);border:1px solid var(--edge);"
    "border-radius:8px;min-height:44px;padding:.3rem .7rem}"
    ":focus-visible{outline:2px solid var(--accent);outline-offset:2px}"
    ".button,button{display:inline-block;box-sizing:border-box;min-height:44px;font:inherit;"
    "font-weight:600;border:1px solid var(--edge);border-radius:8px;padding:.55rem 1.3rem;"
    "text-decoration:none;color:var(--text);background:none;cursor:pointer}"
    "button{margin:1rem .6rem 0 0;color:#fff;background:light-dark(#0b6868,#21827b);"
    "border-color:transparent}"
    ".badges{display:flex;flex-wrap:wrap;gap:.4rem}"
    ".badge{border:1px solid;border-radius:999px;padding:0 .6rem;font-size:.82rem;"
    "font-weight:600;color:var(--quiet)}.bad .badge:first-child{color:var(--bad)}"
    ".busy .badge:first-child{color:var(--busy)}"
    "main.bad{border-top-color:var(--bad)}main.busy{border-top-color:var(--busy)}"
    "main.calm{border-top-color:var(--calm)}main.mute{border-top-color:var(--quiet)}"
    "li form{display:flex;flex-wrap:wrap;gap:.5rem;margin:.3rem 0 1rem}"
    "li input[type=text]{flex:1 1 10rem;width:auto}"
    "li button{margin:0;color:var(--text);background:none;border-color:var(--edge)}"
    "output{display:block;margin:.6rem 0}main svg{max-width:100%;height:auto}"
    "@media(max-width:480px){main{padding:.7rem .9rem 1rem}.act button{width:100%}}"
    "</style>"
)
_HEADER: Final = Markup(
    '<header><svg viewBox="0 0 32 32" aria-hidden="true">'
    '<rect width="32" height="32" rx="7" fill="#0b6868"/>'
    '<path d="M5 20h5l3-9 5 13 3-8h6" fill="none" stroke="#fff" stroke-width="2.6" '
    'stroke-linecap="round" stroke-linejoin="round"/>'
    '<path d="M5 8h22" fill="none" stroke="#f7b863" stroke-width="2" stroke-dasharray="3 3" '
    'stroke-linecap="round"/></svg>Linewatch</header>'
)


def plain_page(title: str, *content: str, above: str = Markup(), tone: str = "") -> str:
    """Return a whole page; foreign text in `content` is escaped unless it is Markup.

    `above` is shown above the title; `tone` is the kind of a badge, which colours the edge.
    """
    main = element("main", above, element("h1", title), *content, class_=tone or None)
    return "<!doctype html>" + element(
        "html",
        element(
            "head",
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup('<meta name="robots" content="noindex">'),
            element("title", f"{title} · Linewatch"),
            _STYLE,
        ),
        element("body", _HEADER, main),
        lang="en",
    )


def notice(status: int, title: str, text: str, *more: str) -> HTMLResponse:
    """Return a page with a sentence or two."""
    return HTMLResponse(plain_page(title, element("p", text, *more)), status)


def starting_page() -> HTMLResponse:
    """Return the page shown while Linewatch starts."""
    return notice(503, "Linewatch is starting", "Try again in a moment.")


def store_trouble(title: str) -> HTMLResponse:
    """Return the page shown while the store fails."""
    return notice(503, title, "The store cannot be used now. Try again in a moment.")


class LinkPages(ABC):
    """ASGI middleware that answers links without a sign-in, and passes everything else on."""

    path: ClassVar[str]
    """The beginning of the path of each link; its signed text or secret follows."""

    methods: ClassVar[Sequence[str]] = ("GET", "HEAD")
    use: ClassVar[str]
    """What such a link does, in words for a person who used another method."""

    without_store: ClassVar[str]
    """The headline while the store fails."""

    headers: ClassVar[Mapping[str, str]]

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a link, or pass on."""
        if scope["type"] != "http" or not scope["path"].startswith(self.path):
            await self._app(scope, receive, send)
            return
        response = await self._response(Request(scope, receive))
        response.headers.update(self.headers)
        await response(scope, receive, send)

    async def _response(self, request: Request) -> Response:
        if request.method not in self.methods:
            response = notice(405, "Not possible", self.use)
            response.headers["Allow"] = ", ".join(self.methods)
            return response
        if not application.is_registered():
            return starting_page()
        try:
            return await self.answer(request)
        except StoreError as trouble:
            _log.error("a link could not be answered", route=self.path, why=str(trouble))
            return store_trouble(self.without_store)

    @abstractmethod
    async def answer(self, request: Request) -> Response:
        """Answer a link; the rest of its path is foreign text."""


def post_form(*content: str, action: str = "", **attributes: str | None) -> Markup:
    """Return a form that is posted to this page, or to another."""
    return element("form", *content, method="post", action=action, **attributes)


def submit(label: str, act: str | None = None) -> Markup:
    """Return a button that sends its form, and names the act if there are several."""
    name = None if act is None else "act"
    return element("button", label, type="submit", name=name, value=act)


def text_field(
    name: str, label: str, value: str | None, longest: int, **attributes: str | None
) -> Markup:
    """Return a field for a line of text under its label."""
    given = {"type": "text", "id": name, "name": name, "value": value} | attributes
    field = element("input", maxlength=str(longest), **given)
    return join(element("label", label, for_=name), field)


def hidden_field(name: str, value: str) -> Markup:
    """Return a field that the form sends back unchanged."""
    return element("input", type="hidden", name=name, value=value)


def password_field(name: str, label: str, autocomplete: str) -> Markup:
    """Return a field for a password under its label."""
    given = {"type": "password", "autocomplete": autocomplete, "required": ""}
    return text_field(name, label, None, LONGEST_PASSWORD, **given)


def mistake_line(text: str) -> Markup:
    """Return the line about a mistake in a form; empty for none."""
    if not text:
        return Markup()
    return element("p", element("strong", sentence(capitalized(text))), role="alert")


async def read_form(request: Request) -> Mapping[str, str] | None:
    """Read the form that was sent, None if there was none; InputError for an invalid form."""
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
    return {name: values[0] for name, values in fields.items()}
