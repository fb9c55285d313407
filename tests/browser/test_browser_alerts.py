"""The page Alerts on a night of incidents in a real browser, served by a real process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.page_checks import visit, wait_for_refresh
from tests.browser.page_server import serving
from tests.browser.site import SiteState
from tests.chromium import SETTLED

PHONE: Final[ViewportSize] = {"width": 360, "height": 640}
_UP_FROM_THE_LOWER_EDGE: Final = """
(e) => { e.scrollIntoView(false); e.closest('[data-testid="stMain"]').scrollBy(0, 80); }
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages from a process of its own."""
    with serving(SiteState.NIGHT, tmp_path_factory.mktemp("night")) as address:
        yield address


def test_first_incident_is_acknowledged_with_a_name_and_taken_back(page: Page, site: str) -> None:
    visit(page, f"{site}/alerts")
    answer = page.locator("h1 + p")
    expect(answer).to_contain_text("4 incidents open, 3 unassigned")
    first = page.locator("[class*='st-key-entry-incident-critical']")
    expect(first).to_contain_text("unassigned")

    first.get_by_role("button", name="Acknowledge").click()
    expect(page.get_by_label("Note (optional)")).to_be_visible()
    page.get_by_label("Your name", exact=True).last.fill("Ada")
    wait_for_refresh(page)
    expect(page.get_by_label("Your name", exact=True).last).to_have_value("Ada")
    page.get_by_role("button", name="Acknowledge").last.press("Enter")

    expect(first).to_contain_text("acknowledged by Ada")
    expect(page.get_by_text("is acknowledged by Ada")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".st-key-done")).to_contain_text("Undone")
    expect(first).to_contain_text("unassigned")


def test_story_is_one_click_away_and_leads_back(page: Page, site: str) -> None:
    visit(page, f"{site}/alerts")

    page.locator("[class*='st-key-entry-incident-warning']").first.get_by_role(
        "link", name="Open"
    ).click()

    expect(
        page.get_by_role("heading", name="Devnet: 38 rejected, HUB over limit (sequencer)")
    ).to_be_visible()
    latest = page.locator(".lw-story li").first
    expect(latest).to_contain_text("Not delivered")
    expect(latest).to_contain_text("night@example.org")
    expect(page).to_have_url(re.compile(r"\?incident="))
    page.get_by_text("Every delivery of this incident").click()
    expect(page.get_by_text("and 37 more").first).to_be_visible()
    page.get_by_role("radio", name="Incidents").click()
    expect(page.get_by_role("heading", name="Open incidents")).to_be_visible()


def test_act_at_the_lower_edge_of_a_phone_opens_above_it_and_is_whole(
    page: Page, site: str
) -> None:
    page.set_viewport_size(PHONE)
    visit(page, f"{site}/alerts")
    opener = page.get_by_role("button", name="Acknowledge").first
    opener.evaluate(_UP_FROM_THE_LOWER_EDGE)

    opener.click()

    shown = page.get_by_test_id("stPopoverBody")
    expect(shown.get_by_role("button", name="Acknowledge")).to_be_in_viewport(ratio=1)


def test_rule_is_shown_from_its_beginning_wherever_its_link_was(page: Page, site: str) -> None:
    page.set_viewport_size(PHONE)
    visit(page, f"{site}/alerts?section=Rules")
    page.get_by_role("link", name="Edit").nth(5).click()

    expect(page.get_by_role("heading", name="Rule stale-fees")).to_be_in_viewport()


def test_rule_is_made_as_a_sentence_with_its_preview_beside(page: Page, site: str) -> None:
    visit(page, f"{site}/alerts?section=Rules")
    page.get_by_text("New rule").click()
    expect(page.get_by_role("heading", name="A new rule")).to_be_visible()  # else the list is left
    page.wait_for_selector(SETTLED)
    page.get_by_label("Name", exact=True).fill("night-shift")
    page.get_by_label("Name", exact=True).press("Enter")
    expect(page.get_by_text("night-shift would have fired 2 times")).to_be_visible()
    page.get_by_text("More: scope, reminders").click()
    page.get_by_label("Remind every").fill("soon")
    page.get_by_label("Remind every").press("Enter")
    expect(page.get_by_text("Remind every is 'soon'")).to_be_visible()

    page.get_by_label("Remind every").fill("30m")
    page.get_by_label("Remind every").press("Enter")
    expect(page.get_by_text("remind every 30 min")).to_be_visible()
    page.get_by_label("Your name", exact=True).fill("Ada")
    page.get_by_role("button", name="Save").click()  # which leaves the field of the name

    expect(page.get_by_text("The rule night-shift is added")).to_be_visible()
    expect(page.locator(".st-key-entry-rule-night-shift")).to_contain_text("remind every 30 min")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".st-key-entry-rule-night-shift")).to_have_count(0)
