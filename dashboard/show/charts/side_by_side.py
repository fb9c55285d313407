"""Several networks in one figure, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import numpy as np

from dashboard.application.fees import FeeLines, NetworkLine
from dashboard.domain.markup import visible
from dashboard.domain.quantity import WEI_PER_GWEI
from dashboard.domain.tables import write_csv
from dashboard.show.charts.figure import (
    BUTTONS,
    LONGEST_NAME,
    Columns,
    Drawing,
    DrawnFigure,
    PlotlyJson,
    drawn_once,
    plain_layout,
    plain_name,
    typed,
)
from dashboard.store.schema.columns import moment_of

HEIGHT: Final = 400
CSV_COLUMNS: Final = ("network_id", "fee", "first_at", "mean_wei")
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3d9ad6")
"""Okabe and Ito's, which colour-blind eyes tell apart; the yellow darkened to read on white."""

_DASHES: Final = ("solid", "dash", "dot")


def line_look(place: int) -> tuple[str, str]:
    """Return colour and dash of the line of a network."""
    return _COLOURS[place % len(_COLOURS)], _DASHES[place // len(_COLOURS) % len(_DASHES)]


def drawing_of(found: FeeLines) -> Drawing:
    """Return the picture of several fees, drawn once for all who see the same answer."""
    return drawn_once(found, lambda: side_by_side(found.lines, found.since, found.until))


def side_by_side(lines: Sequence[NetworkLine], since: datetime, until: datetime) -> Drawing:
    """Draw networks on one logarithmic axis in gwei, since their fees differ by powers of ten.

    A fee of zero has no place there and is left out.
    """
    layout = plain_layout(1.0, "gwei", HEIGHT)
    layout["xaxis"]["range"] = [since.timestamp() * 1000, until.timestamp() * 1000]
    del layout["yaxis"]["range"]  # a range of null breaks each redraw: Plotly would keep one there
    layout["yaxis"] |= {"type": "log", "tickformat": ",.4~r", "nticks": 8}
    layout["margin"] = {"l": 0, "r": 8, "t": BUTTONS, "b": 0}
    figure = DrawnFigure([_line(each) for each in lines], layout)
    names = ", ".join(f"{each.name} ({each.of})" for each in lines)
    words = f"Fees from {since:%d %b %Y %H:%M} to {until:%d %b %Y %H:%M} UTC of {names}."
    return Drawing(figure, words)


def lines_table(lines: Sequence[NetworkLine]) -> Columns:
    """Lay the lines out for reading, one after the other."""
    steps = [(each, len(each.steps.first_at)) for each in lines]
    times = np.concatenate([each.steps.first_at for each in lines])
    return {
        "Time (UTC)": times.astype("datetime64[ms]"),
        "Network": [visible(each.name, LONGEST_NAME) for each, many in steps for _ in range(many)],
        "Fee": [str(each.of) for each, many in steps for _ in range(many)],
        "Mean, gwei": np.concatenate([each.steps.means for each in lines]) / WEI_PER_GWEI,
    }


def lines_csv(lines: Sequence[NetworkLine]) -> str:
    """Write the lines as CSV: times in UTC, fees in whole wei."""
    return write_csv(
        CSV_COLUMNS,
        (
            (each.network_id, each.of, moment_of(at).isoformat(), round(mean))
            for each in lines
            for at, mean in zip(
                each.steps.first_at.tolist(), each.steps.means.tolist(), strict=True
            )
        ),
    )


def _line(line: NetworkLine) -> PlotlyJson:
    fees = np.where(line.steps.means > 0, line.steps.means, np.nan) / WEI_PER_GWEI
    colour, dash = line_look(line.place)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain_name(line.name),
        "x": typed(line.steps.first_at.astype(np.float64)),
        "y": typed(fees.astype(np.float32)),
        "line": {"color": colour, "dash": dash, "width": 1.75},
        "hovertemplate": "%{y:,.4~r} gwei",
    }
