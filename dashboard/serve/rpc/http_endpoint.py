"""JSON-RPC over HTTP: the body of a POST is one message, the body of the reply its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from dashboard.serve.http_reply import Reply, json_reply
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import JsonRpc
from dashboard.wire.jsonrpc import NULL_ID, error_reply
from dashboard.wire.jsonrpc_errors import RpcFault

INVALID_PROJECT_ID: Final = RpcFault(-32002, "invalid project id")


class BodyTooLarge(Exception):
    """More bytes came than one body may have."""


class RpcOverHttp:
    """Answers a caller whose key was already checked."""

    def __init__(self, rpc: JsonRpc, largest_body: int) -> None:
        """Hand bodies of at most `largest_body` bytes to `rpc`."""
        self._rpc = rpc
        self._largest_body = largest_body

    async def answer(self, receive: Receive, caller: ApiKey) -> Reply:
        """Answer one POST."""
        try:
            body = await _read_body(receive, self._largest_body)
        except BodyTooLarge:
            fault = RpcFault.invalid_request(f"a body may hold {self._largest_body} bytes")
            return rpc_error(413, fault, {"Connection": "close"})
        except ClientDisconnect:
            return Reply(200, [])  # nobody is there to read it
        answer = await self._rpc.answer(body, caller)
        if answer.retry_after:
            seconds = b"%d" % answer.retry_after
            return json_reply(answer.body or b"", 429, ((b"retry-after", seconds),))
        return Reply(204, []) if answer.body is None else json_reply(answer.body)


def rpc_error(status: int, fault: RpcFault, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a fault that concerns the HTTP request and no single call."""
    more = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return json_reply(error_reply(NULL_ID, fault), status, more)


async def _read_body(receive: Receive, largest: int) -> bytes:
    """Read a body; nearly all come in one piece, which is not copied."""
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
