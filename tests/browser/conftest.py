"""The pages served to a real browser, once for each file of tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browsing import running_browser
from tests.installation import PROJECT, free_ports
from tests.waiting import eventually


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages from a process of its own."""
    (port,) = free_ports(1)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "uvicorn", "--factory", "tests.browser.site:build"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=PROJECT,
            env={**os.environ, "LINEWATCH_TEST_FOLDER": str(folder)},
            stdout=log,
            stderr=log,
        ) as process,
    ):
        address = f"http://127.0.0.1:{port}"
        eventually(lambda: is_up(address), 60, "the pages' start")
        yield address
        process.terminate()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    yield made
    made.close()


def is_up(address: str) -> bool:
    """Whether the server answers that it is healthy."""
    try:
        return httpx.get(f"{address}/_stcore/health", trust_env=False).is_success
    except httpx.TransportError:
        return False
