"""The shortest of the journeys of a shift, played in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from tests import journeys
from tests.browser.accessibility import barriers
from tests.browser.page_checks import SCHEMES


@pytest.fixture(scope="module")
def site() -> Iterator[journeys.Site]:
    """Serve the pages of a shift on one network."""
    with journeys.seeded(networks=1) as running:
        yield running


def test_link_of_a_mail_has_its_one_button_on_the_first_screen_of_a_phone(
    browser: Browser, site: journeys.Site
) -> None:
    size = ViewportSize(width=360, height=640)
    with browser.new_context(viewport=size) as context:
        page = context.new_page()
        page.goto(site.link)
        buttons = page.get_by_role("button")
        expect(buttons).to_have_count(1)
        box = buttons.bounding_box()

        assert box is not None
        assert (box["height"] >= 44, box["y"] + box["height"] <= size["height"]) == (True, True)
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            assert barriers(page) == [], scheme


def test_each_customer_is_a_paste_enter_and_copy_and_a_mail_is_two_clicks(
    browser: Browser, site: journeys.Site
) -> None:
    with journeys.somebody(browser, site) as hands:
        journeys.one_after_another(hands, 3)
        assert (hands.clicks, hands.keys) == (3, 6)
        journeys.from_mail_to_acknowledged(hands)
        assert (hands.clicks, hands.keys) == (5, 6)


@pytest.mark.full
def test_module_is_muted_for_the_night_by_two_clicks_on_its_page(
    browser: Browser, site: journeys.Site
) -> None:
    with journeys.somebody(browser, site) as hands:
        journeys.worst_module(hands)
        hands.page.get_by_role("button", name="Silence", exact=True).click()
        name = hands.page.get_by_test_id("stPopoverBody").get_by_label("Your name")
        name.fill("Ada")
        name.press("Enter")
        expect(name).to_have_count(0)
        hands.page.keyboard.press("Escape")
        before = hands.clicks

        journeys.mute_for_the_night(hands)
        assert hands.clicks - before == 2
