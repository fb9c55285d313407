"""Pages served by a process of their own, as a browser finds them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests import plain_http
from tests.browser.site import SiteState
from tests.installation import free_ports
from tests.processes import PROJECT
from tests.waiting import eventually


@contextmanager
def serving(state: SiteState, folder: Path, **more: object) -> Iterator[str]:
    """Serve a state of the pages from a folder to seed; `more` are variables of the test."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "uvicorn", "--factory", "tests.browser.site:build"]
    said = {"STATE": state, "FOLDER": folder, **more}
    variables = {f"LINEWATCH_TEST_{name.upper()}": str(value) for name, value in said.items()}
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=PROJECT,
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
        ) as process,
    ):
        address = f"http://127.0.0.1:{port}"
        try:
            eventually(lambda: _is_up(address, process), what="the pages' start")
            yield address
        finally:
            process.terminate()


def _is_up(address: str, process: subprocess.Popen[bytes]) -> bool:
    """Whether the server answers that it is healthy."""
    assert process.poll() is None, "the pages ended while they started: see their log"
    try:
        return plain_http.get(f"{address}/_stcore/health").is_success
    except httpx.TransportError:
        return False
