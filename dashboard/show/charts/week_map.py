"""A fee by weekday and hour: as a heat map, as a table, and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from dashboard.domain.csv_tables import write_csv
from dashboard.domain.fees.cheap_hours import CHEAP_LENGTH, WEEKDAYS, UsualWeek
from dashboard.domain.formatting import fee, unit_of
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.show.charts.figure import (
    BUTTONS,
    LINE,
    REJECTED,
    Columns,
    Drawing,
    DrawnFigure,
    PlotlyJson,
    plain_layout,
    typed,
)

HEIGHT: Final = 300
CSV_COLUMNS: Final = ("network_id", "time_zone", "weekday", "begins_at", "median_wei")

_HOURS: Final = 24
_ABOVE: Final = -0.72
_CELL: Final = 0.5
_GAP: Final = 2
_LEGEND: Final = 240
_BELOW: Final = 56
"""Pixels below the cells, for their hours and the legend: Plotly reserves too little."""


def week_drawing(week: UsualWeek, of: str, zone_name: str, now: tuple[int, int]) -> Drawing:
    """Draw a week with some known hours, and describe it; `now` are weekday and hour.

    Dark blue is cheap and yellow dear in Cividis, which looks the same to colour-blind eyes and in
    grey. A red frame is around now, a line above the cheapest hours.
    """
    values, unit = _values(week)
    known = [
        (each, f"{WEEKDAYS[weekday]} {_hour(week, hour)}")
        for weekday, row in enumerate(week.fees)
        for hour, each in enumerate(row)
        if each is not None
    ]
    ends = (f"{' '.join(fee(each))} ({when})" for each, when in (min(known), max(known)))
    words = (
        f"{of} by weekday and hour in {zone_name}, median of {week.days} days: from "
        f"{' to '.join(ends)}."
    )
    layout = plain_layout(1.0, unit, HEIGHT)
    return Drawing(DrawnFigure([_cells(week, values, unit)], layout | _axes(week, now)), words)


def _cells(week: UsualWeek, values: npt.NDArray[np.float64], unit: str) -> PlotlyJson:
    begins = [_hour(week, hour) for hour in range(_HOURS + 1)]
    spells = [f"{begins[hour]} to {begins[hour + 1]}" for hour in range(_HOURS)]
    return {
        "type": "heatmap",
        "name": "usual fee",
        "z": typed(values),
        "x": list(range(_HOURS)),
        "y": list(range(len(WEEKDAYS))),
        "customdata": [[f"{day} {spell}" for spell in spells] for day in WEEKDAYS],
        "colorscale": "Cividis",
        "hoverongaps": False,
        "xgap": _GAP,
        "ygap": _GAP,
        "hovertemplate": f"%{{customdata}}<br>%{{z:,.4~r}} {unit}<extra></extra>",
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "lenmode": "pixels",
            "len": _LEGEND,
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 0.03,
            "yanchor": "bottom",
            "ypad": 0,
            "nticks": 3,
            "tickangle": 0,
            "ticksuffix": f" {unit}",
            "showticksuffix": "last",
            "tickformat": ",.4~r",
            "outlinewidth": 0,
        },
    }


def _axes(week: UsualWeek, now: tuple[int, int]) -> PlotlyJson:
    hours = list(range(0, _HOURS, 3))
    plain = {"showgrid": False, "zeroline": False, "fixedrange": True, "automargin": True}
    return {
        "hovermode": "closest",
        "margin": {"l": 0, "r": 0, "t": BUTTONS, "b": _BELOW},
        "shapes": [_frame(now), *_cheapest(week)],
        "xaxis": plain
        | {
            "range": [-_CELL, _HOURS - _CELL],
            "tickvals": hours,
            "ticktext": [_hour(week, each).removesuffix(":00") for each in hours],
            "tickangle": 0,
        },
        "yaxis": plain
        | {
            "range": [len(WEEKDAYS) - _CELL, _ABOVE - 0.1],
            "tickvals": list(range(len(WEEKDAYS))),
            "ticktext": list(WEEKDAYS),
        },
    }


def _frame(now: tuple[int, int]) -> PlotlyJson:
    weekday, hour = now
    return {
        "type": "rect",
        "x0": hour - _CELL,
        "x1": hour + _CELL,
        "y0": weekday - _CELL,
        "y1": weekday + _CELL,
        "line": {"color": REJECTED, "width": 2},
    }


def _cheapest(week: UsualWeek) -> Iterator[PlotlyJson]:
    """Draw a line above the cheapest hours; across midnight it has two parts."""
    if week.cheapest is None or not week.cheapest.is_clear:
        return
    begins = week.cheapest.hour
    ends = begins + CHEAP_LENGTH
    parts = [(begins, min(ends, _HOURS)), (0, ends - _HOURS)]
    for since, until in parts:
        if until > since:
            yield {
                "type": "line",
                "x0": since - _CELL,
                "x1": until - _CELL,
                "y0": _ABOVE,
                "y1": _ABOVE,
                "line": {"color": LINE, "width": 4},
            }


def week_table(week: UsualWeek) -> Columns:
    """Return the week as a table.

    Hour, then one column for each weekday in the unit that its name says.
    """
    values, unit = _values(week)
    columns: Columns = {"Hour": [_hour(week, hour) for hour in range(_HOURS)]}
    for weekday, row in zip(WEEKDAYS, values, strict=True):
        columns[f"{weekday}, {unit}"] = row
    return columns


def week_csv(week: UsualWeek, network_id: NetworkId, zone_name: str) -> str:
    """Write the week as CSV, in whole wei; unknown hours are left out."""
    return write_csv(
        CSV_COLUMNS,
        (
            (network_id, zone_name, WEEKDAYS[weekday], _hour(week, hour), each)
            for weekday, row in enumerate(week.fees)
            for hour, each in enumerate(row)
            if each is not None
        ),
    )


def _values(week: UsualWeek) -> tuple[npt.NDArray[np.float64], str]:
    """Return the fees in the unit that fits, and its name; NaN for unknown ones."""
    fees = np.array(
        [[np.nan if each is None else each for each in row] for row in week.fees], np.float64
    )
    wei_per_unit, unit = unit_of(Wei(int(np.nanmax(fees))))
    return fees / wei_per_unit, unit


def _hour(week: UsualWeek, hour: int) -> str:
    return f"{hour % _HOURS:02}:{week.minute:02}"
