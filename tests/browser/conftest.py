"""The pages served to a real browser, once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tests.browser.page_server import serving
from tests.chromium import running_browser

SCHEMES: Final = ("light", "dark")
WIDTHS: Final = (360, 768, 1280)

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


@pytest.fixture(scope="module")
def warm_context(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a visitor whose cache holds the scripts of the pages: half of the time goes there."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as made:
        yield made


@pytest.fixture
def context(warm_context: BrowserContext) -> Iterator[BrowserContext]:
    """Yield that visitor as somebody new: without open pages, cookies and stored choices."""
    yield warm_context
    for page in warm_context.pages:
        if page.url.startswith("http"):
            page.evaluate("localStorage.clear()")
        page.close()
    warm_context.clear_cookies()


@pytest.fixture
def cold_context(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a visitor who has nothing in the cache, for tests that count or change requests."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as made:
        yield made


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Draw on every width, each in one scheme; on all in both where the whole matrix is asked."""
    if "screen" in metafunc.fixturenames:
        is_full = metafunc.config.getoption("--full")
        screens = [(width, scheme) for width in WIDTHS for scheme in SCHEMES]
        chosen = screens if is_full else [(360, "dark"), (768, "light"), (1280, "light")]
        metafunc.parametrize("screen", chosen, ids=[f"{each[0]}-{each[1]}" for each in chosen])
