"""A reply that is ready to be sent: less than a framework's response, and much cheaper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.types import Receive, Scope, Send

RawHeaders = list[tuple[bytes, bytes]]

_JSON: Final = (b"content-type", b"application/json")


class Reply:
    """Status, headers and body; sends itself as an ASGI app does.

    The names are those of Starlette's `Response`, so that either may be returned.
    """

    __slots__ = ("body", "raw_headers", "status_code")

    def __init__(self, status: int, headers: RawHeaders, body: bytes = b"") -> None:
        """Take headers whole, the length of the body among them."""
        self.status_code = status
        self.raw_headers = headers
        self.body = body

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        await send({"type": "http.response.body", "body": self.body})


def json_reply(body: bytes, status: int = 200, more: Iterable[tuple[bytes, bytes]] = ()) -> Reply:
    """Return a reply with JSON text, ready made."""
    return Reply(status, [_JSON, (b"content-length", b"%d" % len(body)), *more], body)
