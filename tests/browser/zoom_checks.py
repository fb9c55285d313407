"""The lengths of time of the page Fees, flipped through until each chart is drawn."""

from __future__ import annotations

import time
from typing import Final

from playwright.sync_api import Page

from dashboard.show.time_ranges import TimeRange

_IS_DRAWN: Final = """
([length, charts]) => {
  const plots = [...document.querySelectorAll('.js-plotly-plot')];
  return plots.length === charts && plots.every((plot) => {
    const range = plot._fullLayout?.xaxis?.range?.map((at) => new Date(at).getTime()) ?? [0, 0];
    const shown = (range[1] - range[0]) / length;
    return shown > 0.99 && shown < 1.1
      && plot.querySelector('.scatterlayer .trace:last-child path.js-line') !== null;
  });
}
"""


def zoom(page: Page, span: TimeRange, charts: int) -> float:
    """Choose a length of time; return the seconds until so many charts show it."""
    begun = time.perf_counter()
    page.get_by_role("radio", name=span.name, exact=True).click()
    expected = [span.length.total_seconds() * 1000, charts]
    page.wait_for_function(_IS_DRAWN, arg=expected, timeout=60_000)
    return time.perf_counter() - begun
