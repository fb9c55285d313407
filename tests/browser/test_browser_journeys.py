"""The shortest of the journeys of a shift, played in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests import journeys
from tests.chromium import running_browser


@pytest.fixture(scope="module")
def site() -> Iterator[journeys.Site]:
    """Serve the pages of a shift on one network."""
    with journeys.seeded(networks=1) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


def test_each_customer_is_a_paste_enter_and_copy_and_a_mail_is_two_clicks(
    browser: Browser, site: journeys.Site
) -> None:
    with journeys.somebody(browser, site) as hands:
        journeys.one_after_another(hands, 3)
        assert (hands.clicks, hands.keys) == (3, 6)
        journeys.from_mail_to_acknowledged(hands)
        assert (hands.clicks, hands.keys) == (5, 6)
