"""JSON-RPC over HTTP: the body of a POST is a message, the body of the reply its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from dashboard.serve.http_reply import HttpReply, json_reply
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import Dispatcher
from dashboard.wire.jsonrpc import NULL_ID, error_reply
from dashboard.wire.jsonrpc_errors import RpcError

INVALID_PROJECT_ID: Final = RpcError(-32002, "invalid project id")


class BodyTooLarge(Exception):
    """The body has more bytes than allowed."""


class HttpEndpoint:
    """Answers callers that are authenticated."""

    def __init__(self, rpc: Dispatcher, largest_body: int) -> None:
        """Pass bodies of at most `largest_body` bytes to `rpc`."""
        self._rpc = rpc
        self._largest_body = largest_body

    async def answer(self, receive: Receive, caller: ApiKey) -> HttpReply:
        """Answer one POST."""
        try:
            body = await _read_body(receive, self._largest_body)
        except BodyTooLarge:
            error = RpcError.invalid_request(f"a body may hold {self._largest_body} bytes")
            return rpc_error(413, error, {"Connection": "close"})
        except ClientDisconnect:
            return HttpReply(200, [])  # the client has left
        answer = await self._rpc.answer(body, caller)
        if answer.retry_after:
            seconds = b"%d" % answer.retry_after
            return json_reply(answer.body or b"", 429, ((b"retry-after", seconds),))
        return HttpReply(204, []) if answer.body is None else json_reply(answer.body)


def rpc_error(status: int, error: RpcError, headers: Mapping[str, str] | None = None) -> HttpReply:
    """Return an error of the whole HTTP request, not of one call."""
    more = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return json_reply(error_reply(NULL_ID, error), status, more)


async def _read_body(receive: Receive, largest: int) -> bytes:
    """Read a body; one that comes in one piece, as nearly all do, is not copied."""
    body: bytes | bytearray = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece: bytes = message.get("body", b"")
        if len(body) + len(piece) > largest:
            raise BodyTooLarge
        has_more: bool = message.get("more_body", False)
        if not body and not has_more:
            return piece
        body = bytearray(body) if isinstance(body, bytes) else body
        body += piece
        if not has_more:
            return bytes(body)
