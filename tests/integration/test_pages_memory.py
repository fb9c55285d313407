"""What a stranger can make `linewatch pages` keep."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.installation import command, new_installation
from tests.integration.raw_client import raw_client, read_reply, status_of, upgrade_head
from tests.integration.test_pages_server import MB, is_up
from tests.waiting import PATIENCE, eventually

MUCH = 40 * MB
"""Bytes, more than the buffers of the system between a client and the server."""


Running = tuple[subprocess.Popen[bytes], str]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run the pages alone; yield their process, and host and port."""
    folder = tmp_path_factory.mktemp("pages")
    installation = new_installation(folder / "home", LINEWATCH_DEVNET_MODE="off")
    installation.run("migrate")
    with installation.start(command("pages"), folder / "log") as process:
        eventually(lambda: is_up(installation), what="the start of the pages")
        yield process, f"127.0.0.1:{installation.pages_port}"


@pytest.fixture
def pages(running: Running) -> str:
    """Return host and port."""
    return running[1]


def taken(client: socket.socket, piece: bytes) -> int:
    """Send until nothing more is taken; return how many bytes were."""
    sent = 0
    client.settimeout(1)
    with contextlib.suppress(ConnectionError, TimeoutError):
        while sent < MUCH:
            sent += client.send(piece)
    return sent


def open_websocket(client: socket.socket) -> None:
    client.sendall(upgrade_head("/_stcore/stream"))
    assert status_of(read_reply(client)) == 101


@pytest.mark.parametrize(
    ("begun", "piece"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"a:b\r\n" * 10_000),
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"a:b\r\n" * 10_000,
        ),
    ],
    ids=["head", "trailers"],
)
def test_what_comes_beside_a_body_is_bounded(pages: str, begun: bytes, piece: bytes) -> None:
    with raw_client(pages) as client:
        client.sendall(begun)

        assert taken(client, piece) < MUCH


def test_client_that_never_reads_is_read_no_more(pages: str) -> None:
    with raw_client(pages, receive_buffer=2_048) as client:
        open_websocket(client)

        assert taken(client, (b"\x89\xfd" + bytes(4) + b"p" * 125) * 400) < MUCH


def test_message_that_is_too_long_is_refused_before_it_is_read(pages: str) -> None:
    with raw_client(pages) as client:
        open_websocket(client)
        client.sendall(b"\x82\xff" + (9 * MB).to_bytes(8) + bytes(4))

        assert (1009).to_bytes(2) in client.recv(1_000)


def test_clients_that_do_not_end_keep_nobody_from_ending_the_pages(running: Running) -> None:
    process, pages = running  # the last test: nobody answers afterwards
    with raw_client(pages) as silent, raw_client(pages) as slow:
        open_websocket(silent)
        slow.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
        process.terminate()

        process.wait(PATIENCE)
