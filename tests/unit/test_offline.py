"""The guard of the tests: whatever would leave this machine is refused, and noted."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.offline.sitecustomize import LOG, Guard
from tests.processes import finished


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.connect", (None, ("192.0.2.1", 80))),
        ("socket.connect", (None, ("2001:db8::1", 80, 0, 0))),
        ("socket.connect", (None, ("gateway.example", 443))),
        ("socket.sendto", (None, ("8.8.8.8", 53))),
        ("socket.getaddrinfo", ("checkip.example", 80, 0, 0, 0)),
        ("socket.gethostbyname", ("checkip.example",)),
    ],
)
def test_guard_refuses_and_notes_what_leaves(
    tmp_path: Path, event: str, arguments: tuple[object, ...]
) -> None:
    log = tmp_path / "log"

    with pytest.raises(OSError, match="tests stay on this machine"):
        Guard(log)(event, arguments)

    assert log.read_text(encoding="utf-8").startswith(event)


@pytest.mark.parametrize(
    ("event", "arguments"),
    [
        ("socket.connect", (None, ("127.0.0.1", 80))),
        ("socket.connect", (None, ("::1", 80, 0, 0))),
        ("socket.connect", (None, "/run/socket")),
        ("socket.getaddrinfo", ("localhost", 80, 0, 0, 0)),
        ("socket.getaddrinfo", (None, 0, 0, 0, 0)),
        ("socket.getaddrinfo", ("192.0.2.1", 80, 0, 0, 0)),
        ("open", ("/etc/hosts", "r", 0)),
    ],
)
def test_guard_lets_pass_what_stays(
    tmp_path: Path, event: str, arguments: tuple[object, ...]
) -> None:
    log = tmp_path / "log"

    Guard(log)(event, arguments)

    assert not log.exists()


def test_guard_watches_processes_that_tests_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = "import socket; socket.create_connection(('192.0.2.1', 80))"

    ended = finished(
        [sys.executable, "-c", code],
        env={**os.environ, LOG: str(log)},
    )

    assert "tests stay on this machine" in ended.stderr
    assert "192.0.2.1" in log.read_text(encoding="utf-8")
