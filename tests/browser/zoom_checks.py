"""The lengths of time of the page Fees, flipped through until the chart is drawn."""

from __future__ import annotations

import time
from typing import Final

from playwright.sync_api import Page

from dashboard.application.time_ranges import TimeRange

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


def zoom(page: Page, span: TimeRange) -> float:
    """Choose a length of time; return the seconds until the chart of one network shows it."""
    begun = time.perf_counter()
    page.get_by_role("radio", name=span.name, exact=True).click()
    milliseconds = span.length.total_seconds() * 1000
    page.wait_for_function(_IS_DRAWN, arg=milliseconds)
    return time.perf_counter() - begun
