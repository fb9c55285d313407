"""S13: how much of a figure goes to the browser, at every length of time."""

from __future__ import annotations

import json
from collections.abc import Iterator

from dashboard.application.time_ranges import TIME_RANGES, TimeRange
from dashboard.show.charts.fee_chart import drawing_of
from dashboard.store.engine.engine import Store
from tests.bench.fee_history import YEAR, asked_anew, past_year
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number


def run(scene: Scene) -> Result:
    """Draw what whole days are read for; count bytes, and numbers that stand in lists."""
    with past_year(scene.days) as year:
        found = {
            span: _payload(year.store, span) for span in TIME_RANGES if span.length > YEAR.step
        }
    lists = sum(numbers for _, numbers, _ in found.values())
    return Result(
        title="S13: bytes of a figure",
        promises=[
            Promise("S13", "figure of a year", 100, found[YEAR][0] / 1000, "kB", is_floor=False),
            Promise("S13", "numbers in lists, of all figures", 0, lists, is_floor=False),
        ],
        heads=("length", "steps", "bytes"),
        lines=[
            [span.name, f"{steps:,}", f"{number(size / 1000)} kB"]
            for span, (size, _, steps) in found.items()
        ],
    )


def _payload(store: Store, span: TimeRange) -> tuple[int, int, int]:
    """Return the length of the JSON, how many numbers of traces stand in lists, and the steps."""
    view = asked_anew(store, span)
    payload = json.dumps(drawing_of(view).figure.to_dict())
    traces = json.loads(payload)["data"]
    return len(payload), sum(1 for _ in _listed(traces)), len(view.timeline.steps)


def _listed(part: object) -> Iterator[float]:
    """Yield the numbers of lists anywhere within."""
    if isinstance(part, dict):
        for value in part.values():
            yield from _listed(value)
    elif isinstance(part, list):
        for value in part:
            if isinstance(value, int | float):
                yield value
            else:
                yield from _listed(value)
