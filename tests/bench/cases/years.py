"""S11: a year of fees, one for each block, to the figure that goes to the browser."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import duckdb
import numpy as np
import pandas as pd

from dashboard.application.fees import FeeView
from dashboard.show.charts.fee_chart import drawing_of
from dashboard.store.fees.series import FeeSteps
from tests.bench.fee_history import (
    YEAR,
    PastYear,
    Took,
    asked_anew,
    measured,
    past_year,
)
from tests.bench.rounds import WrongAnswerError
from tests.bench.setup import Scene
from tests.bench.table import Promise, Result, number

Step: TypeAlias = tuple[int, ...]
"""First and last millisecond, lowest and highest fee, number of values, median, 90th percentile."""

_QUERY: Final = """\
SELECT min(ms), max(ms), min(fee), max(fee), count(*), quantile_disc(fee, [0.5, 0.9])
FROM fees GROUP BY ms // 86400000 ORDER BY 1"""
_EXACT: Final = 5
"""So many numbers of a step are the same everywhere; percentiles may be one part in 64 off."""

_LONGEST: Final = 20.0
_REMARK: Final = (
    "All compute the same daily steps: first and last time, lowest and highest fee, count, median "
    "and 90th percentile. Linewatch reads its store without a cache and also writes the figure; "
    "rows in memory are loaded before."
)
_OURS: Final = "linewatch"
_DUCKDB: Final = "DuckDB, rows in memory"
_PANDAS: Final = "pandas, rows in memory"


def run(scene: Scene) -> Result:
    """Let each tell the same steps; ours become a figure as well, written as it is sent."""
    with past_year(scene.days) as year:
        shown = asked_anew(year.store).timeline.steps
        took = {_OURS: measured(lambda: _sent(asked_anew(year.store)), 20 * scene.rounds)}
        for name, peer in ((_DUCKDB, _duckdb(year)), (_PANDAS, _pandas(year))):
            _compare(name, peer(), shown)
            took[name] = measured(peer, scene.rounds)
        values = len(year.at)
    return Result(
        title=f"S11: a year of one network's fees to the figure, {values:,} values",
        promises=[
            Promise("S11", "a year to the figure", _LONGEST, took[_OURS].cpu, "ms", is_floor=False),
            Promise("S11", f"× {_DUCKDB}", 50, _ratio(took, _DUCKDB), "×"),
        ],
        heads=("who", "by the clock", "CPU time", "CPU time of ours"),
        lines=[
            [
                name,
                f"{number(each.clock)} ms",
                f"{number(each.cpu)} ms",
                f"{number(_ratio(took, name))} ×",
            ]
            for name, each in took.items()
        ],
        remarks=[_REMARK],
    )


def _ratio(took: dict[str, Took], peer: str) -> float:
    return took[peer].cpu / took[_OURS].cpu


def _sent(view: FeeView) -> str:
    """Write the figure as the page does."""
    return json.dumps(drawing_of(view).figure.to_dict())


def _duckdb(year: PastYear) -> Callable[[], Sequence[Step]]:
    connection = duckdb.connect()
    rows = pd.DataFrame({"ms": year.at, "fee": year.fees})
    connection.register("rows", rows)
    connection.execute("SET threads = 1; CREATE TABLE fees AS SELECT * FROM rows")
    connection.unregister("rows")

    def steps() -> Sequence[Step]:
        found = connection.execute(_QUERY).fetchall()
        return [(*exact, *percentiles) for *exact, percentiles in found]

    return steps


def _pandas(year: PastYear) -> Callable[[], Sequence[Step]]:
    rows = _by_time(pd.DataFrame({"ms": year.at, "fee": year.fees}))
    return lambda: _resampled(rows)


def _by_time(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.set_index(rows["ms"].to_numpy().astype("datetime64[ms]"))


def _resampled(rows: pd.DataFrame) -> Sequence[Step]:
    days = rows.resample(YEAR.step)
    exact = days.agg({"ms": ["min", "max"], "fee": ["min", "max", "count"]})
    percentiles = days["fee"].quantile(np.array([0.5, 0.9])).unstack()
    both = np.column_stack([exact.to_numpy(), percentiles.to_numpy()])
    return [tuple(map(int, step)) for step in both[both[:, _EXACT - 1] > 0].tolist()]


def _compare(name: str, told: Sequence[Step], ours: FeeSteps) -> None:
    """Raise WrongAnswerError where somebody's steps are not ours."""
    for one, step in zip(told, ours, strict=True):
        first, last = (round(at.timestamp() * 1000) for at in (step.first_at, step.last_at))
        other = (first, last, step.lowest, step.highest, step.values)
        percentiles = zip(one[_EXACT:], (step.median, step.p90), strict=False)
        if one[:_EXACT] != other or any(abs(a - b) > a / 64 for a, b in percentiles):
            raise WrongAnswerError(f"{name} tells {one} where the figure has {step}")
