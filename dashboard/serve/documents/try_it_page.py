"""The page that tries the APIs: files of ours, which load nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from dashboard.transport.http_reply import HttpReply

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
_KINDS: Final[Mapping[str, str]] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_INDEX: Final = "index.html"
_PARTS: Final = (
    _INDEX,
    "style.css",
    "script.js",
    "operations.js",
    "socket.js",
    "logo.svg",
    "icon.svg",
)


def try_it_page() -> dict[str, HttpReply]:
    """Return the page and its parts, by path."""
    folder = files("dashboard.serve") / "try_it"
    return {
        "/" if name == _INDEX else f"/try/{name}": _file(name, (folder / name).read_bytes())
        for name in _PARTS
    }


def _file(name: str, content: bytes) -> HttpReply:
    kind = _KINDS[name.rpartition(".")[2]].encode()
    length = b"%d" % len(content)
    return HttpReply(
        200, [(b"content-type", kind), (b"content-length", length), *_HEADERS], content
    )
