"""Clients of the pages and of the devnet that are slow, silent or many: dropped, as serve's are."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.installation import listens, new_installation
from tests.integration.raw_client import (
    open_websocket,
    post_head,
    raw_client,
    read_reply,
    read_to_end,
    status_of,
)
from tests.processes import PROJECT
from tests.waiting import PATIENCE, eventually

LIMITS = {
    "LINEWATCH_SERVE_HEAD_TIMEOUT": "2s",
    "LINEWATCH_SERVE_BODY_TIMEOUT": "1s",
    "LINEWATCH_SERVE_LARGEST_CONNECTIONS": "20",
}


of_pages = pytest.mark.parametrize("server", ["pages"], indirect=True)
of_all = pytest.mark.parametrize("server", ["pages", "devnet"], indirect=True)
of_devnet = pytest.mark.parametrize("server", ["devnet"], indirect=True)


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Run the pages or the devnet; yield host and port."""
    folder = tmp_path_factory.mktemp("server")
    is_devnet = request.param == "devnet"
    mode = "on" if is_devnet else "off"
    installation = new_installation(folder / "home", LINEWATCH_DEVNET_MODE=mode, **LIMITS)
    installation.run("migrate")
    port = installation.devnet_port if is_devnet else installation.pages_port
    with installation.role(request.param, folder / "log"):
        eventually(lambda: listens(port), what=f"the start of {request.param}")
        yield f"127.0.0.1:{port}"


@of_all
def test_head_that_never_comes_whole_ends_the_connection(server: str) -> None:
    with raw_client(server) as silent, raw_client(server) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")

        assert status_of(read_to_end(silent)) is None
        assert status_of(read_to_end(slow)) == 408


@of_all
def test_connection_beyond_the_limit_is_told_so(server: str) -> None:
    with contextlib.ExitStack() as crowd:
        replies = []
        for _ in range(21):
            client = crowd.enter_context(raw_client(server))
            client.sendall(b"GET /link/x HTTP/1.1\r\nHost: localhost\r\n\r\n")
            replies.append(status_of(read_reply(client)))

    assert (replies[0], replies[-1]) == (404, 503)


@of_devnet
def test_body_that_never_comes_whole_ends_the_connection(server: str) -> None:
    with raw_client(server) as client:
        client.sendall(post_head("/", 1_000) + b"{")

        assert status_of(read_to_end(client)) == 408


@of_pages
def test_body_behind_a_link_that_nobody_made_is_not_waited_for(server: str) -> None:
    with raw_client(server) as client:
        client.sendall(post_head("/link/forged", 1_000) + b"a")

        assert status_of(read_reply(client)) == 404


@of_pages
def test_websocket_that_says_nothing_whole_is_cut_off(server: str) -> None:
    half, fragment = b"\x82\xff" + (8_000_000).to_bytes(8) + bytes(1_000), b"\x02\x81" + bytes(5)
    with contextlib.ExitStack() as opened:
        clients = []
        for sent in (b"", half, fragment):
            client = opened.enter_context(raw_client(server))
            open_websocket(client, "/_stcore/stream")
            client.sendall(sent)
            clients.append(client)

        for client in clients:
            read_to_end(client)


def test_session_to_which_no_browser_comes_back_ends() -> None:
    """Each has an event loop of three descriptors, which a server kept for ever."""
    program = [sys.executable, "-m", "tests.integration.ended_sessions"]
    done = subprocess.run(
        program, cwd=PROJECT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )

    before, connected, ended = json.loads(done.stdout)
    assert connected >= before + 20
    assert ended < before + 20
