"""The pages served to a real browser, once for each file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.page_checks import SIZE
from tests.browser.page_server import serving
from tests.browser.site import SiteState
from tests.chromium import MILLISECONDS, running_browser

_OF_PLOTLY: Final = {
    "Cannot read properties of undefined (reading '_redrawFromAutoMarginCount')",
    "t.emit is not a function",
}
"""Plotly draws a moment late, and stumbles over a chart that was removed meanwhile."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages from a process of its own."""
    with serving(SiteState.DAY, tmp_path_factory.mktemp("site")) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def warm_page(browser: Browser) -> Iterator[Page]:
    """Yield a window that has loaded the scripts of the pages: half of the time goes there.

    Its viewer is far from UTC, in which all times are shown.
    """
    with browser.new_context(viewport=SIZE, timezone_id="Asia/Kolkata") as context:
        context.set_default_timeout(MILLISECONDS)
        errors: list[str] = []
        context.on("weberror", lambda each: errors.append(each.error.message))
        yield context.new_page()
        assert [each for each in errors if each not in _OF_PLOTLY] == [], (
            "a script of the pages failed"
        )


@pytest.fixture
def page(warm_page: Page) -> Iterator[Page]:
    """Yield that window as somebody new has it: without cookies, stored choices, other windows."""
    yield warm_page
    for other in warm_page.context.pages[1:]:
        other.close()
    warm_page.bring_to_front()
    if warm_page.url != "about:blank":
        warm_page.evaluate("localStorage.clear()")
    warm_page.context.clear_cookies()
    warm_page.set_viewport_size(SIZE)
    warm_page.emulate_media(color_scheme="null")
