"""The figures behind a chart: as a table for a page, and as CSV with every digit."""

from __future__ import annotations

from typing import Final

import pandas as pd

from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.spreadsheet import write_csv
from dashboard.show.fee_steps import FeeStory
from dashboard.show.text import unit_of

CSV_COLUMNS: Final = (
    "network_id",
    "first_at",
    "last_at",
    "lowest_wei",
    "highest_wei",
    "mean_wei",
    "values",
    "values_with_estimated_time",
    "base_fee_percentile_wei",
    "busy_threshold_wei",
    "busy",
)


def fee_table(story: FeeStory) -> pd.DataFrame:
    """Lay the steps out for reading, newest first.

    DataFrame: index range, columns Time (UTC) [datetime], Mean, Lowest, Highest, Median,
    Busy above [float64 in the unit that the column names], Busy [str].
    """
    largest = max(
        [story.highest, *(level for level in (*story.usual, *story.threshold) if level is not None)]
    )
    wei_per_unit, unit = unit_of(Wei(largest))

    def scaled(values: list[float]) -> list[float]:
        return [value / wei_per_unit for value in values]

    columns = {
        "Time (UTC)": pd.DatetimeIndex([step.first_at for step in story.steps]).tz_localize(None),
        f"Mean, {unit}": scaled([step.mean for step in story.steps]),
        f"Lowest, {unit}": scaled([step.lowest for step in story.steps]),
        f"Highest, {unit}": scaled([step.highest for step in story.steps]),
        f"Median, {unit}": scaled([_or_nan(level) for level in story.usual]),
        f"Busy above, {unit}": scaled([_or_nan(level) for level in story.threshold]),
        "Busy": ["busy" if story.is_busy(i) else "" for i in range(len(story.steps))],
    }
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
                step.values,
                step.estimated,
                story.usual[index],
                story.threshold[index],
                "yes" if story.is_busy(index) else "no",
            )
            for index, step in enumerate(story.steps)
        ),
    )


def _or_nan(level: Wei | None) -> float:
    return float("nan") if level is None else float(level)
