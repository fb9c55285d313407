"""A serve process that is told to stop: what it began it answers, and what it saved is saved."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.faults.serve_processes import KEY, SAVE, ServeHome, Server, open_serve_home
from tests.integration.raw_client import post_head, raw_client, read_reply, status_of
from tests.integration.running_server import a_call, a_report_of, a_signed_transaction
from tests.waiting import PATIENCE


@dataclass
class Seen:
    """What clients saw of a server that stopped under them."""

    saved: set[str] = field(default_factory=set)
    torn: list[bytes] = field(default_factory=list)
    closed_with: list[int] = field(default_factory=list)
    first: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[ServeHome]:
    with open_serve_home(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def server(house: ServeHome) -> Server:
    (only,) = house.servers
    return only


def test_no_answer_is_torn_and_no_save_lost_when_serve_stops_under_load(
    house: ServeHome, server: Server
) -> None:
    seen = Seen()
    clients = [
        threading.Thread(target=_save_over_http, args=(server, seen, number)) for number in range(3)
    ] + [
        threading.Thread(target=_save_over_websocket, args=(server, seen, number))
        for number in range(3, 5)
    ]
    for client in clients:
        client.start()
    assert seen.first.wait(PATIENCE)

    code = server.terminate()

    for client in clients:
        client.join(PATIENCE)
    assert code == 0
    assert seen.torn == []
    assert seen.closed_with == [1012, 1012]
    assert seen.saved <= _stored(house)


def test_connections_that_do_nothing_do_not_hold_up_the_end(tmp_path: Path) -> None:
    with (
        open_serve_home(tmp_path / "patient", LINEWATCH_SERVE_STOP_TIMEOUT="1h") as house,
        raw_client(address := f"127.0.0.1:{house.servers[0].port}") as idle,
        raw_client(address) as half,
        connect(f"ws://{address}/ws/v3/{KEY}", proxy=None) as socket,
    ):
        idle.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(read_reply(idle)) == 200
        half.sendall(b"GET /live HTTP/1.1\r\nHos")

        assert house.servers[0].terminate() == 0

        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012


def test_client_that_does_not_finish_is_not_waited_for_longer_than_the_limit(
    tmp_path: Path,
) -> None:
    with open_serve_home(tmp_path / "home", LINEWATCH_SERVE_STOP_TIMEOUT="1s") as house:
        (server,) = house.servers
        with raw_client(f"127.0.0.1:{server.port}") as client:
            client.sendall(post_head(f"/v3/{KEY}", 1_000) + b"{")
            with raw_client(f"127.0.0.1:{server.port}") as other:
                other.sendall(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                read_reply(other)

            assert server.terminate() == 0


def _save_over_http(server: Server, seen: Seen, client_number: int) -> None:
    with contextlib.suppress(ConnectionError), raw_client(f"127.0.0.1:{server.port}") as client:
        for nonce in range(10_000):
            batch = _batch(client_number, nonce)
            body = json.dumps(batch).encode()
            client.sendall(post_head(f"/v3/{KEY}", len(body)) + body)
            reply = read_reply(client)
            if not reply:
                return
            _note(seen, reply.partition(b"\r\n\r\n")[2])
            if b"connection: close" in reply.lower():
                return


def _save_over_websocket(server: Server, seen: Seen, client_number: int) -> None:
    url = f"ws://127.0.0.1:{server.port}/ws/v3/{KEY}"
    with connect(url, proxy=None) as socket:
        try:
            for nonce in range(10_000):
                socket.send(json.dumps(_batch(client_number, nonce)))
                _note(seen, str(socket.recv(timeout=PATIENCE)).encode())
        except ConnectionClosed as closed:
            seen.closed_with.append(closed.rcvd.code if closed.rcvd else 1006)


def _batch(client_number: int, number: int) -> list[dict[str, object]]:
    transactions = [
        a_signed_transaction(client_number * 1_000_000 + number * 3 + each) for each in range(3)
    ]
    return [a_call(SAVE, a_report_of(each), each.tx_hash) for each in transactions]


def _note(seen: Seen, body: bytes) -> None:
    try:
        replies = json.loads(body)
    except ValueError:
        seen.torn.append(body)
        return
    seen.saved |= {reply["id"] for reply in replies if "result" in reply}
    if seen.saved:
        seen.first.set()


def _stored(house: ServeHome) -> set[str]:
    with contextlib.closing(sqlite3.connect(house.store)) as connection:
        rows = connection.execute("SELECT tx_hash FROM rejections").fetchall()
    return {f"0x{bytes(row[0]).hex()}" for row in rows}
