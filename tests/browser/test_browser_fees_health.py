"""Fees, Health and the network chooser in a real browser, served by a real process."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page_checks import Screen, expect_nothing_cut, expect_strict, visit

ADDRESSES = ("/fees", "/fees?network=59144", "/fees?network=Devnet&as=Table", "/health")


def badge(page: Page, word: str) -> None:
    """Expect a badge with this word."""
    expect(page.locator(".lw-badge", has_text=word).first).to_be_visible()


def test_fees_draw_line_levels_busy_times_and_gaps(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=Devnet")

    plot = page.locator(".js-plotly-plot")
    expect(plot).to_have_count(1)
    expect(plot.locator(".scatterlayer .trace:last-child path.js-line").first).to_be_visible()
    expect(plot.locator(".fills path.js-fill")).to_have_count(2)  # single values have no band
    expect(plot.locator(".annotation")).to_have_text(["median", "busy"])
    expect(page.get_by_text("1 gap (hatched where no fee is known): 5 min from")).to_be_visible()


def test_network_is_chosen_by_its_id_and_the_address_says_its_name(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=59141")

    expect(page.get_by_role("heading", name="Linea Sepolia")).to_be_visible()
    expect(page.get_by_role("heading", name="Devnet")).to_have_count(0)
    expect(page).to_have_url(f"{site}/fees?network=Linea+Sepolia")


def test_choice_of_a_network_stays_from_page_to_page(page: Page, site: str) -> None:
    visit(page, f"{site}/fees")
    page.get_by_role("combobox").click()
    page.get_by_role("option", name="Linea", exact=True).click()
    expect(page.locator("h1 + p")).to_contain_text("Stale: Linea.")

    page.get_by_role("link", name="Health", exact=True).click()

    expect(page.locator("h1")).to_have_text("Health")
    badge(page, "Failing")
    expect(page.get_by_role("heading", name="Devnet")).to_have_count(0)
    expect(page).to_have_url(f"{site}/health?network=Linea")


def test_choice_of_a_network_can_be_changed_again_and_again(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=Linea")

    for name in ("Devnet", "All networks", "Linea"):
        page.get_by_role("combobox").click()
        page.get_by_role("option", name=name, exact=True).click()
        count = 0 if name == "All networks" else 1
        expect(page.locator(".lw-card-head h2")).to_have_count(count)


def test_csv_holds_the_figures_of_the_chart_in_wei(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=59141")

    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()

    path = Path(saved.value.path())
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert saved.value.suggested_filename == "priority-fee-59141-1-h.csv"
    assert len(rows) == 61
    assert int(rows[0]["lowest_wei"]) > 29_000_000


def test_time_that_is_dragged_stands_in_the_address(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=Devnet")
    area = page.locator(".js-plotly-plot .nsewdrag").first.bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2

    page.mouse.move(area["x"] + area["width"] * 0.7, middle)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] * 0.8, middle, steps=5)
    page.mouse.move(area["x"] + area["width"] * 0.9, middle, steps=5)
    page.mouse.up()

    expect(page).to_have_url(re.compile("from=.*&to="))
    part = page.get_by_role("heading", name=re.compile(r"Base fee, .* UTC"))
    expect(part).to_be_visible()
    page.reload()
    expect(part).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Base fee, last 1 h")).to_be_visible()


def test_double_click_shows_all_of_the_time_again(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=Devnet")
    area = page.locator(".js-plotly-plot .nsewdrag").first
    box = area.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.7, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("from=.*&to="))

    area.dblclick()

    expect(page.get_by_role("heading", name="Base fee, last 1 h")).to_be_visible()
    expect(page).not_to_have_url(re.compile("from="))


def test_new_figure_is_drawn_in_the_same_chart_and_leaves_the_label(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=Devnet")
    page.locator(".js-plotly-plot .nsewdrag").first.hover(position={"x": 300, "y": 90})
    label = page.locator(".js-plotly-plot .hoverlayer .legend")
    expect(label).to_be_visible()
    chart = page.locator(".js-plotly-plot").element_handle()
    before = label.text_content()

    page.get_by_role("radio", name="10 min").press("Space")

    expect(label).not_to_have_text(before or "")
    assert chart.evaluate("plot => plot.isConnected")


def test_name_of_a_compared_network_leads_to_its_chart_within_the_page(
    page: Page, site: str
) -> None:
    visit(page, f"{site}/fees")
    page.evaluate("window.isSame = true")

    page.get_by_role("button", name="Linea", exact=True).click()

    expect(page.get_by_role("heading", name="Linea", exact=True)).to_be_visible()
    expect(page).to_have_url(f"{site}/fees?network=Linea")
    assert page.evaluate("window.isSame")


def test_chart_is_saved_as_a_picture(page: Page, site: str) -> None:
    visit(page, f"{site}/fees?network=Devnet")

    with page.expect_download() as saved:
        page.locator(".modebar-btn").first.click()

    assert saved.value.suggested_filename.endswith(".png")
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


def test_health_says_what_fails_and_what_to_do(page: Page, site: str) -> None:
    visit(page, f"{site}/health")

    expect(page.locator("h1 + p")).to_contain_text("things are wrong.")
    expect(page.get_by_text("Linea: the gas API has not answered since")).to_be_visible()
    page.get_by_role("button", name="Open the questions of Devnet").press("Enter")
    expect(page.get_by_role("table", name="Questions to Devnet")).to_be_visible()
    expect(page).to_have_url(re.compile("open="))


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
