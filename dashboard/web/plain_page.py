"""Small pages that need no script, with their forms: links of messages, sign-in, no such page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse

from dashboard.application.text import sentence
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import Markup, element, join
from dashboard.domain.people.sign_in import LONGEST_PASSWORD
from dashboard.errors import InputError

_LARGEST_FORM: Final = 8_192
_MOST_FIELDS: Final = 20

OWN_FORM: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}
"""Headers of a page with a form: without a referrer, a browser would name no origin either."""

_STYLE: Final = Markup(
    "<style>:root{color-scheme:light dark;background:Canvas;color:CanvasText}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}"
    "code{overflow-wrap:anywhere}li{margin:.25rem 0}p,dd{overflow-wrap:anywhere}"
    "dt{font-size:.85rem;opacity:.75}dd{margin:0 0 .6rem}"
    "label{display:block;margin:.9rem 0 .2rem}fieldset{border:0;padding:0;margin:.9rem 0}"
    "fieldset label{display:inline-block;margin:.2rem 1rem .2rem 0}legend{padding:0}"
    "input[type=text],input[type=password]{font:inherit;width:100%;box-sizing:border-box;"
    "padding:.45rem .6rem}"
    ".button{display:inline-block;border:1px solid;border-radius:.4rem;text-decoration:none;"
    "color:inherit;padding:.55rem 1.3rem;font-weight:600}"
    "button{font:inherit;font-weight:600;margin:1.2rem .6rem 0 0;padding:.55rem 1.3rem}"
    "li form{display:flex;flex-wrap:wrap;gap:.5rem;margin:.3rem 0 1rem}"
    "li input[type=text]{flex:1 1 10rem;width:auto}li button{margin:0}"
    "output{display:block;margin:.6rem 0}svg{max-width:100%;height:auto}</style>"
)


def plain_page(title: str, *content: str) -> str:
    """Return a whole page; foreign text in `content` is escaped unless it is Markup."""
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
        element("body", element("main", element("h1", title), *content)),
        lang="en",
    )


def starting_page() -> HTMLResponse:
    """Return what is answered while nothing can be asked yet."""
    page = plain_page("Linewatch is starting", element("p", "Try again in a moment."))
    return HTMLResponse(page, 503)


def text_field(name: str, label: str, value: str, longest: int, **attributes: str | None) -> Markup:
    """Return a field for a line of text under its label."""
    field = element(
        "input",
        type="text",
        id=name,
        name=name,
        value=value,
        maxlength=str(longest),
        **attributes,
    )
    return join(element("label", label, for_=name), field)


def hidden_field(name: str, value: str) -> Markup:
    """Return a field that the form brings back as it is."""
    return element("input", type="hidden", name=name, value=value)


def password_field(name: str, label: str, autocomplete: str) -> Markup:
    """Return a field for a password under its label."""
    field = element(
        "input",
        type="password",
        id=name,
        name=name,
        autocomplete=autocomplete,
        maxlength=str(LONGEST_PASSWORD),
        required="",
    )
    return join(element("label", label, for_=name), field)


def mistake_line(text: str) -> Markup:
    """Return what was wrong with a form; nothing for nothing."""
    if not text:
        return Markup()
    return element("p", element("strong", sentence(capitalized(text))), role="alert")


async def read_form(request: Request) -> Mapping[str, str] | None:
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
    return {name: values[0] for name, values in fields.items()}
