"""A real browser for tests: Chromium without a window, in a context of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, expect, sync_playwright

from tests.provision import program
from tests.waiting import PATIENCE

SETTLED: Final = '[data-testid="stApp"][data-test-script-state="notRunning"]'
"""What is on a page whose script has run to its end."""

MILLISECONDS: Final = 1000 * PATIENCE
"""Our patience with a window, to be told to each."""

_FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start Chromium, and end it afterwards."""
    expect.set_options(timeout=MILLISECONDS)
    with sync_playwright() as playwright:
        path = program("chromium-headless-shell")
        browser = playwright.chromium.launch(
            executable_path=path, args=_FLAGS, timeout=MILLISECONDS
        )
        yield browser
        browser.close()
