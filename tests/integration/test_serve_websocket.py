"""The exclusion RPC over WebSocket: the same answers, and a socket that survives bad messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests import plain_http
from tests.integration.running_server import (
    KEY,
    LIMITS,
    a_call,
    a_store,
    services_of,
    serving,
)
from tests.waiting import PATIENCE

GET = "chain_getTransactionExclusionStatusV1"
UNKNOWN = f"0x{'ab' * 32}"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("serve")
    with a_store(folder) as store, serving(services_of(store)) as host_and_port:
        yield host_and_port


@pytest.fixture
def socket(address: str) -> Iterator[ClientConnection]:
    with connect(f"ws://{address}/ws/v3/{KEY}", proxy=None) as connection:
        yield connection


def ask(socket: ClientConnection, message: Any) -> Any:  # noqa: ANN401 - any JSON value
    socket.send(json.dumps(message))
    return json.loads(socket.recv(timeout=PATIENCE))


def test_broken_message_is_answered_and_the_socket_stays_open(socket: ClientConnection) -> None:
    socket.send("{broken")
    error = json.loads(socket.recv(timeout=PATIENCE))

    assert (error["id"], error["error"]["code"]) == (None, -32700)
    assert ask(socket, a_call(GET, [UNKNOWN]))["result"] is None


def test_binary_message_is_answered_like_text(socket: ClientConnection) -> None:
    socket.send(json.dumps(a_call(GET, [UNKNOWN], 5)).encode())
    assert json.loads(socket.recv(timeout=PATIENCE))["id"] == 5

    socket.send(b"\xff\xfe")
    assert json.loads(socket.recv(timeout=PATIENCE))["error"]["code"] == -32700


def test_pipelined_messages_are_answered_in_their_order(socket: ClientConnection) -> None:
    for number in range(50):
        socket.send(json.dumps(a_call(GET, [UNKNOWN], number)))

    assert [json.loads(socket.recv(timeout=PATIENCE))["id"] for _ in range(50)] == list(range(50))


def test_notification_gets_no_message_back(socket: ClientConnection) -> None:
    socket.send(json.dumps({"jsonrpc": "2.0", "method": GET, "params": [UNKNOWN]}))

    assert ask(socket, a_call(GET, [UNKNOWN], "next"))["id"] == "next"


def test_message_at_the_limit_is_answered_and_one_byte_more_closes_with_1009(
    socket: ClientConnection,
) -> None:
    at_limit = "1".ljust(LIMITS.largest_body)
    socket.send(at_limit)
    assert json.loads(socket.recv(timeout=PATIENCE))["error"]["code"] == -32600

    socket.send(at_limit + " ")
    with pytest.raises(ConnectionClosedError) as closed:
        socket.recv(timeout=PATIENCE)

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


@pytest.mark.parametrize("path", ["/ws/v3/wrong", "/ws/v3/", "/ws/v3", f"/v3/{KEY}", "/ws"])
def test_handshake_without_a_known_key_is_refused_with_401(address: str, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(f"ws://{address}{path}", proxy=None):
        pass

    response = refused.value.response
    assert response.status_code == 401
    assert json.loads(response.body or b"")["error"] == {
        "code": -32002,
        "message": "invalid project id",
    }


def test_plain_http_at_the_websocket_address_is_told_so(address: str) -> None:
    response = plain_http.get(f"http://{address}/ws/v3/{KEY}")

    assert (response.status_code, response.json()["statusCode"]) == (426, 426)
