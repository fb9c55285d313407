"""Rejections, Tracked and Alerts in a real browser, and what no refresh may lose or move."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import inf
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.page_checks import NEXT_FRAMES, SIZE, put_on_screen, visit, wait_for_refresh
from tests.browser.seeded_store import tx_hash
from tests.chromium import SETTLED
from tests.waiting import eventually

LIST = """tx_hash,attempted_at,label,note
{first},2026-11-20T09:30:00Z,=1+1,Sent twice
0x12,,,
{first},,,
{second},some day,,
"""


def choose(page: Page, label: str, option: str) -> None:
    """Choose an option of a select box."""
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option, exact=True).click()


def test_filters_of_rejections_go_into_the_address_and_come_back(page: Page, site: str) -> None:
    visit(page, f"{site}/rejections")
    page.get_by_role("radio", name="7 d").click()
    choose(page, "Module", "HUB")
    choose(page, "Stage", "RPC")
    expect(page.locator("h1 + p")).to_contain_text("1 rejection in the last 7 days")

    shared = page.context.new_page()
    visit(shared, page.url)

    assert {"period=7+d", "module=HUB", "stage=RPC"} <= {*page.url.partition("?")[2].split("&")}
    expect(shared.locator("h1 + p")).to_contain_text("1 rejection in the last 7 days")
    expect(shared.locator(".st-key-card-rejections .lw-version")).to_have_count(1)

    page.get_by_role("link", name="Overview").click()
    page.get_by_role("link", name="All rejections, with filters and counts").click()
    expect(page).to_have_url(re.compile(r"/rejections$"))
    expect(page.locator("h1 + p")).to_contain_text("in the last 24 h")


@pytest.mark.parametrize(
    ("left", "link", "shown"),
    [
        ("/tracked?record=Rejected", "Look up 0x020202", "On record: Rejected"),
        ("/?network=Devnet", "0x020202", "Wall mode"),
        pytest.param(
            *("/rejections?stage=RPC&module=HUB", "0x020202", "Stage: RPC"), marks=pytest.mark.full
        ),
    ],
)
def test_back_from_a_lookup_leads_to_the_page_as_it_was_without_a_reload(
    page: Page, site: str, left: str, link: str, shown: str
) -> None:
    visit(page, site + left)
    page.evaluate("window.isSamePage = true")

    page.get_by_role("link", name=link).first.press("Enter")
    expect(page.get_by_role("heading", name=str(tx_hash(2)))).to_be_visible()
    assert page.evaluate("window.isSamePage")
    page.go_back()

    expect(page.get_by_text(shown).first).to_be_visible()
    expect(page).to_have_url(site + left)


def test_wide_table_scrolls_by_keyboard_and_a_list_stays_open_when_the_page_refreshes(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/rejections")
    page.get_by_text("The same as a table (UTC)").click()
    box = page.get_by_role("region", name="Rejections over time")
    box.press("ArrowRight")
    eventually(lambda: box.evaluate("each => each.scrollLeft > 0"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.get_by_text("Senders: 5, at most 2 rejections each").click()
    first = page.locator(".st-key-counts-senders .lw-count").first
    expect(first).to_be_visible()

    page.get_by_role("radio", name="1 h", exact=True).click()
    expect(page.get_by_text("Senders: 5, at most 1 rejection each")).to_be_visible()
    expect(first).to_be_visible()

    wait_for_refresh(page)
    expect(first).to_be_visible()


def test_csv_file_is_tracked_with_a_report_of_each_line(page: Page, site: str) -> None:
    visit(page, f"{site}/tracked")
    page.get_by_text("Track transactions", exact=True).click()
    page.get_by_role("tab", name="File").click()
    content = LIST.format(first=tx_hash(130), second=tx_hash(131)).encode()

    with page.expect_response(lambda response: "/upload_file/" in response.url):
        page.locator("input[type=file]").set_input_files(
            {"name": "list.csv", "mimeType": "text/csv", "buffer": content}
        )
    expect(page.get_by_text("list.csv", exact=True)).to_be_visible()
    page.get_by_role("button", name="Track", exact=True).last.click()

    expect(page.get_by_text("2 newly tracked.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("Line 3: 0x12 has 2 hexadecimal digits")
    page.get_by_text("Result of each line").click()
    told = page.get_by_role("table", name="Result of each line")
    expect(told.get_by_role("row").nth(3)).to_contain_text("is on an earlier line too")
    expect(page.get_by_text("=1+1").first).to_be_visible()


def test_page_of_the_tracked_is_in_the_address_and_filters_lead_back(page: Page, site: str) -> None:
    visit(page, f"{site}/tracked")
    rows = page.locator("[class*='st-key-tracked-0x']")
    page.get_by_role("button", name="Older").click()
    expect(page).to_have_url(re.compile(r"before=\d+"))
    expect(page.get_by_role("button", name="Newer")).to_be_visible()
    boxes = page.locator(".st-key-card-tracked [data-testid=stCheckbox] label")
    boxes.nth(6).click()
    boxes.nth(2).click(modifiers=["Shift"])
    expect(page.get_by_role("button", name="Edit 5 chosen")).to_be_visible()

    page.get_by_role("radio", name="Rejected").click()

    expect(rows).to_have_count(1)
    expect(page).not_to_have_url(re.compile("before="))
    label = rows.locator(".lw-of-label > span:last-child").bounding_box()
    assert label is not None
    middle = label["y"] + label["height"] / 2
    page.mouse.move(label["x"] + 1, middle)
    page.mouse.down()
    page.mouse.move(label["x"] + 40, middle, steps=4)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()").startswith("Cas")
    expect(page).to_have_url(re.compile("/tracked"))
    assert "limit" in (rows.locator(".lw-tracked-verdict").get_attribute("title") or "")
    rows.locator(".lw-tracked-verdict").click()
    expect(page).to_have_url(re.compile("/lookup.tx=0x"))


def test_opened_attempts_stay_open_while_the_page_refreshes(page: Page, site: str) -> None:
    visit(page, f"{site}/alerts?state=Dead")
    page.get_by_text("1 attempt", exact=True).click()

    wait_for_refresh(page)

    expect(page.get_by_text("Message-ID")).to_be_visible()


_WATCH_SHIFTS: Final = """
window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach((each) => {
  if (!each.hadRecentInput) window.shifted += each.value;
})).observe({ type: "layout-shift", buffered: true });
"""
_MOST_SHIFTED: Final = 0.1
"""What counts as good of all layout shifts of a page (https://web.dev/articles/cls)."""

FIRST_LOADS: Final = (
    *((360, each) for each in ("", "rejections")),
    (1280, "fees"),
)
FIRST_LOADS_OF_ALL: Final = tuple(
    product(
        (360, 1280), ("", "fees", "rejections", "lookup", "tracked", "alerts", "health", "settings")
    )
)

_SEARCH: Final = ".st-key-search-field input"
_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "": ("", _SEARCH),
    "tracked": ("Track transactions", ".stExpander textarea"),
    "alerts?section=Silences": ("Silence something, or plan work", ".st-key-silence_reason input"),
}
"""By address: what is unfolded first, and a field. The search is the same on every page."""

_STATE: Final = """
[field.value, document.querySelector('[data-testid=stMain]').scrollTop]
"""
_BEFORE: Final = f"(field) => {{ window.typedIn = field; return [true, {_STATE}]; }}"
_NOW: Final = f"(field) => [field === window.typedIn && field === document.activeElement, {_STATE}]"


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


def test_what_can_be_done_about_a_module_is_in_sight_where_it_was_chosen(
    page: Page, site: str
) -> None:
    put_on_screen(page, (360, "light"))
    visit(page, f"{site}/rejections")

    page.locator(".st-key-counts-modules .lw-count", has_text="HUB").click()
    silence = page.get_by_role("button", name="Silence", exact=True)
    expect(silence).to_be_in_viewport(ratio=1)
    silence.click()

    expect(page.get_by_role("button", name="Until 07:00")).to_be_in_viewport(ratio=1)


def top_of(element: Locator) -> float:
    """Return how far below the top of the window an element begins."""
    box = element.bounding_box()
    return inf if box is None else box["y"]


def test_refresh_keeps_what_is_typed_the_cursor_and_the_place(page: Page, site: str) -> None:
    fields: dict[str, Locator] = {}
    for address in _FIELDS:
        opened = page.context.new_page()
        opened.set_viewport_size({**SIZE, "height": 500})
        visit(opened, f"{site}/{address}")
        fields[address] = _type_in(opened, *_FIELDS[address])
    for field in fields.values():
        wait_for_refresh(field.page)  # a form that is unfolded moves for a moment
    before = {address: field.evaluate(_BEFORE) for address, field in fields.items()}
    for field in fields.values():
        wait_for_refresh(field.page)

    assert {address: field.evaluate(_NOW) for address, field in fields.items()} == before


def _type_in(page: Page, fold: str, selector: str) -> Locator:
    """Unfold a form, scroll to its field and type there, without sending it."""
    if fold:
        page.get_by_text(fold, exact=True).first.click()
    field = page.locator(selector).first
    field.scroll_into_view_if_needed()
    field.click()
    page.keyboard.type("half a wo")
    return field


def test_nothing_moves_while_a_page_is_loaded_for_the_first_time(
    browser: Browser, site: str, pytestconfig: pytest.Config
) -> None:
    is_full = pytestconfig.getoption("--full")
    cases, load = (FIRST_LOADS_OF_ALL, _load_slowly) if is_full else (FIRST_LOADS, visit)
    shifted = {}
    for width, address in cases:
        with browser.new_context(viewport={"width": width, "height": 900}) as context:
            page = context.new_page()
            page.add_init_script(_WATCH_SHIFTS)
            load(page, f"{site}/{address}")
            page.wait_for_load_state("networkidle")
            page.evaluate(NEXT_FRAMES)
            shifted[width, address] = page.evaluate("window.shifted")

    assert {each: far for each, far in shifted.items() if far > _MOST_SHIFTED} == {}


def _load_slowly(page: Page, address: str) -> None:
    """Load a page whose scripts come one after the other, each drawn before the next one comes."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/static/js/*", hold)
    page.goto(address, wait_until="commit")

    def is_whole() -> bool:
        page.evaluate(NEXT_FRAMES)
        if held:
            held.pop(0).continue_()
            return False
        return page.locator(SETTLED).is_visible() and page.locator("h1").is_visible()

    eventually(is_whole, what="a whole page")
