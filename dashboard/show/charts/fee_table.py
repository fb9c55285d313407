"""The figures behind a chart: as a table for a page, and as CSV with every digit."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Final

import numpy as np
import pandas as pd

from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.spreadsheet import write_csv
from dashboard.show.charts.fee_timeline import FeeTimeline
from dashboard.show.text import share, unit_of
from dashboard.store.fees.rollup_arrays import Integers

CSV_COLUMNS: Final = (
    "network_id",
    "first_at",
    "last_at",
    "lowest_wei",
    "highest_wei",
    "mean_wei",
    "median_wei",
    "p90_wei",
    "values",
    "values_with_estimated_time",
    "longest_gap_seconds",
    "base_fee_percentile_wei",
    "busy_threshold_wei",
    "busy_share",
)

FOUR_DIGITS: Final = "%.4g"
"""How a table shows a fee; what is copied or downloaded from it has every digit."""


def fee_table(story: FeeTimeline) -> pd.DataFrame:
    """Lay the steps out for reading, newest first.

    DataFrame: index range, columns Time (UTC) [datetime], Mean, Lowest, Highest, Median, 90 % up
    to, Usual, Busy above [float64 in the unit that the column names], Busy [str].
    """
    steps, wei_per_unit, unit = story.steps, *unit_of(story.largest)
    columns: dict[str, object] = {"Time (UTC)": steps.first_at.astype("datetime64[ms]")}
    for name, values in (
        ("Mean", steps.means),
        ("Lowest", steps.lowest),
        ("Highest", steps.highest),
        ("Median", steps.medians),
        ("90 % up to", steps.p90s),
        ("Usual", story.usual),
        ("Busy above", story.threshold),
    ):
        columns[f"{name}, {unit}"] = np.nan if values is None else values / wei_per_unit
    columns["Busy"] = ["" if np.isnan(part) else share(part) for part in story.busy_parts.tolist()]
    return pd.DataFrame(columns).iloc[::-1].reset_index(drop=True)


def fee_csv(story: FeeTimeline, network_id: NetworkId) -> str:
    """Write the steps as CSV, oldest first: times in UTC, fees in whole wei."""
    return write_csv(
        CSV_COLUMNS,
        (
            (
                network_id,
                step.first_at.isoformat(),
                step.last_at.isoformat(),
                step.lowest,
                step.highest,
                step.lowest if step.lowest == step.highest else round(step.mean),
                step.median,
                step.p90,
                step.values,
                step.estimated,
                f"{step.longest_gap.total_seconds():g}",
                usual,
                threshold,
                "" if np.isnan(part) else f"{part:.6g}",
            )
            for step, usual, threshold, part in zip(
                story.steps,
                _wei_values(story.usual),
                _wei_values(story.threshold),
                story.busy_parts.tolist(),
                strict=False,
            )
        ),
    )


def _wei_values(levels: Integers | None) -> Iterable[Wei | None]:
    return repeat(None) if levels is None else map(Wei, levels.tolist())
