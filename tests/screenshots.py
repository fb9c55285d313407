"""Draws the pages in every state: `python -m tests.screenshots FOLDER [PAGE …]`.

Without options that is each page with nothing yet, on a usual day, in a storm, with old figures and
with an unreadable store; of one network and of twelve; light and dark; from a phone to a wall.
`--state storm --networks 12 --width 1280 --scheme dark` draw a part, each as often as wanted.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.page_checks import SCHEMES
from tests.browser.page_server import serving
from tests.browser.seeded_networks import profiles, rejected_hash
from tests.browser.site import STILL, SiteState
from tests.chromium import SETTLED, running_browser

WIDTHS: Final = (360, 768, 1280, 1920, 2560)
_FIRST: Final = profiles(1)[0]
PAGES: Final[Mapping[str, str]] = {
    "overview": "",
    "overview-open": f"?open={_FIRST.network_id}",
    "wall": "?wall=1",
    "fees": "fees",
    "fees-one": f"fees?network={_FIRST.name}",
    "rejections": "rejections",
    "lookup": "lookup",
    "lookup-one": f"lookup?tx={rejected_hash(_FIRST.network_id, 0)}",
    "lookup-many": "lookup?"
    + "&".join(f"tx={rejected_hash(_FIRST.network_id, number)}" for number in range(4)),
    "tracked": "tracked",
    "alerts": "alerts",
    "silences": "alerts?section=Silences",
    "rules": "alerts?section=Rules",
    "recipients": "alerts?section=Recipients",
    "deliveries": "alerts?section=Deliveries",
    "health": "health",
    "settings": "settings",
}
"""The address of each picture."""

_TALLEST: Final = 6_000
_USUAL_HEIGHT: Final = 900
_CALM: Final = 400
"""Milliseconds in which a page comes to rest after it changed its size."""

_WHOLE: Final = """
() => {
  const main = document.querySelector('[data-testid=stMain]');
  return main.scrollHeight + main.getBoundingClientRect().top;
}
"""
_DRAWN: Final = """
() => !document.querySelector('[data-testid=stSkeleton]')
  && [...document.querySelectorAll('.stBidiComponent')]
    .every((part) => part.querySelector('svg, button'))
  && [...document.querySelectorAll('.js-plotly-plot')].every((plot) => plot._fullLayout)
"""


@dataclass(frozen=True)
class Choice:
    """Which pictures are drawn; `is_whole` draws pages to their end, else the first screen."""

    pages: tuple[str, ...]
    states: tuple[SiteState, ...]
    networks: tuple[int, ...]
    schemes: tuple[Literal["light", "dark"], ...]
    widths: tuple[int, ...]
    is_whole: bool = True


def draw_pages(folder: Path, choice: Choice) -> None:
    """Write ``STATE-NETWORKS/PAGE-SCHEME-WIDTH.png`` for all that is chosen."""
    with running_browser() as browser:
        for state, count in product(choice.states, choice.networks):
            below = folder / f"{state}-{count}"
            below.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory() as store, _site(Path(store), state, count) as site:
                _draw_site(browser, site, below, choice)


def _site(folder: Path, state: SiteState, count: int) -> AbstractContextManager[str]:
    return serving(state, folder, networks=count)


def _draw_site(browser: Browser, site: str, folder: Path, choice: Choice) -> None:
    for scheme in choice.schemes:
        size = ViewportSize(width=choice.widths[0], height=_USUAL_HEIGHT)
        with browser.new_context(viewport=size, color_scheme=scheme) as context:
            page = context.new_page()
            for name in choice.pages:
                page.goto(f"{site}/{PAGES[name]}")
                page.wait_for_selector(SETTLED)
                expect(page.locator("h1")).to_be_visible()
                for width in choice.widths:
                    _draw(page, folder / f"{name}-{scheme}-{width}.png", width, choice.is_whole)


def _draw(page: Page, file: Path, width: int, is_whole: bool) -> None:  # noqa: FBT001 - a choice
    page.set_viewport_size({"width": width, "height": _USUAL_HEIGHT})
    page.wait_for_load_state("networkidle")
    page.wait_for_function(_DRAWN)
    if is_whole:
        height = min(_TALLEST, max(_USUAL_HEIGHT, page.evaluate(_WHOLE)))
        page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(_CALM)
    page.screenshot(path=file, animations="disabled")


def _choice() -> tuple[Path, Choice]:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", nargs="*", choices=[[], *PAGES])
    parser.add_argument("--state", action="append", type=SiteState, choices=STILL)
    parser.add_argument("--networks", action="append", type=int, choices=(1, 12))
    parser.add_argument("--scheme", action="append", choices=SCHEMES)
    parser.add_argument("--width", action="append", type=int)
    parser.add_argument("--first-screen", action="store_true", help="not the whole page")
    asked = parser.parse_args()
    return asked.folder, Choice(
        tuple(asked.page) or tuple(PAGES),
        tuple(asked.state or STILL),
        tuple(asked.networks or (1, 12)),
        tuple(asked.scheme or SCHEMES),
        tuple(asked.width or WIDTHS),
        is_whole=not asked.first_screen,
    )


if __name__ == "__main__":
    draw_pages(*_choice())
