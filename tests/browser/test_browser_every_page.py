"""What holds of every page: whole on each screen, asks nobody else, no barrier, room to hit.

Each address is loaded once, since loading a page costs more than all that is checked there but axe,
which judges each page once, and with --full on each screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from typing import Final, NamedTuple

import pytest
from playwright.sync_api import Page

from dashboard.application.text import PAGES
from tests.browser.accessibility import barriers
from tests.browser.page_checks import (
    NEXT_FRAMES,
    SCHEMES,
    WIDTHS,
    Screen,
    Visit,
    put_on_screen,
    texts_cut,
    visit,
)
from tests.browser.page_server import serving
from tests.browser.seeded_store import tx_hash
from tests.browser.site import STILL, SiteState

DAY: Final = (
    *PAGES,
    "?network=Devnet",
    "?open=59144",
    "?wall=1",
    f"lookup?tx={tx_hash(2)}",
    f"lookup?tx={tx_hash(3)}&tx={tx_hash(9)}&tx=0x12&tx={tx_hash(4)}&tx={tx_hash(5)}",
    "fees?network=Devnet&as=Table",
    "rejections?module=ADD",
    "settings?section=People and sessions",
    "settings?section=Audit log",
)
_MORE_OF_DAY: Final = (
    "fees?network=59144",
    "rejections?module=MISSING&search=nothing",
    f"alerts?alerts_search={tx_hash(4)}",
    "settings?setting=fees",
)
NIGHT: Final = tuple(
    f"alerts?section={name}"
    for name in ("Silences", "Rules", "Rules&rule=rejections", "Recipients", "Deliveries")
)
STATES: Final = (*PAGES, "?wall=1")
PHONE: Final = 360
TABLET: Final = 768
LAPTOP: Final = 1280

_AT_REST: Final = """
*, *::before, *::after { transition: none !important }
[data-stale="true"] { opacity: 1 !important }
"""
"""Else a colour is judged on its way from dark to light, or faded while the page refreshes."""

_RESIZED: Final = 100
"""Milliseconds in which charts follow the size of their window."""

_HEIGHTS: Final = """
() => Object.fromEntries([...document.querySelectorAll(`
    .stButtonGroup button, .stButton button, .stDownloadButton button, .stPopover button,
    .stFormSubmitButton button, [data-testid="stTextInputRootElement"],
    .stSelectbox .react-aria-ComboBox > div, .stExpander > details:not([open])`)]
  .filter((e) => e.checkVisibility({ opacityProperty: true }))
  .filter((e) => !e.matches('[class*="st-key-compare-"] *, .st-key-sort-heads *'))
  .map((e) => [e.textContent || e.ariaLabel || e.className, e.getBoundingClientRect().height])
  .filter(([, height]) => Math.abs(height - 32) > 0.6))
"""
_TOO_SMALL: Final = """
() => [...document.querySelectorAll('[data-testid="stMain"] :is(a, button, summary, [role=radio])')]
  .filter((e) => e.checkVisibility({ visibilityProperty: true }))
  .filter((e) => !e.closest('.st-key-search_go, .stMultiSelect'))
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width < 24 || r.height < 23.9; })
  .map((e) => e.textContent || e.ariaLabel)
"""
_ON_EACH_OTHER: Final = """
() => {
  const boxes = [], found = [], known = new Map([[null, false]]);
  const isCut = (e) => {
    if (!known.has(e)) {
      const style = getComputedStyle(e);
      known.set(e, style.webkitLineClamp !== 'none' || style.textOverflow === 'ellipsis'
        || isCut(e.parentElement));
    }
    return known.get(e);
  };
  const main = document.querySelector('[data-testid="stMain"]');
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const said = texts.currentNode.textContent.trim(), owner = texts.currentNode.parentElement;
    if (!said || owner.closest('svg, .lw-sr, button')) continue;
    if (isCut(owner)) continue;
    if (!owner.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      boxes.push({ left, right, top, bottom, said });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, place) => {
    for (let next = place + 1; next < boxes.length && a.bottom - boxes[next].top >= 5; next++) {
      const b = boxes[next];
      const isBeside = Math.min(a.right, b.right) - Math.max(a.left, b.left) < 3;
      const isBelow = Math.min(a.bottom, b.bottom) - b.top < 5;
      if (!isBeside && !isBelow && a.said !== b.said) found.push(`${a.said} | ${b.said}`);
    }
  });
  return found;
}
"""


class Site(NamedTuple):
    """Pages to look at: in which state, how wide, of how many networks."""

    state: SiteState
    addresses: tuple[str, ...]
    widths: tuple[int, ...] = WIDTHS
    networks: int = 1

    def screens(self, address: str, *, is_full: bool) -> tuple[Screen, ...]:
        """Return each width in both schemes, or else in one: they take turns, page by page."""
        taken = SCHEMES[self.addresses.index(address) % len(SCHEMES)]
        return tuple(product(self.widths, SCHEMES if is_full else (taken,)))


SITES: Final = {
    "day": Site(SiteState.DAY, DAY),
    "night": Site(SiteState.NIGHT, NIGHT),
    # What each page says then is shown without a browser.
    "empty": Site(SiteState.EMPTY, ("", "tracked"), (PHONE,)),
}
FULL: Final = {
    "day": Site(SiteState.DAY, DAY + _MORE_OF_DAY),
    "night": SITES["night"],
    **{f"{state}-{n}": Site(state, STATES, networks=n) for state in STILL for n in (1, 12)},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Look at each address of a site; with --full at every state, width and scheme."""
    sites = FULL if metafunc.config.getoption("--full") else SITES
    cases = [(name, address) for name, site in sites.items() for address in site.addresses]
    metafunc.parametrize(("name", "address"), cases)


@pytest.fixture(scope="module")
def serve(
    warm_page: Page, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], str]]:
    """Serve a site from a process of its own until another one is asked for."""
    with ExitStack() as stack:
        running: dict[str, str] = {}

        def served(name: str) -> str:
            if name not in running:
                warm_page.goto("about:blank")  # it would ask whether the server that ends is back
                stack.close()
                running.clear()
                site, folder = FULL.get(name) or SITES[name], tmp_path_factory.mktemp(name)
                opening = serving(site.state, folder, networks=site.networks)
                running[name] = stack.enter_context(opening)
            return running[name]

        yield served


def test_page_is_whole_and_asks_nobody_else_and_has_no_barrier(
    page: Page,
    serve: Callable[[str], str],
    name: str,
    address: str,
    pytestconfig: pytest.Config,
) -> None:
    root, is_full = serve(name), pytestconfig.getoption("--full")
    screens = (FULL if is_full else SITES)[name].screens(address, is_full=is_full)
    put_on_screen(page, screens[0])
    with Visit(page) as seen:
        visit(page, f"{root}/{address}")
        page.wait_for_load_state("networkidle")
    judged = screens if is_full else _judged(screens, address)

    assert page.title() == f"{_title(address)} · Linewatch"
    icon = page.locator("link[rel~=icon]").get_attribute("href") or ""
    assert icon.startswith("data:image/svg+xml;base64,")
    assert seen.failed == []
    assert seen.of_others(root) == []
    assert seen.offences == []
    page.add_style_tag(content=_AT_REST)
    for screen in screens:
        put_on_screen(page, screen)
        found: dict[str, object] = {"cut": texts_cut(page)}
        if screen[0] != TABLET:
            page.wait_for_timeout(_RESIZED)
            found |= _controls(page, is_wide=screen[0] == LAPTOP)
            found |= {"barriers": barriers(page)} if screen in judged else {}
        assert {what: wrong for what, wrong in found.items() if wrong} == {}, screen


def _judged(screens: tuple[Screen, ...], address: str) -> tuple[Screen, ...]:
    """Return the screen on which axe judges a page: the phone and the laptop take turns."""
    if address not in PAGES:
        return ()
    is_on_laptop = [*PAGES].index(address) // 2 % 2
    return (screens[-1] if is_on_laptop else screens[0],)


def _title(address: str) -> str:
    return PAGES[address.partition("?")[0]]


def _controls(page: Page, *, is_wide: bool) -> dict[str, object]:
    """Return controls that are too small or of another height, and texts on each other."""
    page.evaluate(NEXT_FRAMES)
    return {
        "of another height": page.evaluate(_HEIGHTS) if is_wide else {},
        "too small": page.evaluate(_TOO_SMALL),
        "on each other": page.evaluate(_ON_EACH_OTHER),
    }
