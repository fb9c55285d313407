"""Pages served by a process of their own, as a browser finds them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.site import SiteState
from tests.installation import answers, free_ports
from tests.processes import Process, ProcessOptions, shared_launcher
from tests.waiting import eventually


@contextmanager
def serving(state: SiteState, folder: Path, **more: object) -> Iterator[str]:
    """Serve a state of the pages from a folder to seed; `more` are variables of the test."""
    (port,) = free_ports(1)
    said = {"STATE": state, "FOLDER": folder, **more}
    variables = {f"LINEWATCH_TEST_{name.upper()}": str(value) for name, value in said.items()}
    process = shared_launcher().module(
        "tests.browser.site",
        [str(port)],
        ProcessOptions({**os.environ, **variables}, folder / "log"),
    )
    address = f"http://127.0.0.1:{port}"
    try:
        eventually(lambda: _is_up(address, process), what="the pages' start")
        yield address
    finally:
        process.kill()


def _is_up(address: str, process: Process) -> bool:
    """Whether the server answers that it is healthy."""
    assert not process.ended.is_set(), f"the pages ended: {process.last_lines()}"
    return answers(f"{address}/_stcore/health")
