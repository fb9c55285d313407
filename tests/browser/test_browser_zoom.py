"""The page Fees at every zoom in a real browser, over a past of three networks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from dashboard.application.time_ranges import TIME_RANGES, TimeRange
from tests.bench.cases.first_charts import first_chart
from tests.browser.page_checks import visit
from tests.browser.page_server import serving
from tests.browser.site import SiteState
from tests.waiting import eventually

DAYS = "8"
OFFERED = [span for span in TIME_RANGES if span.length.days <= 30]
_IS_DRAWN: Final = """
(length) => {
  const plots = [...document.querySelectorAll('[class*="st-key-fees-"] .js-plotly-plot')];
  return plots.length === 1 && plots.every((plot) => {
    const range = plot._fullLayout?.xaxis?.range?.map((at) => new Date(at).getTime()) ?? [0, 0];
    const shown = (range[1] - range[0]) / length;
    return shown > 0.99 && shown < 1.1
      && plot.querySelector('.scatterlayer .trace:last-child path.js-line') !== null;
  });
}
"""
_HOURS_TO_LATEST: Final = """
() => {
  const plot = [...document.querySelectorAll('.js-plotly-plot')]
    .find((each) => each._fullLayout?.xaxis?.type === 'date' && each.calcdata);
  if (!plot) return [];
  const edge = plot._fullLayout.xaxis.range[1];
  const latest = Math.max(...plot.calcdata.flat().map((point) => point.x).filter(Number.isFinite));
  return [Date.parse(`${edge.replace(' ', 'T')}Z`), latest].map((at) => (Date.now() - at) / 3.6e6);
}
"""
_LINES_DRAWN: Final = """
() => (document.querySelector('.st-key-side-by-side .js-plotly-plot')?.data ?? [])
  .filter((trace) => trace.customdata).length
"""


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the pages over a week of three networks."""
    folder = tmp_path_factory.mktemp("past")
    with serving(SiteState.PAST, folder, days=DAYS) as address:
        yield address


def test_every_length_of_time_is_drawn(page: Page, past: str, pytestconfig: pytest.Config) -> None:
    assert first_chart(page, f"{past}/fees?network=devnet") > 0

    for span in OFFERED if pytestconfig.getoption("--full") else [*OFFERED[::3], OFFERED[-1]]:
        zoom(page, span)

    expect(page.get_by_role("radio")).to_have_text(
        [*(span.name for span in OFFERED), "Chart", "Table", "UTC", "Local time"]
    )
    page.get_by_text("How to read it").click()
    expect(page.get_by_text("the dark band reaches from its median")).to_be_visible()
    expect(page.locator(".lw-badge.simulated")).to_have_count(2)


@pytest.mark.parametrize("path", ["fees?network=devnet", "fees", "rejections"])
def test_times_are_in_utc_wherever_the_viewer_is(page: Page, past: str, path: str) -> None:
    visit(page, f"{past}/{path}")
    eventually(lambda: bool(page.evaluate(_HOURS_TO_LATEST)))

    edge, latest = page.evaluate(_HOURS_TO_LATEST)

    assert abs(edge) < 2
    assert abs(latest) < 2


def test_networks_stand_side_by_side_and_are_said_to_be_simulated(page: Page, past: str) -> None:
    visit(page, f"{past}/fees")

    eventually(lambda: lines_drawn(page) == 3)
    rows = page.locator('[class*="st-key-compare-"]')
    expect(rows).to_have_count(3)
    expect(page.locator(".lw-badge.simulated")).to_be_visible()

    page.locator(".st-key-lines-drawn").get_by_role("button").first.click()
    eventually(lambda: lines_drawn(page) == 2)

    page.get_by_role("button", name="Network", exact=True).click()
    expect(page).to_have_url(re.compile("sort=network"))
    eventually(lambda: (names := rows.get_by_role("button").all_inner_texts()) == sorted(names))


def lines_drawn(page: Page) -> int:
    """Count the lines of networks: each has the fees of its label beside it."""
    lines: int = page.evaluate(_LINES_DRAWN)
    return lines


def zoom(page: Page, span: TimeRange) -> None:
    """Choose a length of time, and wait until the chart of one network shows it."""
    page.get_by_role("radio", name=span.name, exact=True).click()
    page.wait_for_function(_IS_DRAWN, arg=span.length.total_seconds() * 1000)
