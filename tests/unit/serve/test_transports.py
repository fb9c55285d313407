"""Both transports on servers other than ours: sizes, clients that leave, old handshakes."""

from __future__ import annotations

import json

import pytest

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.counters import Counters
from dashboard.serve.dependencies import ServeLimits
from dashboard.serve.keys.key_ring import KeyLimiter, KeyRing
from dashboard.serve.rpc import websocket_endpoint
from dashboard.serve.rpc.dispatch import Dispatcher, HttpEndpoint
from tests.unit.serve.asgi_connection import Connection

CALLER = ApiKey.of("tests", Secret("key"))
RPC = Dispatcher({}, KeyLimiter(), Counters(), largest_batch=5)
CONNECT = {"type": "websocket.connect"}
DISCONNECT = {"type": "websocket.disconnect", "code": 1001}


async def handle_websocket(connection: Connection, **scope: object) -> None:
    limits = ServeLimits(largest_body=10, largest_queue=1_000)
    rpc = websocket_endpoint.WebSocketEndpoint(RPC, limits, Counters(), KeyRing([CALLER]), {})
    await rpc.handle_websocket(dict(scope), connection.receive, connection.send, CALLER)


def chunk(body: bytes, *, more: bool) -> dict[str, object]:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_body_in_pieces_is_put_together() -> None:
    connection = Connection(chunk(b'{"jsonrpc":"2.0","id":1,', more=True), chunk(b"}", more=False))

    response = await HttpEndpoint(RPC, 100).answer(connection.receive, CALLER)

    assert json.loads(bytes(response.body))["error"]["code"] == -32700


async def test_body_over_the_limit_is_refused_without_reading_on() -> None:
    connection = Connection(chunk(b"x" * 11, more=True), chunk(b"x", more=False))

    response = await HttpEndpoint(RPC, 10).answer(connection.receive, CALLER)

    assert response.status_code == 413
    assert (b"connection", b"close") in response.raw_headers
    assert connection.unread == 1


async def test_client_that_leaves_in_the_middle_of_its_body_runs_nothing() -> None:
    connection = Connection(chunk(b"{", more=True), {"type": "http.disconnect"})

    response = await HttpEndpoint(RPC, 100).answer(connection.receive, CALLER)

    assert response.body == b""


async def test_large_message_closes_the_socket_where_the_server_let_it_through() -> None:
    large = {"type": "websocket.receive", "text": "x" * 11}
    connection = Connection(CONNECT, large)

    await handle_websocket(connection)

    assert [message["type"] for message in connection.sent] == [
        "websocket.accept",
        "websocket.close",
    ]
    assert connection.sent[-1]["code"] == 1009


async def test_socket_is_answered_until_its_client_leaves() -> None:
    text = {"type": "websocket.receive", "text": "{"}
    binary = {"type": "websocket.receive", "bytes": b"", "text": None}
    connection = Connection(CONNECT, text, binary, DISCONNECT)

    await handle_websocket(connection)

    assert [json.loads(each["text"])["error"]["code"] for each in connection.sent[1:]] == [
        -32700,
        -32700,
    ]


@pytest.mark.parametrize(
    ("offered", "spoken"), [([], None), (["mqtt"], None), (["mqtt", "jsonrpc"], "jsonrpc")]
)
async def test_subprotocol_is_taken_where_it_means_json_rpc(
    offered: list[str], spoken: str | None
) -> None:
    connection = Connection(CONNECT, DISCONNECT)

    await handle_websocket(connection, subprotocols=offered)

    assert connection.sent == [{"type": "websocket.accept", "subprotocol": spoken}]


async def test_handshake_is_refused_even_where_the_server_cannot_say_why() -> None:
    connection = Connection(CONNECT)

    await websocket_endpoint.refuse({"type": "websocket"}, connection.receive, connection.send)

    assert connection.sent == [{"type": "websocket.close"}]


class Impatient(KeyLimiter):
    """Lets nobody in for three seconds."""

    def admit(self, caller: ApiKey, calls: int) -> int:
        return 3 if caller is CALLER and calls else 0


async def test_caller_that_comes_too_fast_is_told_when_to_come_back() -> None:
    connection = Connection(chunk(b"{}", more=False))
    rpc = Dispatcher({}, Impatient(), Counters(), largest_batch=5)

    response = await HttpEndpoint(rpc, 100).answer(connection.receive, CALLER)

    assert response.status_code == 429
    assert (b"retry-after", b"3") in response.raw_headers
    assert json.loads(bytes(response.body))["error"]["code"] == -32005
