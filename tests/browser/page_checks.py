"""Visits to the pages with a real browser, and what must hold of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final, Literal, Self, TypeAlias

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
)

from tests.chromium import MILLISECONDS, SETTLED

Screen: TypeAlias = tuple[int, Literal["light", "dark"]]
"""The width of a window, and the colours that its owner likes."""

SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTHS: Final = (360, 768, 1280)

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


@contextmanager
def window(browser: Browser) -> Iterator[BrowserContext]:
    """Open a window that nobody has used."""
    with browser.new_context(viewport=SIZE) as context:
        context.set_default_timeout(MILLISECONDS)
        yield context


def visit(page: Page, address: str) -> None:
    """Go to an address and wait until the page is whole."""
    page.goto(address)
    page.wait_for_selector(SETTLED)
    expect(page.locator("h1")).to_be_visible()


def wait_for_refresh(page: Page) -> None:
    """Wait until the page has been drawn again."""
    updated = page.locator("time.lw-updated")
    before = updated.get_attribute("datetime") or ""
    expect(updated).not_to_have_attribute("datetime", before)


class Visit:
    """What a window asks for while it is watched, and what its own policy forbids it."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._asked: list[str] = []
        self.failed: list[str] = []
        self.offences: list[str] = []

    def __enter__(self) -> Self:
        self._page.on("request", self._note_request)
        self._page.on("response", self._note_response)
        self._page.on("console", self._note_message)
        return self

    def __exit__(self, *_: object) -> None:
        self._page.remove_listener("request", self._note_request)
        self._page.remove_listener("response", self._note_response)
        self._page.remove_listener("console", self._note_message)

    def of_others(self, site: str) -> list[str]:
        """Return what was asked of anybody but the site."""
        own = (site, site.replace("http", "ws"), "data:", "blob:")
        assert self._asked
        return [url for url in self._asked if not url.startswith(own)]

    def _note_request(self, request: Request) -> None:
        self._asked.append(request.url)

    def _note_response(self, response: Response) -> None:
        if response.status >= HTTPStatus.BAD_REQUEST:
            self.failed.append(response.url)

    def _note_message(self, message: ConsoleMessage) -> None:
        if "Security Policy" in message.text:
            self.offences.append(message.text)


def texts_cut(page: Page) -> list[str]:
    """Return the texts that are cut or run off the screen."""
    page.evaluate(NEXT_FRAMES)
    cut: list[str] = page.evaluate(_TEXT_CUT_OR_OUTSIDE)
    main = "document.querySelector('[data-testid=stMain]')"
    if not page.evaluate(f"{main}.scrollWidth <= {main}.clientWidth"):
        cut.append("the page itself is wider than the screen")
    return cut


def put_on_screen(page: Page, screen: Screen) -> None:
    """Give a page the size of a screen, and the colours that its owner likes."""
    width, scheme = screen
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(_HAS_ITS_COLOURS, arg=scheme)
    page.evaluate(NEXT_FRAMES)
