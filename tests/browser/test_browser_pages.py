"""Overview and Lookup in a real browser, served by a real process."""

from __future__ import annotations

import re
from http import HTTPStatus

import pytest
from playwright.sync_api import Page, Response, expect

from dashboard.web.files import PAGES
from tests.browser.page_checks import (
    SIZE,
    Screen,
    expect_nothing_cut,
    expect_strict,
    visit,
)
from tests.browser.seeded_store import tx_hash
from tests.browser.site_of_a_day import BROKEN, SECRET

ADDRESSES = (
    "/",
    "/?network=Devnet",
    "/?open=59144",
    "/?wall=1",
    f"/lookup?tx={tx_hash(2)}",
    f"/lookup?tx={tx_hash(3)}&tx={tx_hash(9)}&tx=0x12",
    f"/lookup?tx={tx_hash(4)}&tx={tx_hash(5)}",
)


def test_row_opens_its_chart_in_place_by_mouse_and_by_keyboard(page: Page, site: str) -> None:
    visit(page, site)
    row = page.get_by_role("button", name="Open the chart of Devnet")

    row.click()
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()
    expect(page).to_have_url(re.compile("open=424242$"))
    page.get_by_role("button", name="Close the chart of Devnet").press("Enter")

    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    expect(page).not_to_have_url(re.compile("open"))


def test_one_network_fits_a_laptop_without_scrolling(page: Page, site: str) -> None:
    visit(page, f"{site}/?network=Devnet")
    page.reload()
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()

    lowest = page.locator(".js-plotly-plot").bounding_box()
    last = page.get_by_role("link", name="All rejections, with filters and counts").bounding_box()

    assert lowest is not None
    assert last is not None
    assert max(each["y"] + each["height"] for each in (lowest, last)) < SIZE["height"]


def test_rejection_leads_to_its_lookup_and_back(page: Page, site: str) -> None:
    visit(page, site)

    page.get_by_role("link", name="0x02020202…020202").first.click()

    expect(page.get_by_role("heading", name=str(tx_hash(2)))).to_be_visible()
    expect(page).to_have_url(f"{site}/lookup?tx={tx_hash(2)}")
    page.get_by_text("Facts, and the reason as sent").click()
    expect(page.get_by_text("Transaction line count for module HUB=2402")).to_be_visible()
    page.go_back()
    expect(page.locator("h1")).to_have_text("Overview")


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
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.path().read_text().count("\nZD 17,") == 2


def test_search_of_the_header_answers_and_the_next_customer_is_one_paste(
    page: Page, site: str
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit(page, f"{site}/fees")

    page.keyboard.press("/")
    expect(page.locator(".st-key-search-field input")).to_be_focused()
    page.keyboard.type("0x0404040")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=str(tx_hash(4)))).to_be_visible()
    box = page.get_by_label("Transactions, one or many")
    box.focus()
    for number in (2, 3, 9):
        page.keyboard.insert_text(str(tx_hash(number)))
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=str(tx_hash(number)))).to_be_visible()
        expect(box).to_be_focused()
        expect(box).to_have_value("")

    page.get_by_role("button", name="Copy to clipboard").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").startswith(f"Transaction: {tx_hash(9)}")


def test_link_asks_by_itself_and_names_who_did_not_answer(page: Page, site: str) -> None:
    visit(page, f"{site}/lookup?tx={tx_hash(121)}")

    expect(page.get_by_text("Asked about 1 transaction")).to_contain_text("Missing: Linea")
    expect(page.locator(".lw-badge", has_text="No rejection on record")).to_be_visible()


def test_hash_is_tracked_with_the_keyboard_alone(page: Page, site: str) -> None:
    visit(page, f"{site}/lookup?tx={tx_hash(122)}")

    page.get_by_role("button", name="Track", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_label("Label (optional)").fill("Case 17")
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Track").press("Enter")

    expect(page.get_by_text("1 newly tracked.")).to_be_visible()
    expect(page.locator(".lw-badge", has_text="Tracked")).to_be_visible()


def test_refresh_keeps_focus_and_the_label_at_the_pointer(page: Page, site: str) -> None:
    visit(page, f"{site}/?network=Devnet")
    link = page.get_by_role("link", name="0x03030303…030303")
    link.focus()
    page.locator(".js-plotly-plot .nsewdrag").hover(position={"x": 60, "y": 90})
    label = page.locator(".js-plotly-plot .hoverlayer .legend")
    expect(label).to_be_visible()
    answer = page.locator("h1 + p")
    before = answer.inner_text()

    expect(answer).not_to_have_text(before)

    expect(link).to_be_focused()
    expect(label).to_be_visible()


@pytest.mark.parametrize("address", ADDRESSES)
def test_page_neither_asks_another_host_nor_offends_its_policy(
    page: Page, site: str, address: str
) -> None:
    expect_strict(page, site, address)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_text_is_cut_or_runs_off_any_screen(
    page: Page, site: str, address: str, screens: tuple[Screen, ...]
) -> None:
    expect_nothing_cut(page, site + address, screens)


def test_error_shows_its_kind_and_neither_text_nor_traceback(page: Page, site: str) -> None:
    visit(page, f"{site}/lookup?tx={BROKEN}")

    shown = page.get_by_test_id("stException")
    expect(shown).to_be_visible()
    said = page.locator("body").inner_text()

    assert "RuntimeError" in said
    assert SECRET not in said
    assert "Traceback" not in said
    expect(shown.get_by_role("link")).to_have_count(0)


def test_favicon_is_a_picture_of_ours(page: Page, site: str) -> None:
    visit(page, site)

    icon = page.locator("link[rel~=icon]").get_attribute("href")

    assert icon is not None
    assert icon.startswith("data:image/svg+xml;base64,")


@pytest.mark.parametrize(("name", "title"), PAGES.items())
def test_page_on_the_map_finds_its_server_without_a_wrong_question(
    page: Page, site: str, name: str, title: str
) -> None:
    failed: list[str] = []

    def note_failure(reply: Response) -> None:
        if reply.status >= HTTPStatus.BAD_REQUEST:
            failed.append(reply.url)

    page.on("response", note_failure)
    visit(page, f"{site}/{name}")
    page.remove_listener("response", note_failure)

    assert page.title() == f"{title} · Linewatch"
    assert failed == []


def test_wrong_parameters_are_told_and_ignored(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?range=7d&<b>colour=red&network=nowhere&as=Table")

    told = page.locator("p", has_text="Part of the address was ignored:")
    expect(told).to_contain_text("7d is no choice for range here")
    expect(told).to_contain_text("<b>colour is no parameter of this page")
    expect(told).to_contain_text("nowhere is no choice for network here")
    expect(told).not_to_contain_text("Table")
