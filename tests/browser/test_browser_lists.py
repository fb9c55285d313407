"""Rejections, Tracked and Alerts in a real browser, served by a real process."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.page_checks import (
    Screen,
    expect_nothing_cut,
    expect_strict,
    visit,
)
from tests.browser.seeded_store import tx_hash

ADDRESSES = (
    "/rejections",
    "/rejections?module=MISSING&search=nothing",
    "/tracked",
    "/alerts",
    f"/alerts?alerts_search={tx_hash(4)}",
)
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


def test_rejections_leave_as_csv(page: Page, site: str, tmp_path: Path) -> None:
    visit(page, f"{site}/rejections?stage=P2P")

    with page.expect_download() as download:
        page.locator(".st-key-csv").get_by_role("button").click()
    download.value.save_as(tmp_path / "rejections.csv")

    with (tmp_path / "rejections.csv").open(newline="") as written:
        (row,) = csv.DictReader(written)
    assert row["tx_hash"] == str(tx_hash(3))
    assert "\\u202egnp.exe\\u000d\\u000aBcc" in row["reason_as_sent"]


def test_rejection_leads_to_its_lookup_without_a_reload_and_back(page: Page, site: str) -> None:
    visit(page, f"{site}/rejections?stage=P2P")
    page.evaluate("window.isSamePage = true")

    page.get_by_role("link", name="0x03030303…030303").click()
    expect(page.get_by_role("heading", name=str(tx_hash(3)))).to_be_visible()
    assert page.evaluate("window.isSamePage")
    page.go_back()

    expect(page.get_by_role("button", name="Stage: P2P")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/rejections\?stage=P2P$"))


@pytest.mark.parametrize(
    ("left", "link", "shown"),
    [
        ("/tracked?record=Rejected", "Look up 0x020202", "On record: Rejected"),
        ("/?network=Devnet", "0x020202", "Wall mode"),
    ],
)
def test_back_from_a_lookup_leads_to_the_page_as_it_was(
    page: Page, site: str, left: str, link: str, shown: str
) -> None:
    visit(page, site + left)

    page.get_by_role("link", name=link).first.click()
    expect(page.get_by_role("heading", name=str(tx_hash(2)))).to_be_visible()
    page.go_back()

    expect(page.get_by_text(shown).first).to_be_visible()
    expect(page).to_have_url(site + left)


def test_bar_that_is_clicked_shows_its_time_alone(page: Page, site: str) -> None:
    visit(page, f"{site}/rejections")
    bars = page.locator(".st-key-rejections-over-time .nsewdrag").first
    box = bars.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] - 6, box["y"] + box["height"] - 6

    page.mouse.move(x - 3, y)
    expect(page.locator(".st-key-rejections-over-time .hoverlayer g").first).to_be_attached()
    page.mouse.click(x, y)

    expect(page.get_by_role("button", name="Time:")).to_be_visible()
    assert {"from", "to"} <= {
        each.partition("=")[0] for each in page.url.partition("?")[2].split("&")
    }


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


def test_tracked_transaction_is_edited_and_stopped(page: Page, site: str) -> None:
    visit(page, f"{site}/tracked?tracked_search={tx_hash(9)}")
    page.get_by_placeholder("Your name, for what you change").fill("Ada")
    page.get_by_role("button", name="Choose these 1").click()
    page.get_by_role("button", name="Edit 1 chosen").click()
    form = page.get_by_test_id("stPopoverBody")
    form.get_by_label("Label", exact=True).fill("Case 77")
    form.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("1 transaction is changed.")).to_be_visible()
    expect(page.get_by_text("Case 77").first).to_be_visible()

    page.get_by_role("button", name="Stop tracking").click()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name="Stop tracking").click()

    expect(page.get_by_text("No transaction matches these filters")).to_be_visible()


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
    rows.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/lookup.tx=0x"))


@pytest.mark.parametrize(
    ("address", "text", "found"),
    [
        ("rejections", "0x02020202…020202", "2 rejections in the last 24 h"),
        ("rejections", "prover module HUB", "1 rejection in the last 24 h"),
        ("alerts?section=Deliveries", "prover module ADD", "0x01010101…010101"),
    ],
)
def test_what_is_shown_can_be_searched(
    page: Page, site: str, address: str, text: str, found: str
) -> None:
    visit(page, f"{site}/{address}")

    page.get_by_role("searchbox").fill(text)
    page.get_by_role("searchbox").press("Enter")

    expect(page.get_by_text(found).first).to_be_visible()
    expect(page.get_by_text("No notification fits")).to_have_count(0)


def test_opened_attempts_stay_open_while_the_page_refreshes(page: Page, site: str) -> None:
    visit(page, f"{site}/alerts?state=Dead")
    page.get_by_text("1 attempt", exact=True).click()
    answer = page.locator("h1 + p")
    before = answer.inner_text()

    expect(answer).not_to_have_text(before)

    expect(page.get_by_text("Message-ID")).to_be_visible()


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
