"""S14: from an opened address to the first chart of a page, beside a page with one chart alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser, Page

from tests.bench.pages_store import PagedStore, an_incident_id, made_paged_store
from tests.bench.processes import PROJECT, cores, free_port, settle, started
from tests.bench.rounds import Median
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number, spread
from tests.browser.page_checks import SIZE
from tests.chromium import running_browser

LONGEST: Final = 1.3
"""How many times as long as the page with one chart a page may take."""

_ALONE: Final = "one chart alone"
_SCRIPT: Final = PROJECT / "tests" / "bench" / "peers" / "one_chart.py"
_DRAWN: Final = ".js-plotly-plot .trace path, .js-plotly-plot .point path, img.lw-spark"
_IS_DRAWN: Final = """
(chart) => new Promise((drawn) => {
  const look = () =>
    document.querySelector(chart) ? drawn(performance.now()) : requestAnimationFrame(look);
  look();
})
"""


class Opened(NamedTuple):
    """Milliseconds until the first chart: with nothing kept by the browser, and once more."""

    cold: float
    warm: float


def run(scene: Scene) -> Result:
    """Open all pages in turn, each in a browser window that knows nothing, and then again."""
    paged = made_paged_store(scene.folder, scene.stored, scene.day, timedelta(days=scene.days))
    with (
        _serving(paged) as ours,
        _serving(paged, _SCRIPT) as theirs,
        running_browser() as browser,
    ):
        pages = {_ALONE: theirs, **{name: ours + path for name, path in _pages(paged).items()}}
        took: dict[str, list[Opened]] = {name: [] for name in pages}
        for _ in range(1 + scene.rounds):
            for name, address in pages.items():
                took[name].append(_opened(browser, address))
    found = {name: each[1:] for name, each in took.items()}  # the first reads what the store has
    return Result(
        title="S14: from an opened address to the first chart of the page",
        promises=[_promise(found, place) for place in range(len(Opened._fields))],
        heads=("page", *(f"{each}, ms{of}" for each in Opened._fields for of in ("", " ÷ alone"))),
        lines=[[name, *_cells(found, name)] for name in found],
        remarks=[_HOW],
    )


_HOW: Final = (
    "From navigation to the first frame with a line, by the browser's clock, beside a Streamlit "
    "script with one chart of 2,000 points ([source](../tests/bench/peers/one_chart.py)). Cold: a "
    "new window with an empty cache. Warm: the same address again."
)


def _pages(paged: PagedStore) -> Mapping[str, str]:
    """Return the address of each page that has a chart."""
    return {
        "Overview of twelve networks": "/",
        "Overview of a network": "/?network=Linea",
        "Fees of a network": "/fees?network=Linea",
        "Fees of twelve networks": "/fees",
        "Rejections": "/rejections",
        "Alerts: an incident": f"/alerts?incident={an_incident_id(paged.stored)}",
    }


@contextmanager
def _serving(paged: PagedStore, *script: Path) -> Iterator[str]:
    """Serve the pages, or that script in their place; yield the address."""
    port = free_port()
    command = ("tests.bench.peers.pages", str(port), str(paged.file), paged.until.isoformat())
    with started("the pages", (*command, *map(str, script)), cores()[0], {}, port) as server:
        settle(server)
        yield f"http://127.0.0.1:{port}"


def _opened(browser: Browser, address: str) -> Opened:
    with browser.new_context(viewport=SIZE) as context:
        page = context.new_page()
        return Opened(first_chart(page, address), first_chart(page, address))


def first_chart(page: Page, address: str) -> float:
    """Open a page; return the milliseconds until its first chart stands."""
    page.goto(address, wait_until="commit")
    milliseconds: float = page.evaluate(_IS_DRAWN, _DRAWN)
    return milliseconds


def _ratios(found: Mapping[str, Sequence[Opened]], name: str, place: int) -> Median:
    pairs = zip(found[name], found[_ALONE], strict=True)
    return Median.of([ours[place] / theirs[place] for ours, theirs in pairs])


def _promise(found: Mapping[str, Sequence[Opened]], place: int) -> Promise:
    ratios = {name: _ratios(found, name, place).middle for name in found if name != _ALONE}
    slowest = max(ratios, key=lambda name: ratios[name])
    what = f"first chart, {Opened._fields[place]}: × one chart alone (slowest: {slowest})"
    return Promise("S14", what, LONGEST, ratios[slowest], "×", is_floor=False)


def _cells(found: Mapping[str, Sequence[Opened]], name: str) -> Iterator[str]:
    for place in range(len(Opened._fields)):
        yield spread(Median.of([each[place] for each in found[name]]))
        yield number(_ratios(found, name, place).middle)
