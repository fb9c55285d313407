"""Figures as Plotly's JSON, and what all fee charts share: colours, layout, names of levels.

Figures are drawn as SVG in colours that read on light and on dark: one figure serves every viewer,
and `style.css` sharpens its text for the theme of each.
"""

from __future__ import annotations

from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from dashboard.domain.markup import visible

PlotlyJson: TypeAlias = dict[str, Any]
"""A trace, a layout or an annotation in Plotly's JSON."""

Columns: TypeAlias = dict[str, npt.NDArray[Any] | list[str]]
"""The table that replaces a figure, by the name of each column; NaN is empty."""

_NAMES: Final = {np.dtype(np.float64): "f8", np.dtype(np.float32): "f4"}


class DrawnFigure(Struct, frozen=True):
    """Traces, whose arrays are `typed` already, and a layout, in Plotly's JSON.

    Building and validating a figure of six traces with `plotly.graph_objects` takes some 25 ms,
    twenty times what the page Fees needs to read and draw a year. Tests let Plotly validate.
    """

    traces: Sequence[PlotlyJson]
    layout: Mapping[str, Any]

    def with_layout(self, changes: Mapping[str, Any]) -> DrawnFigure:
        return DrawnFigure(self.traces, {**self.layout, **changes})

    def to_dict(self) -> PlotlyJson:
        return {"data": [dict(trace) for trace in self.traces], "layout": self.layout}


def typed(array: npt.NDArray[np.float64] | npt.NDArray[np.float32]) -> PlotlyJson:
    """Encode an array as its bytes, which browsers use without conversion."""
    sent: PlotlyJson = {
        "dtype": _NAMES[array.dtype],
        "bdata": b64encode(array.tobytes()).decode("ascii"),
    }
    if array.ndim > 1:
        sent["shape"] = ", ".join(map(str, array.shape))
    return sent


def on_axis(at: datetime) -> str:
    """Format a moment for a date axis: text is drawn as it is, a number in the browser's zone."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat()


def with_picture(file_name: str) -> dict[str, Any]:
    """Return the options of a chart that can be saved as a picture, twice as fine as a screen."""
    return {
        "scrollZoom": False,
        "responsive": True,
        "displaylogo": False,
        "displayModeBar": True,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": "png", "filename": file_name, "scale": 2},
    }


_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
LINE: Final = "#14908a"
REJECTED: Final = "#d0453c"
INCIDENT: Final = "#8a63d2"
GAP: Final = "rgba(122,136,148,0.16)"
HATCH: Final = "rgba(122,136,148,0.32)"
_THRESHOLD: Final = "#c9771a"
_QUIET: Final = "#7a8894"
_GRID: Final = "rgba(122,136,148,0.22)"
_CLEAR: Final = "rgba(0,0,0,0)"
HEADROOM: Final = 1.12
RIGHT: Final = 52
"""Room for the names of levels."""

BUTTONS: Final = 30
"""Room for the buttons above a chart that offers itself as a picture."""


class LevelStyle(Struct, frozen=True):
    """How a level is drawn; the lower one's name is below it, so that names never overlap.

    `said` is its name in the label at the pointer.
    """

    name: str
    said: str
    colour: str
    dash: str
    yanchor: str


MEDIAN: Final = LevelStyle("median", "median level", _QUIET, "dot", "top")
USUAL: Final = LevelStyle("usual", "usual level", _QUIET, "dot", "middle")
BUSY: Final = LevelStyle("busy", "busy above", _THRESHOLD, "dash", "bottom")


class Drawing(Struct, frozen=True):
    """A figure, and the words that say the same to someone who cannot see it."""

    figure: DrawnFigure
    words: str


_TIMES: Final = [
    {"dtickrange": [None, 60_000], "value": "%H:%M:%S"},
    {"dtickrange": [60_000, 86_400_000], "value": "%H:%M"},
    {"dtickrange": [86_400_000, "M1"], "value": "%d %b"},
    {"dtickrange": ["M1", "M12"], "value": "%b\n%Y"},
    {"dtickrange": ["M12", None], "value": "%Y"},
]


def plain_layout(top: float, unit: str, height: int) -> dict[str, Any]:
    """Return the layout of all fee charts: a date axis and a fee axis from zero to `top`."""
    return {
        "height": height,
        "margin": {"l": 0, "r": RIGHT, "t": BUTTONS, "b": 0},
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"family": _FONT, "size": 12, "color": _QUIET},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "x unified",
        "modebar": {"bgcolor": _CLEAR, "color": _QUIET, "activecolor": LINE},
        "hoverlabel": {"bgcolor": "#15222c", "font": {"color": "#ffffff"}},
        "uirevision": "steady",
        "xaxis": {
            "type": "date",
            "showgrid": False,
            "hoverformat": "%d %b %Y %H:%M:%S UTC",
            "linecolor": _GRID,
            "automargin": True,
            "nticks": 5,
            "tickangle": 0,
            "tickformatstops": _TIMES,
        },
        "yaxis": {
            "range": [0, top or 1],
            "fixedrange": True,
            "gridcolor": _GRID,
            "zeroline": False,
            "automargin": True,
            "nticks": 5,
            "ticklabelstandoff": 6,
            "ticksuffix": unit if unit == "%" else f" {unit}",
            "tickformat": ",~g",
        },
    }


def level_name(height: float | None, style: LevelStyle) -> dict[str, object]:
    """Return the name of a level in the right margin, where no line can cross it.

    A level that is not drawn, of height None, keeps its place: `style.css` finds names by that.
    """
    return {
        "text": style.name,
        "font": {"color": style.colour, "size": 12},
        "x": 1,
        "xref": "paper",
        "y": height or 0,
        "visible": height is not None,
        "xanchor": "left",
        "xshift": 4,
        "yanchor": style.yanchor,
        "showarrow": False,
    }


LONGEST_NAME: Final = 40


def plain_name(name: str) -> str:
    """Escape a name so that Plotly, which reads some markup and links, shows it literally."""
    return visible(name, LONGEST_NAME).replace("&", "&amp;").replace("<", "&lt;")


_MOST_KEPT: Final = 64
"""How many drawings are cached: one for each answer that somebody may be looking at."""

_kept: OrderedDict[int, tuple[object, Drawing]] = OrderedDict()
_keeping: Final = Lock()


def drawn_once(answer: object, draw: Callable[[], Drawing]) -> Drawing:
    """Return the drawing of an answer; everybody with the same answer shares one drawing.

    An answer is known by its identity, so it is cached with its drawing. If a chart were drawn
    again, it would lose the label at the pointer.
    """
    with _keeping:
        kept = _kept.get(id(answer))
        if kept is not None:
            _kept.move_to_end(id(answer))
            return kept[1]
    drawing = draw()
    with _keeping:
        kept = _kept.setdefault(id(answer), (answer, drawing))
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return kept[1]
