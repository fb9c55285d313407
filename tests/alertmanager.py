"""A real Alertmanager for tests: it keeps what is pushed, and says what it holds."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests import plain_http
from tests.installation import free_ports
from tests.provision import program
from tests.waiting import PATIENCE, eventually

_CONFIGURATION = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


@dataclass(frozen=True)
class RunningAlertmanager:
    """Where it listens."""

    url: str

    def alerts(self) -> list[dict[str, Any]]:
        """Return what fires now."""
        answer = plain_http.get(f"{self.url}/api/v2/alerts")
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()
        return found


@contextmanager
def running_alertmanager(folder: Path) -> Iterator[RunningAlertmanager]:
    """Run one with its files in a folder."""
    [port] = free_ports(1)
    settings = folder / "alertmanager.yml"
    settings.write_text(_CONFIGURATION, encoding="utf-8")
    arguments = [
        f"--config.file={settings}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with (folder / "alertmanager.log").open("wb") as log:
        process = subprocess.Popen(
            [program("prometheus-alertmanager"), *arguments], stdout=log, stderr=log
        )
    running = RunningAlertmanager(f"http://127.0.0.1:{port}")
    try:
        eventually(lambda: _is_ready(running), what="the start of Alertmanager")
        yield running
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _is_ready(running: RunningAlertmanager) -> bool:
    try:
        return plain_http.get(f"{running.url}/-/ready").is_success
    except httpx.TransportError:
        return False
