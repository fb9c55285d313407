"""Visits to the pages with a real browser, and what must hold of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from playwright.sync_api import ConsoleMessage, Page, Request, ViewportSize, expect

from tests.chromium import SETTLED

Screen: TypeAlias = tuple[int, Literal["light", "dark"]]
"""The width of a window, and the colours that its owner likes."""

SIZE: Final[ViewportSize] = {"width": 1280, "height": 900}
"""The window of tests that are about no screen in particular."""

_TEXT_CUT_OR_OUTSIDE: Final = """
() => [...document.querySelector('[data-testid="stMain"]')
    .querySelectorAll('p, dt, dd, h1, h2, span, li, a, td, th, button')]
  .filter((e) => e.checkVisibility() && e.textContent.trim() && !e.closest('svg, pre, .lw-sr'))
  .filter((e) => {
    const box = e.getBoundingClientRect();
    return box.right > innerWidth + 1 || box.left < -1
      || (getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1);
  })
  .map((e) => e.textContent.slice(0, 60))
"""
NEXT_FRAMES: Final = """
() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
"""
_HAS_ITS_COLOURS: Final = """
(scheme) => [...document.querySelectorAll('[data-testid="stApp"]')]
  .every((app) => app.querySelector('.lw-wall') || getComputedStyle(app).colorScheme === scheme)
"""
"""Streamlit learns of other colours after the browser does, and redraws each element with them.

The wall is dark in any scheme.
"""

_TRAPS: Final = (
    "script",
    "img[src*=outside]",
    "a[href*=outside]",
    ".katex",
    "strong:text('bold')",
)
"""What a hostile text would make of itself, were it not inert."""


def visit(page: Page, address: str) -> None:
    """Go to an address and wait until the page is whole."""
    page.goto(address)
    page.wait_for_selector(SETTLED)
    expect(page.locator("h1")).to_be_visible()


def expect_inert(page: Page) -> None:
    """Check that hostile text on the page is text and did nothing."""
    inside = page.get_by_test_id("stMain")
    assert page.title().endswith("· Linewatch")
    for trap in _TRAPS:
        expect(inside.locator(trap)).to_have_count(0)
    assert "\u202e" not in inside.inner_text()


def expect_strict(page: Page, site: str, address: str) -> None:
    """Open a page and check that it asks no other host and offends no policy of its own."""
    asked: list[str] = []
    complaints: list[str] = []

    def note_request(request: Request) -> None:
        asked.append(request.url)

    def note_message(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    page.on("request", note_request)
    page.on("console", note_message)
    visit(page, site + address)
    page.wait_for_load_state("networkidle")
    page.remove_listener("request", note_request)
    page.remove_listener("console", note_message)

    own = (site, site.replace("http", "ws"), "data:", "blob:")
    assert asked
    assert [url for url in asked if not url.startswith(own)] == []
    assert [text for text in complaints if "Security Policy" in text] == []


def expect_nothing_cut(page: Page, address: str, screens: Sequence[Screen]) -> None:
    """Open a page and check that on no screen a text is cut or runs off it.

    It is loaded on the first screen, the smallest, and grows from there.
    """
    put_on_screen(page, screens[0])
    visit(page, address)
    for screen in screens:
        put_on_screen(page, screen)
        page.evaluate(NEXT_FRAMES)

        cut = page.evaluate(_TEXT_CUT_OR_OUTSIDE)
        assert cut == [], (screen, cut)
        main = "document.querySelector('[data-testid=stMain]')"
        assert page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth"), screen


def put_on_screen(page: Page, screen: Screen) -> None:
    """Give a page the size of a screen, and the colours that its owner likes."""
    width, scheme = screen
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(_HAS_ITS_COLOURS, arg=scheme)
    page.evaluate(NEXT_FRAMES)
