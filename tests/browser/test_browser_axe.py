"""axe looks at every page in a real browser: nothing serious, whoever reads it and on what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page

from dashboard.web.files import PAGES
from tests.browser.accessibility import barriers
from tests.browser.page_checks import Screen, put_on_screen, visit
from tests.browser.page_server import serving
from tests.browser.seeded_store import tx_hash

MORE: Final = (
    "?network=Devnet",
    "?wall=1",
    f"lookup?tx={tx_hash(3)}",
    "fees?network=Devnet&as=Table",
    *(f"alerts?section={name}" for name in ("Silences", "Rules", "Recipients", "Deliveries")),
)
"""What the whole matrix looks at besides."""

EMPTY: Final = {"LINEWATCH_TEST_STATE": "empty", "LINEWATCH_TEST_NETWORKS": "1"}
CORNERS: Final[tuple[Screen, ...]] = (
    (360, "dark"),
    (1280, "light"),
    (1280, "dark"),
    (360, "light"),
)
AT_REST: Final = "*, *::before, *::after { transition: none !important }"
"""Else a colour is judged on its way from dark to light."""


@pytest.fixture(scope="module")
def empty_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages of an installation that has seen nothing yet."""
    with serving("site_in_a_state", tmp_path_factory.mktemp("empty"), EMPTY) as address:
        yield address


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Look at each page on a phone at night and a laptop by day; with --full, at all of them."""
    is_full, is_empty = metafunc.config.getoption("--full"), "empty_site" in metafunc.fixturenames
    metafunc.parametrize("address", [*PAGES, *MORE] if is_full and not is_empty else [*PAGES])
    corners = CORNERS if is_full else CORNERS[: 1 if is_empty else 2]
    metafunc.parametrize("screens", [corners], ids=[""])


def test_page_has_no_barrier_that_axe_calls_serious(
    page: Page, site: str, address: str, screens: tuple[Screen, ...]
) -> None:
    expect_no_barrier(page, f"{site}/{address}", screens)


def test_empty_page_has_no_barrier_that_axe_calls_serious(
    page: Page, empty_site: str, address: str, screens: tuple[Screen, ...]
) -> None:
    expect_no_barrier(page, f"{empty_site}/{address}", screens)


def expect_no_barrier(page: Page, address: str, screens: tuple[Screen, ...]) -> None:
    put_on_screen(page, screens[0])
    visit(page, address)
    page.add_style_tag(content=AT_REST)
    found = {}
    for screen in screens:
        put_on_screen(page, screen)
        found[screen] = barriers(page)

    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}
