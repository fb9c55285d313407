"""JSON-RPC over WebSocket: handshakes, and a conversation for each that is accepted."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.types import Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve.conversation import Conversation, Ending, Terms
from dashboard.serve.http import INVALID_PROJECT_ID
from dashboard.serve.jsonrpc import JsonRpc
from dashboard.serve.keys import ApiKey
from dashboard.serve.metrics import Counters
from dashboard.wire.jsonrpc import NULL_ID, error_reply

_SUBPROTOCOLS: Final = ("jsonrpc", "json-rpc", "jsonrpc-2.0", "json-rpc-2.0")
"""What some clients offer and browsers then insist on; all of them mean what we speak."""

_log = get_logger(__name__)


class RpcOverWebSocket:
    """Answers the messages of callers whose key was already checked."""

    def __init__(self, rpc: JsonRpc, terms: Terms, counters: Counters) -> None:
        """Hand messages to `rpc`, with clients held to `terms`."""
        self._rpc = rpc
        self._terms = terms
        self._counters = counters

    async def converse(self, scope: Scope, receive: Receive, send: Send, caller: ApiKey) -> None:
        """Answer and push until the client leaves or has to."""
        await receive()
        offered = scope.get("subprotocols", ())
        spoken = next((each for each in offered if each in _SUBPROTOCOLS), None)
        await send({"type": "websocket.accept", "subprotocol": spoken})
        conversation = Conversation(receive, send, caller, self._terms)
        ending = Ending()
        try:
            ending = await conversation.hold(self._rpc, self._counters)
        finally:
            _log.info(
                "WebSocket ended",
                key=caller.name,
                messages=conversation.answered,
                reason=ending.reason,
            )


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
