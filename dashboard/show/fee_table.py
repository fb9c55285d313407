"""The figures behind a chart: as a table for a page, and as CSV with every digit."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd

from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.spreadsheet import write_csv
from dashboard.show.fee_steps import FeeStory, as_floats
from dashboard.show.text import unit_of

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
    "busy",
)


def fee_table(story: FeeStory) -> pd.DataFrame:
    """Lay the steps out for reading, newest first.

    DataFrame: index range, columns Time (UTC) [datetime], Mean, Lowest, Highest, Median, 90 % up
    to, Usual, Busy above [float64 in the unit that the column names], Busy [str].
    """
    usual, threshold = as_floats(story.usual), as_floats(story.threshold)
    largest = np.nanmax([story.highest, *usual, *threshold])
    wei_per_unit, unit = unit_of(Wei(int(largest)))
    columns: dict[str, object] = {"Time (UTC)": story.first.astype("datetime64[ms]")}
    for name, values in (
        ("Mean", story.means),
        ("Lowest", story.lowests),
        ("Highest", story.highests),
        ("Median", story.medians),
        ("90 % up to", story.tops),
        ("Usual", usual),
        ("Busy above", threshold),
    ):
        columns[f"{name}, {unit}"] = values / wei_per_unit
    columns["Busy"] = np.where(story.is_busy, "busy", "")
    return pd.DataFrame(columns).iloc[::-1].reset_index(drop=True)


def fee_csv(story: FeeStory, network_id: NetworkId) -> str:
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
                story.usual[index],
                story.threshold[index],
                "yes" if story.is_busy[index] else "no",
            )
            for index, step in enumerate(story.steps)
        ),
    )
