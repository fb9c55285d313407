"""Clients that are slow, silent, greedy or many: dropped in time, and none delays another."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace

from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.server import within_descriptors
from dashboard.transport.connection_limits import ConnectionLimits, ConnectionPhase
from tests import plain_http
from tests.integration.raw_client import (
    post_head,
    raw_client,
    read_reply,
    read_to_end,
    status_of,
    upgrade_head,
)
from tests.integration.running_server import KEY, LIMITS, a_call, a_store, services_of, serving
from tests.waiting import PATIENCE, eventually

GET = "chain_getTransactionExclusionStatusV1"
SHORT = timedelta(milliseconds=300)
NO_END = dict.fromkeys(
    ("head_timeout", "body_timeout", "idle_timeout", "reading_timeout"), timedelta(hours=1)
)
CROWD = {"largest_connections_per_address": 0, "largest_connections": 1_200}
HEAD = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@contextlib.contextmanager
def serving_with(folder: Path, **limits: object) -> Iterator[tuple[str, ServeDependencies]]:
    """Serve with these limits on connections, and generous ones otherwise."""
    connections = replace(ConnectionLimits(), **limits)
    with a_store(folder) as store:
        dependencies = services_of(store, limits=replace(LIMITS, connections=connections))
        with serving(dependencies) as address:
            yield address, dependencies


@pytest.mark.parametrize(
    ("sent", "answer"),
    [(b"", None), (b"GET /live HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", 408)],
    ids=["nothing", "half a head"],
)
def test_head_that_never_comes_whole_ends_the_connection(
    tmp_path: Path, sent: bytes, answer: int | None
) -> None:
    with serving_with(tmp_path, head_timeout=SHORT) as (address, _), raw_client(address) as client:
        client.sendall(sent)

        assert status_of(read_to_end(client)) == answer


def test_head_that_drips_is_not_given_more_time(tmp_path: Path) -> None:
    with serving_with(tmp_path, head_timeout=SHORT) as (address, _), raw_client(address) as client:
        client.settimeout(0.02)
        client.sendall(b"GET /live HTTP/1.1\r\n")
        reply = b""
        while not reply:
            with contextlib.suppress(TimeoutError):
                client.sendall(b"X-Drip: x\r\n")
                reply = client.recv(1_000)

        assert status_of(reply) == 408


def test_body_that_never_comes_whole_ends_the_connection(tmp_path: Path) -> None:
    with serving_with(tmp_path, body_timeout=SHORT) as (address, _), raw_client(address) as client:
        client.sendall(post_head(f"/v3/{KEY}", 1_000) + b"{")

        reply = read_to_end(client)

    assert status_of(reply) == 408
    assert json.loads(reply.partition(b"\r\n\r\n")[2])["statusCode"] == 408


def test_connection_is_kept_for_a_next_request_and_not_for_ever(tmp_path: Path) -> None:
    with serving_with(tmp_path, idle_timeout=SHORT) as (address, _), raw_client(address) as client:
        client.sendall(HEAD)
        first = read_reply(client)
        client.sendall(HEAD)
        second = read_reply(client)

        assert (status_of(first), status_of(second)) == (200, 200)
        assert read_to_end(client) == b""


def test_client_that_never_reads_its_replies_is_cut_off(tmp_path: Path) -> None:
    with (
        serving_with(tmp_path, reading_timeout=SHORT) as (address, dependencies),
        raw_client(address, receive_buffer=2_048) as client,
    ):
        request = _large_batch()
        with contextlib.suppress(OSError):
            for _ in range(2_000):
                client.sendall(request)

        connection_limiter = dependencies.counters.connection_limiter
        assert connection_limiter is not None
        eventually(
            lambda: (
                connection_limiter.dropped[ConnectionPhase.SLOW_READER] == 1
                and connection_limiter.open_connections == 0
            )
        )


def test_websocket_that_never_reads_is_cut_off(tmp_path: Path) -> None:
    with (
        serving_with(tmp_path, reading_timeout=SHORT) as (address, dependencies),
        raw_client(address, receive_buffer=2_048) as client,
    ):
        client.sendall(upgrade_head(f"/ws/v3/{KEY}"))
        assert status_of(client.recv(4_096)) == 101
        text = json.dumps([a_call("x" * 2_000, [])] * 20).encode()
        frame = b"\x81\xfe" + len(text).to_bytes(2) + bytes(4) + text
        with contextlib.suppress(OSError):
            for _ in range(5_000):
                client.sendall(frame)

        connection_limiter = dependencies.counters.connection_limiter
        assert connection_limiter is not None
        eventually(
            lambda: (
                connection_limiter.dropped.total() > 0 and connection_limiter.open_connections == 0
            )
        )


def test_websocket_message_that_never_comes_whole_ends_it(tmp_path: Path) -> None:
    with serving_with(tmp_path, body_timeout=SHORT) as (address, _), raw_client(address) as client:
        client.sendall(upgrade_head(f"/ws/v3/{KEY}"))
        assert status_of(client.recv(4_096)) == 101
        client.sendall(b"\x81\xfe\x10\x00" + bytes(4) + b"half of it")

        assert read_to_end(client) == b""


def test_websocket_whose_client_is_gone_ends(tmp_path: Path) -> None:
    with (
        serving_with(tmp_path, ping_period=SHORT, ping_timeout=SHORT) as (address, dependencies),
        raw_client(address) as client,
    ):
        client.sendall(upgrade_head(f"/ws/v3/{KEY}"))
        assert status_of(client.recv(4_096)) == 101

        assert b"keepalive ping timeout" in read_to_end(client)
        eventually(lambda: dependencies.counters.websockets == 0)


@pytest.mark.parametrize("size", [3_000, 300_000])
def test_head_over_the_limit_is_refused(tmp_path: Path, size: int) -> None:
    with serving_with(tmp_path, largest_head=2_000) as (address, _), raw_client(address) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(b"GET /live HTTP/1.1\r\nX-Large: " + b"x" * size + b"\r\n\r\n")

        assert status_of(read_to_end(client)) == 431


def test_head_without_end_is_refused(tmp_path: Path) -> None:
    with serving_with(tmp_path, largest_head=2_000) as (address, _), raw_client(address) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(b"GET /live HTTP/1.1\r\n")
            for _ in range(10_000):
                client.sendall(b"X-More: x\r\n")

        assert status_of(read_to_end(client)) in {431, None}


def test_large_bodies_have_no_part_in_the_limit_of_heads(tmp_path: Path) -> None:
    body = json.dumps(a_call("no_such_method", [])).encode().ljust(30_000)
    with serving_with(tmp_path, largest_head=2_000) as (address, _), raw_client(address) as client:
        for _ in range(3):
            client.sendall(post_head(f"/v3/{KEY}", len(body)) + body)

            assert status_of(read_reply(client)) == 200


@pytest.mark.parametrize("head", [HEAD, upgrade_head(f"/ws/v3/{KEY}")], ids=["http", "websocket"])
def test_connection_beyond_the_limit_is_told_so(tmp_path: Path, head: bytes) -> None:
    with (
        serving_with(tmp_path, largest_connections=2) as (address, _),
        raw_client(address) as one,
        raw_client(address) as two,
    ):
        for client in (one, two):
            client.sendall(HEAD)
            assert status_of(read_reply(client)) == 200
        with raw_client(address) as third:
            third.sendall(head)
            reply = read_to_end(third)

        assert status_of(reply) == 503
        assert b"Too many connections" in reply
        one.close()
        eventually(lambda: plain_http.get(f"http://{address}/live").status_code == 200)


def test_many_requests_sent_ahead_are_answered_and_a_flood_of_them_is_not(tmp_path: Path) -> None:
    with serving_with(tmp_path) as (address, _):
        with raw_client(address) as client:
            client.sendall(HEAD * 50)
            read = b""
            while read.count(b"HTTP/1.1 200") < 50:
                read += client.recv(65_536)
        with raw_client(address) as client:
            with contextlib.suppress(ConnectionError):
                client.sendall(HEAD * 5_000)
            assert read_to_end(client).count(b"HTTP/1.1 200") < 5_000


def test_another_waits_for_none_of_hundreds_of_idle_and_slow_clients(tmp_path: Path) -> None:
    with (
        serving_with(tmp_path, **NO_END, **CROWD) as (address, _),
        contextlib.ExitStack() as crowd,
    ):
        clients = [crowd.enter_context(raw_client(address)) for _ in range(600)]
        for client in clients[:200]:
            client.sendall(b"GET /live HTTP/1.1\r\nX-Slow")
        for client in clients[200:400]:
            client.sendall(post_head(f"/v3/{KEY}", 40_000) + b"[")
        for client in clients[400:450]:
            client.sendall(_large_batch())
        with httpx.Client(base_url=f"http://{address}", timeout=PATIENCE) as another:
            for _ in range(20):
                assert another.post(f"/v3/{KEY}", json=a_call("x", [])).status_code == 200


def test_limit_of_connections_fits_into_the_descriptors_of_the_process() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    has_end = hard != resource.RLIM_INFINITY
    wanted = ConnectionLimits(largest_connections=hard * 2) if has_end else None
    try:
        fitting = within_descriptors(wanted or ConnectionLimits())

        now, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert fitting.largest_connections + fitting.refusable + 100 < now
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _large_batch() -> bytes:
    """Return a request with a large reply."""
    body = json.dumps([a_call("x" * 2_000, [])] * 20).encode()
    return post_head(f"/v3/{KEY}", len(body)) + body


def test_refused_socket_is_a_socket_again(tmp_path: Path) -> None:
    with (
        serving_with(tmp_path, head_timeout=SHORT) as (address, dependencies),
        raw_client(address) as client,
    ):
        client.shutdown(socket.SHUT_WR)
        read_to_end(client)

        connection_limiter = dependencies.counters.connection_limiter
        assert connection_limiter is not None
        eventually(lambda: connection_limiter.open_connections == 0)
