"""Every page in every state in a real browser: it has its heading, and no text is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page

from dashboard.web.files import PAGES
from tests.browser.page_checks import Screen, expect_nothing_cut
from tests.browser.page_server import serving
from tests.browser.site_in_a_state import SiteState

_ADDRESSES: Final = (*PAGES, "?wall=1")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Look at pages without a store; with --full at every state of one network and of twelve."""
    wanted = [(SiteState.ERROR, 1)]
    if metafunc.config.getoption("--full"):
        wanted = [(state, count) for state in SiteState for count in (1, 12)]
    names = [f"{state}-{count}" for state, count in wanted]
    metafunc.parametrize("site", wanted, ids=names, indirect=True, scope="module")
    metafunc.parametrize("address", _ADDRESSES)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages in one state from a process of its own."""
    state, count = request.param
    more = {"LINEWATCH_TEST_STATE": state.value, "LINEWATCH_TEST_NETWORKS": str(count)}
    with serving("site_in_a_state", tmp_path_factory.mktemp("state"), more) as address:
        yield address


def test_no_text_is_cut_whatever_the_state(
    page: Page, site: str, address: str, screens: tuple[Screen, ...]
) -> None:
    expect_nothing_cut(page, f"{site}/{address}", screens)
