"""What holds of every page alike: one height of controls, room to hit, nothing lost meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.page_checks import NEXT_FRAMES, SIZE, put_on_screen, visit
from tests.browser.seeded_store import tx_hash
from tests.waiting import eventually

_ADDRESSES: Final = (
    "",
    "fees?network=Devnet",
    "rejections",
    "rejections?module=ADD",
    f"lookup?tx={tx_hash(3)}",
    "tracked",
    *(f"alerts?section={name}" for name in ("Incidents", "Silences", "Rules", "Recipients")),
    "alerts?section=Deliveries",
    "health",
    "settings?setting=fees",
)
_WATCH_SHIFTS: Final = """
window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach((each) => {
  if (!each.hadRecentInput) window.shifted += each.value;
})).observe({ type: "layout-shift", buffered: true });
"""
_MOST_SHIFTED: Final = 0.1
"""What counts as good of all layout shifts of a page (https://web.dev/articles/cls)."""

_SEARCH: Final = ".st-key-search-field input"
_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "": ("", _SEARCH),
    "fees": ("", _SEARCH),
    "rejections": ("", _SEARCH),
    "lookup": ("", ".st-key-lookup-field textarea"),
    "tracked": ("Track transactions", ".stExpander textarea"),
    "alerts?section=Silences": ("Silence something, or plan work", ".st-key-silence_reason input"),
    "alerts?section=Deliveries": ("", _SEARCH),
    "health": ("", _SEARCH),
}
"""By address: what is unfolded first, and a field."""

_HEIGHTS: Final = """
() => Object.fromEntries([...document.querySelectorAll(`
    .stButtonGroup button, .stButton button, .stDownloadButton button, .stPopover button,
    .stFormSubmitButton button, [data-testid="stTextInputRootElement"],
    .stSelectbox .react-aria-ComboBox > div, .stExpander > details:not([open])`)]
  .filter((e) => e.checkVisibility({ opacityProperty: true }))
  .filter((e) => !e.matches('[class*="st-key-compare-"] *'))
  .map((e) => [e.textContent || e.ariaLabel || e.className, e.getBoundingClientRect().height])
  .filter(([, height]) => Math.abs(height - 32) > 0.6))
"""
_TOO_SMALL: Final = """
() => [...document.querySelectorAll('[data-testid="stMain"] :is(a, button, summary, [role=radio])')]
  .filter((e) => e.checkVisibility({ visibilityProperty: true }))
  .filter((e) => !e.closest('.st-key-search_go'))
  .filter((e) => { const r = e.getBoundingClientRect(); return r.width < 24 || r.height < 23.9; })
  .map((e) => e.textContent || e.ariaLabel)
"""
_ON_EACH_OTHER: Final = """
() => {
  const boxes = [], found = [];
  const isCut = (e) => e && (getComputedStyle(e).webkitLineClamp !== 'none'
    || getComputedStyle(e).textOverflow === 'ellipsis' || isCut(e.parentElement));
  const main = document.querySelector('[data-testid="stMain"]');
  const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const said = texts.currentNode.textContent.trim(), owner = texts.currentNode.parentElement;
    if (!said || owner.closest('svg, .lw-sr, button')) continue;
    if (isCut(owner)) continue;
    if (!owner.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    boxes.push(...[...range.getClientRects()].map((box) => [box, said]));
  }
  boxes.forEach(([a, said], place) => boxes.slice(place + 1).forEach(([b, other]) => {
    const isBeside = Math.min(a.right, b.right) - Math.max(a.left, b.left) < 3;
    const isBelow = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) < 5;
    if (!isBeside && !isBelow && said !== other) found.push(`${said} | ${other}`);
  }));
  return found;
}
"""
_STATE: Final = """
[field.value, document.querySelector('[data-testid=stMain]').scrollTop]
"""
_BEFORE: Final = f"(field) => {{ window.typedIn = field; return [true, {_STATE}]; }}"
_NOW: Final = f"(field) => [field === window.typedIn && field === document.activeElement, {_STATE}]"


@pytest.mark.parametrize("address", _ADDRESSES)
def test_controls_have_one_height_and_room_and_no_text_lies_on_another(
    page: Page, site: str, address: str
) -> None:
    visit(page, f"{site}/{address}")

    assert page.evaluate(_HEIGHTS) == {}
    for width in (1280, 360):
        put_on_screen(page, (width, "light"))
        page.wait_for_timeout(100)
        assert page.evaluate(_TOO_SMALL) == [], width
        assert page.evaluate(_ON_EACH_OTHER) == [], width


def test_lists_begin_soon_on_a_phone(page: Page, site: str) -> None:
    put_on_screen(page, (360, "light"))
    visit(page, f"{site}/tracked")

    filters = page.locator(".st-key-filters").bounding_box()
    first = page.locator("[class*=st-key-tracked-0x]").first.bounding_box()

    assert filters is not None
    assert first is not None
    assert first["y"] - filters["y"] < 350

    visit(page, f"{site}/rejections")
    eventually(
        lambda: top_of(page.locator(".lw-version").first) < 600,
        what="a list that begins within the first screen, once the page has found its place",
    )


def top_of(element: Locator) -> float:
    """Return how far below the top of the window an element begins."""
    box = element.bounding_box()
    return inf if box is None else box["y"]


def test_refresh_keeps_what_is_typed_the_cursor_and_the_place(page: Page, site: str) -> None:
    fields: dict[str, tuple[Locator, object]] = {}
    for address in _FIELDS:
        opened = page.context.new_page()
        opened.set_viewport_size({**SIZE, "height": 500})
        visit(opened, f"{site}/{address}")
        field = _type_in(opened, *_FIELDS[address])
        fields[address] = field, field.evaluate(_BEFORE)
    for address, (field, _) in fields.items():
        if address != "lookup":
            _wait_for_refresh(field.page)

    now = {address: field.evaluate(_NOW) for address, (field, _) in fields.items()}
    assert now == {address: before for address, (_, before) in fields.items()}


def _type_in(page: Page, fold: str, selector: str) -> Locator:
    """Unfold a form, scroll to its field and type there, without sending it."""
    if fold:
        page.get_by_text(fold, exact=True).first.click()
    field = page.locator(selector).first
    field.scroll_into_view_if_needed()
    field.click()
    page.keyboard.type("half a wo")
    return field


def _wait_for_refresh(page: Page) -> None:
    said = page.locator("h1 + p").inner_text()
    expect(page.locator("h1 + p")).not_to_have_text(said)


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_moves_while_a_page_is_loaded_for_the_first_time(
    browser: Browser, site: str, width: int
) -> None:
    shifted = {}
    for address in ("", "fees", "rejections", "tracked", "alerts", "health"):
        with browser.new_context(viewport={"width": width, "height": 900}) as context:
            page = context.new_page()
            page.add_init_script(_WATCH_SHIFTS)
            visit(page, f"{site}/{address}")
            page.wait_for_load_state("networkidle")
            page.evaluate(NEXT_FRAMES)
            shifted[address] = page.evaluate("window.shifted")

    assert {each: far for each, far in shifted.items() if far > _MOST_SHIFTED} == {}
