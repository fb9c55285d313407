"""Visits to the pages with a real browser, and what must hold of each of them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from playwright.sync_api import BrowserContext, Page, expect

from tests.chromium import SETTLED

Screen: TypeAlias = tuple[int, Literal["light", "dark"]]
"""The width of a window, and the colours that its owner likes."""

_TEXT_CUT_OR_OUTSIDE: Final = """
() => [...document.querySelector('[data-testid="stMain"]')
    .querySelectorAll('p, dt, dd, h1, h2, span, li, a, td, th, button')]
  .filter((e) => e.checkVisibility() && e.textContent.trim() && !e.closest('svg, pre'))
  .filter((e) => {
    const box = e.getBoundingClientRect();
    return box.right > innerWidth + 1 || box.left < -1
      || (getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1);
  })
  .map((e) => e.textContent.slice(0, 60))
"""
_TRAPS: Final = (
    "script",
    "img[src*=outside]",
    "a[href*=outside]",
    ".katex",
    "strong:text('bold')",
)
"""What a hostile text would make of itself, were it not inert."""


def visit(context: BrowserContext, address: str) -> Page:
    """Open a page and wait until it is whole."""
    page = context.new_page()
    load(page, address)
    return page


def load(page: Page, address: str) -> None:
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


def expect_strict(context: BrowserContext, site: str, address: str) -> None:
    """Open a page and check that it asks no other host and offends no policy of its own."""
    asked: list[str] = []
    complaints: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: complaints.append(message.text))

    page = visit(context, site + address)
    page.wait_for_load_state("networkidle")

    own = (site, site.replace("http", "ws"), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert [text for text in complaints if "Security Policy" in text] == []


def expect_nothing_cut(context: BrowserContext, address: str, screen: Screen) -> None:
    """Open a page on a screen and check that no text is cut or runs off it."""
    page = on_screen(context, screen)
    load(page, address)

    assert page.evaluate(_TEXT_CUT_OR_OUTSIDE) == []
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth")


def on_screen(context: BrowserContext, screen: Screen) -> Page:
    """Open an empty page on a screen."""
    width, scheme = screen
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    return page
