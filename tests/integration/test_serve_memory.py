"""What a stranger can make serve keep: every byte of a request is bounded, and every reply."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.transport.connection_limits import ConnectionPhase
from tests.integration.raw_client import (
    MUCH,
    raw_client,
    read_reply,
    read_to_end,
    status_of,
    taken,
    upgrade_head,
)
from tests.integration.running_server import KEY
from tests.integration.test_serve_slow_clients import SHORT, serving_with
from tests.waiting import eventually

CHUNKED = b"POST /v3/%b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
UNKNOWN, KNOWN = CHUNKED % b"x", CHUNKED % KEY.encode()
DOCUMENT = (
    b"GET /openrpc.json HTTP/1.1\r\nHost: localhost\r\nX-Padding: " + b"x" * 1_000 + b"\r\n\r\n"
)


@pytest.mark.parametrize("begun", [UNKNOWN, KNOWN], ids=["answered", "waiting"])
@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (b"0\r\n", b"a:b\r\n" * 10_000),
        (b"0\r\na: ", b"x" * 50_000),
        (b"1;", b"x" * 50_000),
    ],
    ids=["trailers", "one trailer", "extension of a chunk"],
)
def test_what_follows_a_body_is_bounded_before_the_answer_and_after(
    tmp_path: Path, begun: bytes, first: bytes, piece: bytes
) -> None:
    with serving_with(tmp_path) as (address, _), raw_client(address) as client:
        client.sendall(begun)
        if begun is UNKNOWN:
            assert status_of(read_reply(client)) == 401
        with contextlib.suppress(ConnectionError):
            client.sendall(first)

        assert taken(client, piece) < MUCH


def test_blank_lines_between_requests_are_bounded(tmp_path: Path) -> None:
    with serving_with(tmp_path) as (address, _), raw_client(address) as client:
        assert taken(client, b"\r\n" * 20_000) < MUCH


def test_few_trailers_do_no_harm_and_are_read_by_nobody(tmp_path: Path) -> None:
    with serving_with(tmp_path) as (address, _), raw_client(address) as client:
        for _ in range(2):
            client.sendall(UNKNOWN + b"0\r\nX-Sum: 1\r\nOrigin: https://wallet.example\r\n\r\n")
            reply = read_reply(client)

            assert status_of(reply) == 401
            assert b"access-control" not in reply.lower()


def test_head_of_very_many_headers_is_refused(tmp_path: Path) -> None:
    with serving_with(tmp_path) as (address, _), raw_client(address) as client:
        client.sendall(b"GET /live HTTP/1.1\r\n" + b"a:\r\n" * 101 + b"\r\n")

        assert status_of(read_to_end(client)) == 431


def test_websocket_behind_a_request_without_its_answer_is_cut_off(tmp_path: Path) -> None:
    with serving_with(tmp_path) as (address, _), raw_client(address) as client:
        client.sendall(DOCUMENT * 10 + upgrade_head(f"/ws/v3/{KEY}"))

        assert b"101 Switching" not in read_to_end(client)


@pytest.mark.parametrize(
    ("greeting", "piece"),
    [
        (lambda: b"", DOCUMENT * 50),
        (lambda: upgrade_head(f"/ws/v3/{KEY}"), (b"\x89\xfd" + bytes(4) + b"p" * 125) * 400),
    ],
    ids=["requests", "pings"],
)
def test_client_that_never_reads_is_read_no_more_and_cut_off(
    tmp_path: Path, greeting: Callable[[], bytes], piece: bytes
) -> None:
    with (
        serving_with(tmp_path, reading_timeout=10 * SHORT) as (address, dependencies),
        raw_client(address, receive_buffer=2_048) as client,
    ):
        client.sendall(greeting())

        assert taken(client, piece) < MUCH

        connection_limiter = dependencies.counters.connection_limiter
        assert connection_limiter is not None
        eventually(
            lambda: (
                connection_limiter.dropped[ConnectionPhase.SLOW_READER] == 1
                and connection_limiter.open_connections == 0
            )
        )
