"""Zoom: from a click to the charts of three networks, drawn by Chromium, over their whole past."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from playwright.sync_api import Browser

from dashboard.application.fee_timeline import TIME_RANGES, TimeRange
from tests.bench.rounds import Median
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result
from tests.browser.page_checks import visit
from tests.browser.page_server import serving
from tests.browser.zoom_checks import zoom
from tests.chromium import running_browser

Screen: TypeAlias = tuple[int, Literal["light", "dark"]]

_SCREENS: Final[tuple[Screen, ...]] = ((1280, "light"), (360, "dark"))
_REMARK: Final = (
    "One of three networks is shown, with its week; the browser's work is included. The pages "
    "cache ranges of more than two days for minutes, so after the first turn those are drawn "
    "from memory."
)
_LONGEST: Final = 1.0


def run(scene: Scene) -> Result:
    """Flip through all lengths that are offered, so often on each screen."""
    days = str(scene.days)
    with (
        TemporaryDirectory() as folder,
        serving("site_of_a_year", Path(folder), {"LINEWATCH_TEST_DAYS": days}) as address,
        running_browser() as browser,
    ):
        offered = _offered(scene.days)
        took = [_flipped(browser, address, screen, offered * scene.rounds) for screen in _SCREENS]
    middles = {span: [Median.of(of_screen[span]).middle for of_screen in took] for span in offered}
    slowest = max(seconds for spans in middles.values() for seconds in spans)
    return Result(
        title=f"Zoom: a network over {days} days, from click to drawn chart",
        promises=[Promise("zoom", "slowest length, drawn", _LONGEST, slowest, "s", is_floor=False)],
        heads=("length", *(f"{width} pixels, {scheme}" for width, scheme in _SCREENS)),
        lines=[
            [span.name, *(f"{seconds * 1000:.0f} ms" for seconds in of_span)]
            for span, of_span in middles.items()
        ],
        remarks=[_REMARK],
    )


def _flipped(
    browser: Browser, address: str, screen: Screen, spans: Sequence[TimeRange]
) -> dict[TimeRange, list[float]]:
    """Return the seconds that each length took, in the order of its turns."""
    width, scheme = screen
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    visit(page, f"{address}/fees?network=devnet")
    took: dict[TimeRange, list[float]] = {}
    for span in spans:
        took.setdefault(span, []).append(zoom(page, span))
    context.close()
    return took


def _offered(days: int) -> list[TimeRange]:
    shorter = [span for span in TIME_RANGES if span.length.days < days]
    return list(TIME_RANGES[: len(shorter) + 1])
