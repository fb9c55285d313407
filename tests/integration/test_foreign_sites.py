"""Web sites that a browser on this machine shows: none of them reaches what listens here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation import Installation, command, new_installation
from tests.integration.raw_client import raw_client, read_to_end
from tests.waiting import eventually

UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})
POST = f"Content-Type: text/plain\r\nContent-Length: {len(CALL)}\r\n"
DOORS = {
    "a page": ("pages", "GET /tracked", ""),
    "a part of the pages": ("pages", "GET /_stcore/host-config", ""),
    "the pages' WebSocket": ("pages", "GET /_stcore/stream", UPGRADE),
    "serve with the development key": ("serve", "POST /v3/dev", POST),
    "serve's WebSocket": ("serve", "GET /ws/v3/dev", UPGRADE),
    "the metrics": ("serve", "GET /metrics", ""),
    "devnet": ("devnet", "POST /", POST),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Path]]:
    """Run the whole product, which also answers under the name watch.example."""
    folder = tmp_path_factory.mktemp("up")
    installation = new_installation(
        folder / "home", LINEWATCH_PAGES_PUBLIC_URL="https://watch.example/linewatch"
    )
    log = folder / "log"
    with installation.start(command("up"), log):
        roles = ("devnet", "serve", "worker", "pages")
        ready = [f'"started": "{role}", "event": "role is ready"' for role in roles]
        eventually(lambda: all(each in log.read_text() for each in ready), what="the start")
        yield installation, log


def ask(installation: Installation, door: str, host: str, origin: str | None = None) -> str:
    """Ask as a browser does; return the reply. ``PORT`` stands for that of the door."""
    role, request, headers = DOORS[door]
    port = str(getattr(installation, f"{role}_port"))
    from_where = f"Origin: {origin}\r\n" if origin else ""
    head = f"{request} HTTP/1.1\r\nHost: {host}\r\n{from_where}{headers}"
    head += "" if headers is UPGRADE else "Connection: close\r\n"
    body = CALL if headers is POST else ""
    with raw_client(f"127.0.0.1:{port}") as client:
        client.sendall(f"{head}\r\n{body}".replace("PORT", port).encode())
        if headers is UPGRADE:
            return client.recv(65_536).decode("latin-1")
        return read_to_end(client).decode("latin-1")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example:PORT", None),
        ("evil.example:PORT", "http://evil.example:PORT"),
        ("127.0.0.1:PORT", "http://evil.example"),
        ("127.0.0.1:PORT", "null"),
        ("127.0.0.1:PORT", "http://127.0.0.1:9"),
        ("localhost:PORT", "http://127.0.0.1:PORT"),
        ("127.0.0.1:PORT", "https://watch.example:8443"),
        ("watch.example", "http://watch.example"),
    ],
)
def test_foreign_site_is_refused_in_words(
    running: tuple[Installation, Path], door: str, host: str, origin: str | None
) -> None:
    reply = ask(running[0], door, host, origin)

    assert reply.startswith("HTTP/1.1 403 ")
    assert "http.allowed_hosts" in reply


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:PORT", None),
        ("localhost:PORT", "http://localhost:PORT"),
        ("watch.example", "https://watch.example"),
        ("127.0.0.1:PORT", "https://watch.example"),
    ],
)
def test_own_page_is_served_also_behind_a_proxy(
    running: tuple[Installation, Path], door: str, host: str, origin: str | None
) -> None:
    reply = ask(running[0], door, host, origin)

    assert re.match(r"HTTP/1\.1 (200|101) ", reply)
