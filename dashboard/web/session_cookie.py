"""The cookie of a session, how a browser describes itself, and where it goes next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from dashboard.application.sessions import Device, NewSession
from dashboard.application.text import PAGES

COOKIE: Final = "__Host-linewatch"
"""Contains the secret of a session. Browsers send it over HTTPS and to this machine alone."""

KEPT: Final = "kept"
"""The question to the sign-in page right after a sign-in: whether the browser kept the cookie."""

_LONGEST_DEVICE: Final = 200
_BROWSERS: Final = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
"""The names that browsers give themselves, each before those whose names it gives as well."""

_SYSTEMS: Final = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Macintosh": "macOS",
    "Linux": "Linux",
}


def signed_in(begun: NewSession, sign_in: str, place: str = "") -> Response:
    """Redirect to a place, by way of the sign-in page, with the cookie of a new session.

    `sign_in` is that page. It goes on at once, unless the browser did not keep the cookie.
    """
    response = RedirectResponse(f"{sign_in}?{KEPT}=&next={quote(place, safe='')}", 303)
    lasts = begun.session.ends_at - begun.session.created_at
    response.set_cookie(
        COOKIE,
        begun.secret.reveal(),
        max_age=int(lasts.total_seconds()),
        secure=True,
        httponly=True,
        samesite="lax",
    )
    return response


def cookie_of(scope: Scope, name: str) -> str:
    """Return the value of a cookie as the browser sent it, empty if there is none.

    `Request.cookies` takes the quotes off each, in time by the square of its length up to Python
    3.12.5 (CVE-2024-7592). None of ours is quoted.
    """
    for each in _cookies(scope):
        key, _, value = each.decode("latin-1").partition("=")
        if key.strip() == name:
            return value.strip()
    return ""


def without_quoted_cookies(scope: Scope) -> Scope:
    """Return the scope without cookies that hold a quotation mark, which nothing of ours sets."""
    kept = b";".join(each for each in _cookies(scope) if b'"' not in each)
    headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
    return {**scope, "headers": [*headers, (b"cookie", kept)] if kept else headers}


def _cookies(scope: Scope) -> Iterator[bytes]:
    for name, value in scope["headers"]:
        if name == b"cookie":
            yield from value.split(b";")


def known_place(text: str) -> str:
    """Return the page and its query to go to: the first page if it is none of ours."""
    path, mark, query = text.partition("?")
    return path + mark + quote(query, safe="=&%+:,.-_~") if path in PAGES else ""


def device_of(request: Request) -> Device:
    """Return the device and browser of a request, in words for people; both are foreign text."""
    agent = request.headers.get("user-agent", "")
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in agent), "")
    known = f"{browser or 'a browser'} on {system}" if system else browser
    address = "" if request.client is None else request.client.host
    return Device(known or agent[:_LONGEST_DEVICE] or "an unnamed device", address)
