"""Several networks in one figure, each in per cent of what is usual there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import numpy as np

from dashboard.application.fees import FeeLines, NetworkLine
from dashboard.domain.csv_tables import write_csv
from dashboard.domain.formatting import span, unit_of
from dashboard.domain.health.coverage import WatchedTime
from dashboard.domain.markup import visible
from dashboard.domain.quantity import WEI_PER_GWEI, Wei
from dashboard.show.charts.fee_chart import hatched
from dashboard.show.charts.figure import (
    HEADROOM,
    LONGEST_NAME,
    USUAL,
    Columns,
    Drawing,
    DrawnFigure,
    PlotlyJson,
    drawn_once,
    level_name,
    on_axis,
    plain_layout,
    plain_name,
    typed,
)
from dashboard.store.fees.series import Floats
from dashboard.store.schema.columns import milliseconds_of, moment_of

HEIGHT: Final = 340
CSV_COLUMNS: Final = ("network_id", "fee", "first_at", "mean_wei", "usual_wei")
_WHOLE: Final = 100.0
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3d9ad6")
"""Okabe and Ito's, which colour-blind eyes tell apart; the yellow darkened to read on white."""

_DASHES: Final = ("solid", "dash", "dot")


def line_look(place: int) -> tuple[str, str]:
    """Return colour and dash of the line of a network."""
    return _COLOURS[place % len(_COLOURS)], _DASHES[place // len(_COLOURS) % len(_DASHES)]


def drawing_of(found: FeeLines) -> Drawing:
    """Return the picture of several fees, drawn once for all who see the same answer."""
    return drawn_once(found, lambda: side_by_side(found))


def side_by_side(found: FeeLines) -> Drawing:
    """Draw each fee in per cent of its usual one, since fees differ by powers of ten."""
    since, until = found.since, found.until
    heights = [per_cent_of_usual(each) for each in found.lines]
    top = HEADROOM * max([_WHOLE, *(float(np.nanmax(each, initial=0.0)) for each in heights)])
    missed = [[milliseconds_of(edge) for edge in each] for each in _unseen(found).missed]
    layout = plain_layout(top, "%", HEIGHT)
    layout["xaxis"]["range"] = [on_axis(since), on_axis(until)]
    layout["annotations"] = [level_name(_WHOLE, USUAL)]
    figure = DrawnFigure(
        [
            *hatched(np.array(missed, np.int64).reshape(-1, 2), top),
            _usual_level(found),
            *map(_line, found.lines, heights),
        ],
        layout,
    )
    names = ", ".join(f"{each.name} ({each.of})" for each in found.lines)
    words = (
        f"Fees from {since:%d %b %Y %H:%M} to {until:%d %b %Y %H:%M} UTC, in per cent of the "
        f"usual fee, of {names}."
    )
    return Drawing(figure, words)


def per_cent_of_usual(line: NetworkLine) -> Floats:
    """Return the height of each step; NaN if the usual fee is zero."""
    usual = float(line.usual) or np.nan
    return line.steps.means / usual * _WHOLE


def _unseen(found: FeeLines) -> WatchedTime:
    """Merge the periods in which a line is missing."""
    edges = [each for line in found.lines for each in line.unseen.tolist()]
    missed = [(moment_of(begins), moment_of(ends)) for begins, ends in edges]
    return WatchedTime.of(found.since, found.until, missed)


def lines_in_words(found: FeeLines, *, is_table: bool = False) -> str:
    """Say what 100% is, and which networks are missing when."""
    mark = "No fee" if is_table else "Hatched: no fee"
    missing = [
        f"{visible(each.name, LONGEST_NAME)} {_missing(each)}"
        for each in found.lines
        if len(each.unseen)
    ]
    early = [visible(each.name, LONGEST_NAME) for each in found.lines if not each.is_usual_known]
    sentences = ["100% is the usual fee at this hour of the day."]
    if early:
        sentences.append(f"For {', '.join(early)}, it is the median of this time.")
    if missing:
        sentences.append(f"{mark} of {', '.join(missing)}.")
    if found.without:
        without = (visible(each, LONGEST_NAME) for each in found.without)
        sentences.append(f"No fees in this time: {', '.join(without)}.")
    return " ".join(sentences)


def _missing(line: NetworkLine) -> str:
    missed = timedelta(milliseconds=int((line.unseen[:, 1] - line.unseen[:, 0]).sum()))
    many = f" in {len(line.unseen)} gaps" if len(line.unseen) > 1 else ""
    return f"for {span(missed)}{many}"


def lines_table(lines: Sequence[NetworkLine]) -> Columns:
    """Return the lines as a table, one after the other."""
    steps = [(each, len(each.steps.first_at)) for each in lines]
    times = np.concatenate([each.steps.first_at for each in lines])
    return {
        "Time (UTC)": times.astype("datetime64[ms]"),
        "Network": [visible(each.name, LONGEST_NAME) for each, many in steps for _ in range(many)],
        "Fee": [str(each.of) for each, many in steps for _ in range(many)],
        "Of usual, %": np.concatenate([per_cent_of_usual(each) for each in lines]),
        "Mean, gwei": np.concatenate([each.steps.means for each in lines]) / WEI_PER_GWEI,
    }


def lines_csv(lines: Sequence[NetworkLine]) -> str:
    """Write the lines as CSV: times in UTC, fees in whole wei."""
    return write_csv(
        CSV_COLUMNS,
        (
            (each.network_id, each.of, moment_of(at).isoformat(), round(mean), each.usual)
            for each in lines
            for at, mean in zip(
                each.steps.first_at.tolist(), each.steps.means.tolist(), strict=True
            )
        ),
    )


def _usual_level(found: FeeLines) -> PlotlyJson:
    ends = np.array([found.since.timestamp(), found.until.timestamp()]) * 1000
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "usual",
        "x": typed(ends),
        "y": typed(np.full(2, _WHOLE)),
        "line": {"color": USUAL.colour, "width": 1.25, "dash": USUAL.dash},
        "hoverinfo": "skip",
    }


def _line(line: NetworkLine, heights: Floats) -> PlotlyJson:
    """Draw the line of a network, broken where its fee is missing."""
    steps, (unit_wei, unit) = line.steps, unit_of(Wei(int(line.steps.means.max())))
    holes = np.searchsorted(steps.first_at, line.unseen[:, 1])
    holes = holes[(holes > 0) & (holes < len(steps))]
    at = np.insert(steps.first_at.astype(np.float64), holes, steps.last_at[holes - 1] + 1.0)
    colour, dash = line_look(line.place)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plain_name(line.name),
        "x": typed(at),
        "y": typed(np.insert(heights, holes, np.nan).astype(np.float32)),
        "customdata": typed(np.insert(steps.means / unit_wei, holes, np.nan).astype(np.float32)),
        "line": {"color": colour, "dash": dash, "width": 1.75},
        "connectgaps": False,
        "hovertemplate": f"%{{y:,.0f}}% of usual, %{{customdata:,.4~r}} {unit}",
    }
