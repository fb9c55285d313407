"""The shortest of the journeys of a shift, played in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests import journeys
from tests.browser.page_server import serving
from tests.chromium import running_browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    """Serve the pages of a shift on one network."""
    with serving("site_of_a_shift", folder, {"LINEWATCH_TEST_NETWORKS": "1"}, 120) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


def test_each_customer_is_a_paste_enter_and_copy_and_a_mail_is_two_clicks(
    browser: Browser, site: str, folder: Path
) -> None:
    with journeys.somebody(browser, site, folder) as hands:
        journeys.one_after_another(hands, 3)
        assert (hands.clicks, hands.keys) == (3, 6)
        journeys.from_mail_to_acknowledged(hands)
        assert (hands.clicks, hands.keys) == (5, 6)
