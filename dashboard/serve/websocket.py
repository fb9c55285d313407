"""JSON-RPC over WebSocket: every message is one JSON-RPC message, answered in its turn."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve.http import INVALID_PROJECT_ID
from dashboard.serve.jsonrpc import JsonRpc
from dashboard.serve.keys import ApiKey
from dashboard.wire.jsonrpc import NULL_ID, error_reply

_TOO_LARGE: Final = 1009
"""RFC 6455 section 7.4.1: the message is too big to process."""

_log = get_logger(__name__)


class RpcOverWebSocket:
    """Answers the messages of callers whose key was already checked."""

    def __init__(self, rpc: JsonRpc, largest_message: int) -> None:
        """Hand messages of at most `largest_message` bytes to `rpc`."""
        self._rpc = rpc
        self._largest_message = largest_message

    async def converse(self, receive: Receive, send: Send, caller: ApiKey) -> None:
        """Answer until the client leaves; messages wait while the one before is answered."""
        await receive()
        await send({"type": "websocket.accept"})
        answered = 0
        try:
            while (body := _body(await receive())) is not None:
                if len(body) > self._largest_message:
                    await self._close_too_large(send)
                    break
                answer = await self._rpc.answer(body, caller)
                answered += 1
                if answer.body is not None:
                    await send({"type": "websocket.send", "text": answer.body.decode()})
        finally:
            _log.info("WebSocket ended", key=caller.name, messages=answered)

    async def _close_too_large(self, send: Send) -> None:
        """Close on servers that let a message over the limit through to the app."""
        reason = f"a message may hold {self._largest_message} bytes"
        await send({"type": "websocket.close", "code": _TOO_LARGE, "reason": reason})


async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a handshake with 401, or with the server's own 403 where it cannot say 401."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    body = error_reply(NULL_ID, INVALID_PROJECT_ID)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    start = {"status": HTTPStatus.UNAUTHORIZED.value, "headers": headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": body})


def _body(message: Message) -> bytes | None:
    """Return a message's bytes, text or binary alike; None when the client has left."""
    if message["type"] != "websocket.receive":
        return None
    text: str | None = message.get("text")
    return message.get("bytes") or b"" if text is None else text.encode()
