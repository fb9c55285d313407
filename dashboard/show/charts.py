"""Figures, drawn as SVG in colours that read on light and on dark.

One figure serves every viewer; `style.css` sharpens its text and lines for the theme of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.domain.quantity import Wei
from dashboard.show.figure import DrawnFigure, Part, typed
from dashboard.show.text import fee, unit_of

CONFIG: Final = {"displayModeBar": False, "scrollZoom": False, "responsive": True}
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
LINE: Final = "#14908a"
GAP: Final = "rgba(122,136,148,0.16)"
_THRESHOLD: Final = "#c9771a"
_QUIET: Final = "#7a8894"
_GRID: Final = "rgba(122,136,148,0.22)"
_CLEAR: Final = "rgba(0,0,0,0)"
_HEIGHT: Final = 210
HEADROOM: Final = 1.12
_MOST_GAPS: Final = 50


@dataclass(frozen=True, slots=True)
class FeeLevels:
    """The two levels that a base-fee chart compares with; None where not known."""

    base_fee_percentile: Wei | None = None
    busy_threshold: Wei | None = None


@dataclass(frozen=True, slots=True)
class LevelLook:
    """How a level is drawn; the lower one's name hangs below it, so that names never meet."""

    name: str
    colour: str
    dash: str
    yanchor: str


MEDIAN: Final = LevelLook("median", _QUIET, "dot", "top")
BUSY: Final = LevelLook("busy", _THRESHOLD, "dash", "bottom")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure, the words that say the same to someone who cannot see it, and a caveat.

    `caveat` is empty where every time in the figure is exact.
    """

    figure: DrawnFigure
    words: str
    caveat: str = ""


def base_fee_drawing(
    frame: pd.DataFrame, levels: FeeLevels, network: str, until: datetime
) -> Drawing:
    """Draw the base fees of a network up to a moment, and describe them."""
    lowest, highest = (
        " ".join(fee(Wei(int(edge)))) for edge in (frame["base_fee"].min(), frame["base_fee"].max())
    )
    words = (
        f"Base fee of {network} from {frame.index[0]:%d %b %H:%M} to {until:%d %b %H:%M} UTC, "
        f"between {lowest} and {highest}."
    )
    if levels.busy_threshold is not None:
        words += f" Busy above {' '.join(fee(levels.busy_threshold))}."
    return Drawing(base_fee_figure(frame, levels, until), words, _caveat(frame))


def _caveat(frame: pd.DataFrame) -> str:
    estimated = frame.index[frame["is_time_estimated"]]
    if estimated.empty:
        return ""
    return (
        f"From {estimated[0]:%H:%M} to {estimated[-1]:%H:%M} UTC some values come from the base "
        "fee history, which names no block times: their times are estimated."
    )


def base_fee_figure(frame: pd.DataFrame, levels: FeeLevels, until: datetime) -> DrawnFigure:
    """Draw base fees as steps (each holds until the next) with percentile and threshold.

    `frame` is a `fee_frame`; gaps in it stay gaps, and so does the silence until `until`. Times
    go out as typed milliseconds since 1970, fees as typed floats in the unit that fits the largest.
    """
    known = [level for level in (levels.base_fee_percentile, levels.busy_threshold) if level]
    largest = Wei(max([int(frame["base_fee"].max()), *known]))
    wei_per_unit, unit = unit_of(largest)
    layout = plain_layout(largest / wei_per_unit * HEADROOM, unit)
    last = until.timestamp() * 1000
    layout["xaxis"]["range"] = [float(_milliseconds(frame)[0]), last]
    drawn = [
        (level / wei_per_unit, look)
        for level, look in ((levels.base_fee_percentile, MEDIAN), (levels.busy_threshold, BUSY))
        if level is not None
    ]
    layout["shapes"] = [
        *(_gap(begins, ends) for begins, ends in _gaps(frame, last)),
        *(_level_line(height, look) for height, look in drawn),
    ]
    layout["annotations"] = [level_name(height, look) for height, look in drawn]
    return DrawnFigure([_trace(frame, wei_per_unit, unit)], layout)


def _trace(frame: pd.DataFrame, wei_per_unit: int, unit: str) -> Part:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": typed(_milliseconds(frame)),
        "y": typed(frame["base_fee"].to_numpy() / wei_per_unit),
        "line": {"color": LINE, "width": 1.75, "shape": "hv"},
        "connectgaps": False,
        "hovertemplate": f"%{{x|%d %b %H:%M:%S}} UTC<br>%{{y:,.9~f}} {unit}<extra></extra>",
    }


def plain_layout(top: float, unit: str, height: int = _HEIGHT) -> dict[str, Any]:
    """Return what all fee charts share: a date axis, a fee axis from zero to `top`, no frills."""
    return {
        "height": height,
        "margin": {"l": 0, "r": 52, "t": 8, "b": 0},
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"family": _FONT, "size": 12, "color": _QUIET},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "x",
        "hoverlabel": {"bgcolor": "#15222c", "font": {"color": "#ffffff"}},
        "uirevision": "steady",
        "xaxis": {
            "type": "date",
            "showgrid": False,
            "linecolor": _GRID,
            "automargin": True,
            "nticks": 5,
            "tickangle": 0,
            "tickformatstops": [
                {"dtickrange": [None, 60_000], "value": "%H:%M:%S"},
                {"dtickrange": [60_000, 86_400_000], "value": "%H:%M"},
                {"dtickrange": [86_400_000, "M1"], "value": "%d %b"},
                {"dtickrange": ["M1", "M12"], "value": "%b\n%Y"},
                {"dtickrange": ["M12", None], "value": "%Y"},
            ],
        },
        "yaxis": {
            "range": [0, top or 1],
            "gridcolor": _GRID,
            "zeroline": False,
            "automargin": True,
            "nticks": 5,
            "ticklabelstandoff": 6,
            "ticksuffix": f" {unit}",
            "tickformat": ",~g",
        },
    }


def _gaps(frame: pd.DataFrame, ends: float) -> list[tuple[float, float]]:
    """Return where nothing was seen, as milliseconds since 1970, the latest gaps first."""
    times = [*_milliseconds(frame).tolist(), ends]
    holes = np.flatnonzero(frame["base_fee"].isna().to_numpy())[::-1][:_MOST_GAPS]
    return [(times[hole], times[hole + 1]) for hole in holes.tolist()]


def _milliseconds(frame: pd.DataFrame) -> npt.NDArray[np.float64]:
    """Return the times of a frame as milliseconds since 1970, which Plotly takes for dates."""
    return frame.index.to_numpy("datetime64[ms]").astype(np.float64)


def _gap(begins: float, ends: float) -> Part:
    """Return the shade of a silence, over the whole height."""
    sides = {"x0": begins, "x1": ends, "y0": 0, "y1": 1, "yref": "y domain"}
    return sides | {"type": "rect", "fillcolor": GAP, "line": {"width": 0}, "layer": "below"}


def _level_line(height: float, look: LevelLook) -> Part:
    """Return the line of a level, over the whole width."""
    ends = {"x0": 0, "x1": 1, "xref": "x domain", "y0": height, "y1": height}
    line = {"color": look.colour, "width": 1.25, "dash": look.dash}
    return ends | {"type": "line", "line": line}


def level_name(height: float, look: LevelLook) -> dict[str, object]:
    """Return the name of a level in the right margin, where no line can run through it."""
    return {
        "text": look.name,
        "font": {"color": look.colour, "size": 12},
        "x": 1,
        "xref": "paper",
        "y": height,
        "xanchor": "left",
        "xshift": 4,
        "yanchor": look.yanchor,
        "showarrow": False,
    }
