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

_LONGEST: Final = (1.7, 2.0, 1.0)
"""How many times as long as the chart of a page with one a page may take, for each of `Opened`."""

_MOST_MOVED: Final = 2.2
"""Megabytes for a page, where the browser has kept nothing."""

_ALONE: Final = "one chart alone"
_SCRIPT: Final = PROJECT / "tests" / "bench" / "peers" / "one_chart.py"
_DRAWN: Final = ".js-plotly-plot .trace path, .js-plotly-plot .point path, img.lw-spark"
_WORDS: Final = "[data-testid=stMain] :is(h1, h2, h3, [class^=lw-])"
_IS_DRAWN: Final = """
([chart, words]) => new Promise((drawn) => {
  const check = () => {
    if (document.querySelector(words)) window.linewatchWords ??= performance.now();
    document.querySelector(chart) ? drawn(performance.now()) : requestAnimationFrame(check);
  };
  check();
})
"""


class Opened(NamedTuple):
    """Milliseconds until the first chart: with nothing kept by the browser, and once more.

    `words`: until the first words, with nothing kept. `moved`: the megabytes that came then.
    """

    cold: float
    warm: float
    words: float
    moved: float


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
        promises=[*(_promise(found, place) for place in _RATIOS), _moved(found)],
        heads=("page", *(f"{each}, ms{of}" for each in _TIMES for of in ("", " ÷ alone")), "MB"),
        lines=[[name, *_cells(found, name)] for name in found],
        remarks=[_HOW],
    )


_TIMES: Final = ("cold", "warm", "words")
_RATIOS: Final = range(len(_TIMES))
_HOW: Final = (
    "From navigation to the first frame with a line, by the browser's clock, beside a Streamlit "
    "script with one chart of 2,000 points ([source](../tests/bench/peers/one_chart.py)). Cold: a "
    "new window, an empty cache. Warm: the same address again. Words: the first heading or figure "
    "of a cold page, beside the chart of the script."
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
        network = context.new_cdp_session(page)
        network.send("Network.enable")
        sizes: list[float] = []
        network.on("Network.loadingFinished", lambda each: sizes.append(each["encodedDataLength"]))
        cold = first_chart(page, address)
        words: float = page.evaluate("window.linewatchWords ?? performance.now()")
        page.wait_for_load_state("networkidle")
        moved = sum(sizes) / 1e6
        return Opened(cold, first_chart(page, address), words, moved)


def first_chart(page: Page, address: str) -> float:
    """Open a page; return the milliseconds until its first chart stands.

    The page knows then as `window.linewatchWords` when its first words stood.
    """
    page.goto(address, wait_until="commit")
    milliseconds: float = page.evaluate(_IS_DRAWN, [_DRAWN, _WORDS])
    return milliseconds


def _ratios(found: Mapping[str, Sequence[Opened]], name: str, place: int) -> Median:
    """Compare with the other script; first words with its chart."""
    alone = 0 if _TIMES[place] == "words" else place
    pairs = zip(found[name], found[_ALONE], strict=True)
    return Median.of([ours[place] / theirs[alone] for ours, theirs in pairs])


def _promise(found: Mapping[str, Sequence[Opened]], place: int) -> Promise:
    ratios = {name: _ratios(found, name, place).middle for name in found if name != _ALONE}
    slowest = max(ratios, key=lambda name: ratios[name])
    subject = "first words" if _TIMES[place] == "words" else f"first chart, {_TIMES[place]}"
    what = f"{subject}: × one chart alone (slowest: {slowest})"
    return Promise("S14", what, _LONGEST[place], ratios[slowest], "×", is_floor=False)


def _moved(found: Mapping[str, Sequence[Opened]]) -> Promise:
    sizes = {name: max(each.moved for each in found[name]) for name in found if name != _ALONE}
    largest = max(sizes, key=lambda name: sizes[name])
    what = f"moved cold (largest: {largest})"
    return Promise("S14", what, _MOST_MOVED, sizes[largest], "MB", is_floor=False)


def _cells(found: Mapping[str, Sequence[Opened]], name: str) -> Iterator[str]:
    for place in _RATIOS:
        yield spread(Median.of([each[place] for each in found[name]]))
        yield number(_ratios(found, name, place).middle)
    yield number(max(each.moved for each in found[name]))
