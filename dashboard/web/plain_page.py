"""Small pages that need no script: an unknown address, and what a link in a message leads to."""

from __future__ import annotations

from typing import Final

from dashboard.domain.markup import Markup, element

_STYLE: Final = Markup(
    "<style>:root{color-scheme:light dark;background:Canvas;color:CanvasText}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}"
    "code{overflow-wrap:anywhere}li{margin:.25rem 0}p,dd{overflow-wrap:anywhere}"
    "dt{font-size:.85rem;opacity:.75}dd{margin:0 0 .6rem}"
    "label{display:block;margin:.9rem 0 .2rem}fieldset{border:0;padding:0;margin:.9rem 0}"
    "fieldset label{display:inline-block;margin:.2rem 1rem .2rem 0}legend{padding:0}"
    "input[type=text]{font:inherit;width:100%;box-sizing:border-box;padding:.45rem .6rem}"
    "button{font:inherit;font-weight:600;margin-top:1.2rem;padding:.55rem 1.3rem}</style>"
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
