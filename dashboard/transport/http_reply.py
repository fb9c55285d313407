"""HTTP replies that are ready to send: much cheaper than Starlette's responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.types import Receive, Scope, Send

RawHeaders = list[tuple[bytes, bytes]]

_JSON: Final = (b"content-type", b"application/json")


class HttpReply:
    """Status, headers and body; an ASGI app, with the names of Starlette's `Response`."""

    __slots__ = ("body", "raw_headers", "status_code")

    def __init__(self, status: int, headers: RawHeaders, body: bytes = b"") -> None:
        """Take all headers; the length of the body is one of them."""
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


def json_reply(
    body: bytes, status: int = 200, more: Iterable[tuple[bytes, bytes]] = ()
) -> HttpReply:
    """Return a reply with a body of JSON text."""
    return HttpReply(status, [_JSON, (b"content-length", b"%d" % len(body)), *more], body)
