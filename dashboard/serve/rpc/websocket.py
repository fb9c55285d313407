"""JSON-RPC over WebSocket: handshakes, and a conversation for each that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from starlette.types import Message, Receive, Scope, Send

from dashboard.logs import get_logger
from dashboard.serve.counters import Counters
from dashboard.serve.keys.key_ring import ApiKey, KeyRing
from dashboard.serve.rpc.conversation import Conversation, Ending
from dashboard.serve.rpc.dispatch import JsonRpc
from dashboard.serve.rpc.http import INVALID_PROJECT_ID
from dashboard.serve.subscriptions.session import Terms
from dashboard.serve.transport.frames import BURSTS
from dashboard.wire.jsonrpc import NULL_ID, RpcFault, error_reply

_SUBPROTOCOLS: Final = ("jsonrpc", "json-rpc", "jsonrpc-2.0", "json-rpc-2.0")
"""What some clients offer and browsers then insist on; all of them mean what we speak."""

_POLICY: Final = 1008
"""RFC 6455 section 7.4.1: what was said is against our rules."""

_log = get_logger(__name__)


class RpcOverWebSocket:
    """Answers the messages of callers whose key was already checked."""

    def __init__(self, rpc: JsonRpc, terms: Terms, counters: Counters, keys: KeyRing) -> None:
        """Hand messages to `rpc`, with clients held to `terms`, while their keys are accepted."""
        self._rpc = rpc
        self._terms = terms
        self._counters = counters
        self._keys = keys

    async def converse(self, scope: Scope, receive: Receive, send: Send, caller: ApiKey) -> None:
        """Answer and push until the client leaves or has to."""
        await receive()
        offered = scope.get("subprotocols", ())
        spoken = next((each for each in offered if each in _SUBPROTOCOLS), None)
        await send({"type": "websocket.accept", "subprotocol": spoken})
        if BURSTS not in scope.get("extensions", ()):
            send = _one_by_one(send)
        conversation = Conversation(receive, send, caller, self._terms)
        forget = self._hold_to_key(conversation)
        ending = Ending()
        try:
            ending = await conversation.hold(self._rpc, self._counters)
        finally:
            forget()
            _log.info(
                "WebSocket ended",
                key=caller.name,
                messages=conversation.answered,
                reason=ending.reason,
            )

    def _hold_to_key(self, conversation: Conversation) -> Callable[[], None]:
        """Let what becomes of the key reach its conversation; return what ends that."""

        def look() -> None:
            before, caller = conversation.caller, self._keys.current(conversation.caller)
            if caller is None:
                conversation.end(_POLICY, "API key revoked")
            elif (caller.network_ids, caller.methods) != (before.network_ids, before.methods):
                # Subscriptions go on with what the key opened when they began.
                conversation.end(_POLICY, "the limits of the API key changed: connect again")
            else:
                conversation.caller = caller

        look()
        return self._keys.on_change(look)


def _one_by_one(send: Send) -> Send:
    """Send each message of a burst by itself, for servers that do not know of bursts."""

    async def sending(message: Message) -> None:
        if "texts" not in message:
            await send(message)
            return
        for text in message["texts"]:
            await send({"type": message["type"], "text": text.decode()})

    return sending


async def refuse(scope: Scope, receive: Receive, send: Send, wait: int = 0) -> None:
    """Refuse a handshake with 401, or 429 where its address has to wait for so many seconds.

    Where the server cannot say either, it says its own 403.
    """
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    status, fault = HTTPStatus.UNAUTHORIZED, INVALID_PROJECT_ID
    headers = [(b"content-type", b"application/json")]
    if wait:
        status, fault = HTTPStatus.TOO_MANY_REQUESTS, RpcFault.rate_exceeded(wait, None)
        headers.append((b"retry-after", b"%d" % wait))
    body = error_reply(NULL_ID, fault)
    headers.append((b"content-length", b"%d" % len(body)))
    start = {"status": status.value, "headers": headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": body})
