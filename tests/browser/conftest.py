"""The pages served to a real browser, once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.page_server import serving
from tests.chromium import running_browser

expect.set_options(timeout=30_000)  # a busy machine may take that long to draw its first chart


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages from a process of its own."""
    with serving("site_of_a_day", tmp_path_factory.mktemp("site"), {}, 60) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 900})
    yield made
    made.close()
