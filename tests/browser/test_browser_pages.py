"""Overview, Lookup and Fees in a real browser, served by a real process."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Final

from playwright.sync_api import Locator, Page, expect

from tests.browser.page_checks import SIZE, texts_cut, visit, wait_for_refresh
from tests.browser.seeded_store import tx_hash
from tests.browser.site import BROKEN, SECRET
from tests.chromium import SETTLED
from tests.icon_font import FONT, NOT_IN_ANY_FONT, signs
from tests.waiting import eventually

BEYOND_THE_WALL = """
() => [...document.querySelectorAll('.lw-wall, .lw-wall *, .st-key-wall-bar *')].filter((e) => {
  const box = e.getBoundingClientRect(), tile = e.closest('.lw-wall-tile')?.getBoundingClientRect();
  const edge = tile ?? { right: innerWidth, bottom: innerHeight };
  return box.right > edge.right + 1 || box.bottom > edge.bottom + 1;
}).map((e) => e.textContent).concat(
  document.querySelector('[data-testid=stMain]').scrollHeight > innerHeight ? ['scrolls'] : [])
"""

_TOLD = """
window.told = [];
window.Notification = class {
  static permission = 'granted';
  static requestPermission = async () => 'granted';
  constructor(title, { body }) { window.told.push(body); }
};
localStorage.setItem('linewatch-wall', JSON.stringify({ notify: true, seen: [] }));
"""


def test_row_opens_its_chart_in_place_by_mouse_and_by_keyboard(page: Page, site: str) -> None:
    visit(page, site)
    row = page.locator(".lw-net", has_text="Devnet")

    row.click()
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()
    expect(page).to_have_url(re.compile("open=424242$"))
    page.get_by_role("button", name="Close the chart of Devnet").press("Enter")

    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("open"))


def test_one_network_fits_a_laptop_and_a_refresh_keeps_focus_and_the_label_at_the_pointer(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/?network=Devnet")
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()

    lowest = page.locator(".js-plotly-plot").bounding_box()
    last = page.get_by_role("link", name="All rejections, with filters and counts").bounding_box()

    assert lowest is not None
    assert last is not None
    assert max(each["y"] + each["height"] for each in (lowest, last)) < SIZE["height"]

    link = page.get_by_role("link", name="0x03030303…030303")
    link.focus()
    page.locator(".js-plotly-plot .nsewdrag").hover(position={"x": 60, "y": 90})
    label = page.locator(".js-plotly-plot .hoverlayer .legend")
    expect(label).to_be_visible()
    wait_for_refresh(page)
    expect(link).to_be_focused()
    expect(label).to_be_visible()


def test_wall_is_one_screen_and_cuts_nothing_and_escape_leaves_it(page: Page, site: str) -> None:
    visit(page, f"{site}/?wall=1")

    expect(page.get_by_role("button", name="Sound")).to_be_visible()
    for width, height in ((1280, 720), (1920, 1080), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        eventually(lambda: not texts_cut(page) and page.evaluate(BEYOND_THE_WALL) == [])
    page.keyboard.press("Escape")

    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.locator(".lw-wall")).to_have_count(0)
    wait_for_refresh(page)
    expect(page).to_have_url(f"{site}/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_wall_stays_once_it_is_entered(page: Page, site: str) -> None:
    visit(page, site)
    page.get_by_role("button", name="Wall mode").click()
    clock = page.locator(".lw-wall time")
    before = clock.inner_text()

    expect(clock).not_to_have_text(before)
    expect(clock).to_be_visible()
    expect(page).to_have_url(f"{site}/?wall=1")


def test_wall_tells_of_what_became_critical_once_somebody_asked(page: Page, site: str) -> None:
    wall = page.context.new_page()
    wall.add_init_script(_TOLD)
    visit(wall, f"{site}/?wall=1")

    wall.wait_for_function("() => window.told.length > 0")
    assert wall.evaluate("window.told") == ["Monitoring stopped: the worker is not running"]
    notify = wall.get_by_role("button", name="Notify")
    expect(notify).to_have_attribute("aria-pressed", "true")
    notify.click()
    wall.get_by_role("button", name="Sound").click()

    expect(notify).to_have_attribute("aria-pressed", "false")
    expect(wall.get_by_role("button", name="Sound")).to_have_attribute("aria-pressed", "true")


def test_menu_of_a_zoomed_window_folds_once_a_page_is_chosen(page: Page, site: str) -> None:
    page.set_viewport_size({"width": 640, "height": 450})
    visit(page, site)
    page.get_by_role("button", name="Expand sidebar").click()

    page.get_by_role("link", name="Health", exact=True).press("Enter")

    expect(page.get_by_role("heading", name="Health", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Tracked", exact=True)).not_to_be_in_viewport()


def test_messy_paste_is_answered_and_shareable(page: Page, site: str) -> None:
    visit(page, f"{site}/lookup")
    box = page.get_by_label("Transactions, one or many")

    page.get_by_label("Case id (optional)").fill("ZD 17")
    box.fill(f"https://explorer.example/tx/{tx_hash(2)}?x=1,\n {tx_hash(120)};{tx_hash(2)}\n0x12ab")
    box.press("Enter")

    expect(page.get_by_text("2 transactions: 1 rejected; 1 not checked yet.")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("0x12ab has 4 hexadecimal digits")
    expect(page.get_by_text("1 duplicate was left out")).to_be_visible()
    expect(page).to_have_url(f"{site}/lookup?tx={tx_hash(2)}&tx={tx_hash(120)}&case_id=ZD+17")
    page.wait_for_selector(SETTLED)  # a file that is written when asked for belongs to one run
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.path().read_text().count("\nZD 17,") == 2


def test_search_of_the_header_answers_and_the_next_customer_is_one_paste(
    page: Page, site: str
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, f"{site}/fees")

    field = page.locator(".st-key-search-field input")
    field.wait_for()
    page.locator("h1").click()  # the keys of a window that has no focus go nowhere
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("0x0404040")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=str(tx_hash(4)))).to_be_visible()
    box = page.get_by_label("Transactions, one or many")
    box.focus()
    page.keyboard.insert_text("0x12")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    for greeting, number in (("", 2), ("Hello,\n", 3), ("", 9)):
        page.keyboard.insert_text(f"{greeting}{tx_hash(number)}")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=str(tx_hash(number)))).to_be_visible()
        expect(box).to_be_focused()
        expect(box).to_have_value("")

    page.get_by_role("button", name="Copy to clipboard").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith(f"Transaction: {tx_hash(9)}")


def test_hash_is_tracked_with_the_keyboard_alone(page: Page, site: str) -> None:
    visit(page, f"{site}/lookup?tx={tx_hash(122)}")

    page.get_by_role("button", name="Track", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("button[aria-expanded=true]", has_text="Track")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Label (optional)")).to_be_focused()
    page.keyboard.type("Case 17")
    page.keyboard.press("Enter")

    expect(page.get_by_text("1 newly tracked.")).to_be_visible()
    expect(page.locator(".lw-badge", has_text="Tracked")).to_be_visible()


_WIDTHS_OF_SIGNS: Final = """
async (names) => {
  await document.fonts.load('24px "Material Symbols Rounded"', names.join(''));
  const sign = document.body.appendChild(document.createElement('span'));
  sign.style = 'font: 24px "Material Symbols Rounded"; position: fixed';
  return Object.fromEntries(names.map((name) => {
    sign.textContent = name;
    return [name, sign.getBoundingClientRect().width];
  }));
}
"""
_FONTS: Final = """
() => Promise.all(performance.getEntriesByType('resource')
  .filter((each) => each.name.endsWith('.woff2'))
  .map(async (each) => (await (await fetch(each.name)).arrayBuffer()).byteLength))
"""


def test_every_sign_is_in_the_small_font_and_no_other_font_is_fetched(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/tracked")
    widths = page.evaluate(_WIDTHS_OF_SIGNS, sorted(signs() - NOT_IN_ANY_FONT))

    assert {name: width for name, width in widths.items() if abs(width - 24) > 1} == {}
    assert page.evaluate(_FONTS) == [FONT.stat().st_size]


def test_error_shows_its_kind_and_neither_text_nor_traceback(page: Page, site: str) -> None:
    visit(page, f"{site}/lookup?tx={BROKEN}")

    shown = page.get_by_test_id("stException")
    expect(shown).to_be_visible()
    said = page.locator("body").inner_text()

    assert "RuntimeError" in said
    assert SECRET not in said
    assert "Traceback" not in said
    expect(shown.get_by_role("link")).to_have_count(0)


def test_wrong_parameters_are_told_and_ignored(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?range=7d&<b>colour=red&network=nowhere&as=Table")

    told = page.locator("p", has_text="Part of the address was ignored:")
    expect(told).to_contain_text("7d is not an option of range here")
    expect(told).to_contain_text("<b>colour is not a parameter of this page")
    expect(told).to_contain_text("nowhere is not an option of network here")
    expect(told).not_to_contain_text("Table")


def test_fees_are_drawn_and_saved_as_a_picture_and_a_new_figure_leaves_chart_and_label(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/fees?network=Devnet")

    plot = page.locator(".js-plotly-plot")
    expect(plot).to_have_count(1)
    expect(plot.locator(".scatterlayer .trace:last-child path.js-line").first).to_be_visible()
    expect(plot.locator(".fills path.js-fill")).to_have_count(2)  # single values have no band
    expect(plot.locator(".annotation")).to_have_text(["median", "busy"])
    expect(page.get_by_text("1 gap (hatched): 5 min from")).to_be_visible()
    with page.expect_download() as saved:
        page.locator(".modebar-btn").first.click()
    assert saved.value.suggested_filename.endswith(".png")
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")

    page.locator(".js-plotly-plot .nsewdrag").first.hover(position={"x": 300, "y": 90})
    label = plot.locator(".hoverlayer .legend")
    expect(label).to_be_visible()
    chart, before = plot.element_handle(), label.text_content()
    page.get_by_role("radio", name="10 min").press("Space")
    expect(label).not_to_have_text(before or "")
    assert chart.evaluate("plot => plot.isConnected")


def test_network_of_the_address_is_named_and_changed_and_stays_from_page_to_page(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/fees?network=59141")
    expect(page.get_by_role("heading", name="Linea Sepolia")).to_be_visible()
    expect(page).to_have_url(f"{site}/fees?network=Linea+Sepolia")

    for name in ("Devnet", "All networks", "Linea"):
        page.get_by_role("combobox").click()
        page.get_by_role("option", name=name, exact=True).click()
        count = 0 if name == "All networks" else 1
        expect(page.locator(".lw-card-head h2")).to_have_count(count)
    expect(page.locator("h1 + p")).to_contain_text("Linea stale.")
    page.get_by_role("link", name="Health", exact=True).click()

    expect(page.locator("h1")).to_have_text("Health")
    expect(page.locator(".lw-badge", has_text="Failing").first).to_be_visible()
    expect(page.get_by_role("heading", name="Devnet")).to_have_count(0)
    expect(page).to_have_url(f"{site}/health?network=Linea")


def test_time_that_is_dragged_stands_in_the_address_until_back_or_a_double_click(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/fees?network=Devnet")
    all_of_it = page.get_by_role("heading", name="Base fee, last 1 h")
    drag(page)

    expect(page).to_have_url(re.compile("from=.*&to="))
    part = page.get_by_role("heading", name=re.compile(r"Base fee, .* UTC"))
    expect(part).to_be_visible()
    page.reload()
    expect(part).to_be_visible()
    page.go_back()
    expect(all_of_it).to_be_visible()
    drag(page)
    expect(page).to_have_url(re.compile("from=.*&to="))
    expect(part).to_be_visible()
    double_click(page, page.locator(".js-plotly-plot .nsewdrag").first)

    expect(all_of_it).to_be_visible()


def drag(page: Page) -> None:
    """Choose a part of the time that a chart shows."""
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2
    page.mouse.move(area["x"] + area["width"] * 0.7, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.8, middle, steps=5)
    page.mouse.move(area["x"] + area["width"] * 0.9, middle, steps=5)
    page.mouse.up()


def double_click(page: Page, chart: Locator) -> None:
    """Show all of the time again; a busy browser may take a double click for two clicks."""

    def is_whole() -> bool:
        chart.dblclick()
        with contextlib.suppress(AssertionError):
            expect(page).not_to_have_url(re.compile("from="), timeout=10_000)
        return "from=" not in page.url

    eventually(is_whole, "a double click")


def test_bar_of_rejections_shows_its_time_alone_and_a_double_click_all(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/rejections")
    chart = page.locator(".st-key-rejections-over-time .js-plotly-plot")
    bars = chart.locator(".barlayer .point path").filter(visible=True)
    bars.last.click(force=True)

    expect(page).to_have_url(re.compile("from=.*&to="))
    expect(page.get_by_role("button", name=re.compile("^Time"))).to_be_visible()
    double_click(page, chart.locator(".nsewdrag").first)


def test_name_of_a_compared_network_leads_to_its_chart_within_the_page(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/fees")
    page.evaluate("window.isSame = true")

    page.get_by_role("button", name="Linea", exact=True).click()

    expect(page.get_by_role("heading", name="Linea", exact=True)).to_be_visible()
    expect(page).to_have_url(f"{site}/fees?network=Linea")
    assert page.evaluate("window.isSame")
