"""Hostile text in every field that others write, on every page, in every hint and download (X2)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Download, Locator, Page, Request, expect

from dashboard.application.text import PAGES
from tests.browser.page_checks import NEXT_FRAMES, put_on_screen, texts_cut, visit
from tests.browser.page_server import serving
from tests.browser.seeded_hostile_texts import hostile_hash
from tests.browser.site import SiteState
from tests.chromium import SETTLED
from tests.hostile_texts import HOSTILE_TEXTS, is_formula

QUICK: Final = (
    *PAGES,
    "?network=" + quote(HOSTILE_TEXTS[1].text),
    "?wall=1",
    "lookup?" + "&".join(f"tx={hostile_hash(number)}" for number in range(len(HOSTILE_TEXTS))),
    *(f"alerts?section={name}" for name in ("Silences", "Rules", "Recipients", "Deliveries")),
    "settings?section=People and sessions",
    "settings?section=Audit log",
)
_ANYTHING: Final = quote("".join(each.text[:40] for each in HOSTILE_TEXTS)[:900])
FULL: Final = (
    *(f"lookup?tx={hostile_hash(number)}" for number in range(len(HOSTILE_TEXTS))),
    *(f"{page}?{_ANYTHING}={_ANYTHING}&network={_ANYTHING}&range={_ANYTHING}" for page in PAGES),
    f"rejections?search={_ANYTHING}&module={_ANYTHING}&stage={_ANYTHING}",
    f"tracked?tracked_search={_ANYTHING}&before=1000000",
    f"alerts?alerts_search={_ANYTHING}&incident={_ANYTHING}&rule={_ANYTHING}&like={_ANYTHING}",
    f"lookup?tx={_ANYTHING}&list={_ANYTHING}",
    f"fees?from={_ANYTHING}&to={_ANYTHING}&zone={_ANYTHING}&as=Table",
)
MOST_HINTS: Final = 40
_LINKS_ELSEWHERE: Final = """
() => [...document.links].map((link) => link.href.baseVal ?? link.href)
  .concat([...document.querySelectorAll('svg a')].map((link) => link.href.baseVal))
  .filter((href) => new URL(href, location.href).origin !== location.origin)
"""
_MARKUP: Final = "found => found.map((element) => element.outerHTML.slice(0, 300))"
_WIDTHS: Final = "found => found.map((element) => element.getBoundingClientRect().width)"
_UNSEEN: Final = "\u202e\u2066\u200b\ufeff\x1b\x9b"


class Watch:
    """What a page does meanwhile that none of ours does."""

    def __init__(self, page: Page, site: str) -> None:
        self._page, self._site = page, site
        self.foreign: list[str] = []
        page.on("request", self._note_request)
        page.on("dialog", self._note_dialog)

    def _note_request(self, request: Request) -> None:
        own = (self._site, self._site.replace("http", "ws"), "data:", "blob:", "about:")
        if not request.url.startswith(own):
            self.foreign.append(request.url)

    def _note_dialog(self, dialog: Dialog) -> None:
        self.foreign.append(dialog.message)
        dialog.dismiss()

    def expect_nothing(self) -> None:
        """Check that texts are there, and that nothing was asked, ran, or was made from them."""
        assert self.foreign == []
        assert self._page.evaluate("window.hostile") is None
        assert self._page.title().endswith("· Linewatch")
        assert self._page.evaluate(_LINKS_ELSEWHERE) == []
        app = self._page.locator("body")
        expect(app).to_contain_text("hostile")  # a press on a button draws the page anew
        for each in HOSTILE_TEXTS:
            if each.trap is not None:
                found = app.locator(each.trap)
                assert (each.name, found.evaluate_all(_MARKUP)) == (each.name, [])
        shown = app.inner_text()
        assert [unseen for unseen in _UNSEEN if unseen in shown] == []

    def end(self) -> None:
        self._page.remove_listener("request", self._note_request)
        self._page.remove_listener("dialog", self._note_dialog)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages from a process of its own."""
    with serving(SiteState.HOSTILE, tmp_path_factory.mktemp("hostile")) as address:
        yield address


@pytest.fixture
def watch(page: Page, site: str) -> Iterator[Watch]:
    """Watch the window of a test."""
    watching = Watch(page, site)
    yield watching
    watching.end()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Look at every page; with --full at every transaction and every parameter as well."""
    if "address" in metafunc.fixturenames:
        is_full = metafunc.config.getoption("--full")
        metafunc.parametrize("address", [*QUICK, *FULL] if is_full else [*QUICK], ids=str.split)


def test_hostile_text_is_inert_on_a_page_and_in_its_files(
    page: Page, site: str, address: str, watch: Watch, pytestconfig: pytest.Config
) -> None:
    visit(page, f"{site}/{address}")
    for file in downloads(page):
        expect_inert_file(file)
    if pytestconfig.getoption("--full"):
        open_all(page)
        hover_all(page)

    watch.expect_nothing()


@pytest.mark.parametrize("name", ["", "rejections", "alerts", "health"])
def test_name_without_a_blank_runs_off_no_screen_of_a_phone(
    page: Page, site: str, name: str
) -> None:
    put_on_screen(page, (360, "dark"))

    visit(page, f"{site}/{name}")

    assert texts_cut(page) == []


def test_long_name_of_a_network_leaves_room_for_the_reason_beside_it(page: Page, site: str) -> None:
    put_on_screen(page, (360, "light"))

    visit(page, f"{site}/rejections")
    page.wait_for_load_state("networkidle")
    page.evaluate(NEXT_FRAMES)

    rooms = page.locator(".lw-cause").evaluate_all(_WIDTHS)
    assert rooms
    assert min(rooms) > 100


def test_hostile_list_is_reported_inertly(
    page: Page, site: str, watch: Watch, tmp_path: Path
) -> None:
    lines = "".join(f"{each.text[:200]}\n" for each in HOSTILE_TEXTS)
    file = tmp_path / "<img src=x onerror=window.hostile=1>=1+1.csv"
    file.write_text(f"tx_hash,<b id=hostile-b>,label\n{lines}", encoding="utf-8")
    visit(page, f"{site}/lookup")
    page.locator("textarea").first.fill(lines[:3_000])
    page.locator("textarea").first.press("Control+Enter")
    expect(page.get_by_role("alert").first).to_be_visible()

    watch.expect_nothing()


def downloads(page: Page) -> Iterator[Download]:
    """Take every file that a page offers."""
    for button in page.get_by_test_id("stDownloadButton").get_by_role("button").all():
        if button.is_visible() and button.is_enabled():
            page.wait_for_selector(SETTLED)  # a file that is written when asked for is of one run
            with page.expect_download() as download:
                button.click()
            yield download.value


def expect_inert_file(file: Download) -> None:
    """Check that no spreadsheet computes a cell of it, and that it is as it should be read."""
    text = Path(file.path()).read_text(encoding="utf-8-sig")
    cells: list[Any] = []
    if file.suggested_filename.endswith(".csv"):
        for separator in ",;|\t":
            read = csv.reader(StringIO(text, newline=""), delimiter=separator)
            cells += chain.from_iterable(read)
        assert [cell for cell in cells if is_formula(cell)] == []
        assert [cell for cell in cells if not cell.isprintable()] == []
    elif file.suggested_filename.endswith(".json"):
        assert json.loads(text) is not None


def open_all(page: Page) -> None:
    """Unfold what is folded."""
    for fold in page.locator("details:not([open]) > summary").all():
        if fold.is_visible():
            fold.click()


def hover_all(page: Page) -> None:
    """Let each hint and the labels of each chart show what they know."""
    for hint in page.locator("[title], .stTooltipHoverTarget").all()[:MOST_HINTS]:
        _hover(hint)
    for plot in page.locator(".js-plotly-plot .nsewdrag").all():
        box = plot.bounding_box()
        for share in range(1, 10):
            if box is not None:
                page.mouse.move(box["x"] + box["width"] * share / 10, box["y"] + box["height"] / 2)


def _hover(hint: Locator) -> None:
    if hint.is_visible():
        hint.hover(force=True)
