"""The chart of one network's fee, on Fees, Overview and incidents, and its values as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from dashboard.application.fee_timeline import NO_MARKS, Booleans, Counts, FeeMarks, FeeTimeline
from dashboard.application.fees import FeeView
from dashboard.domain.formatting import fee, share, unit_of
from dashboard.show.charts.figure import (
    BUSY,
    GAP,
    HATCH,
    HEADROOM,
    INCIDENT,
    LINE,
    MEDIAN,
    REJECTED,
    Columns,
    Drawing,
    DrawnFigure,
    LevelStyle,
    PlotlyJson,
    drawn_once,
    level_name,
    on_axis,
    plain_layout,
    typed,
)
from dashboard.store.fees.histograms import Integers
from dashboard.store.fees.series import Floats

HEIGHT: Final = 340
_FOOT: Final = 0.035
_TICK: Final = {
    "symbol": "line-ns-open",
    "size": 12,
    "color": REJECTED,
    "line": {"color": REJECTED, "width": 2},
}
_HEAD: Final = 0.96
_FLAG: Final = {"symbol": "triangle-down", "size": 10, "color": INCIDENT}
_INSTANT: Final = 1
_LEVEL_POINTS: Final = 200
"""How many points of a constant level the pointer can read."""

_COLOURS: Final = {
    "gaps": GAP,
    "busy": "rgba(201,119,26,0.16)",
    "lowest to highest": "rgba(20,144,138,0.16)",
    "median to 90th percentile": "rgba(20,144,138,0.30)",
}
_HATCHED: Final = {"shape": "/", "size": 7, "fgcolor": HATCH, "fgopacity": 1}


def drawing_of(view: FeeView) -> Drawing:
    """Return the picture of a view, drawn once for all who see the same view."""
    return drawn_once(view, lambda: fee_drawing(view.timeline, view.title, view.marks))


def fee_drawing(timeline: FeeTimeline, of: str, marks: FeeMarks = NO_MARKS) -> Drawing:
    """Draw a fee with the events of its period, and describe it."""
    lowest, highest = (" ".join(fee(edge)) for edge in (timeline.lowest, timeline.highest))
    values = f"always {lowest}" if timeline.is_flat else f"between {lowest} and {highest}"
    since, until = timeline.since, timeline.until
    words = f"{of} from {since:%d %b %Y %H:%M} to {until:%d %b %Y %H:%M} UTC, {values}."
    for counts, name in ((marks.arrivals, "Rejections"), (marks.incidents, "Incidents")):
        if counts:
            words += f" {name} meanwhile: {sum(many for _, many in counts):,}."
    return Drawing(fee_figure(timeline, marks), words)


def fee_figure(timeline: FeeTimeline, marks: FeeMarks = NO_MARKS) -> DrawnFigure:
    """Draw marks, shades, bands, levels and line, in this order; the line is on top.

    Times are sent as typed milliseconds since 1970, fees as typed floats in the unit that fits.
    """
    wei_per_unit, unit = unit_of(timeline.largest)
    top = timeline.largest / wei_per_unit * HEADROOM or 1.0
    levels = [
        (each if each is not None and timeline.can_be_read(each) else None, style)
        for each, style in ((timeline.usual, MEDIAN), (timeline.threshold, BUSY))
    ]
    traces = [
        *_marks("rejections", marks.arrivals, top * _FOOT, _TICK),
        *_marks("incidents", marks.incidents, top * _HEAD, _FLAG),
        *hatched(timeline.unseen_edges, top),
        *_busy_shade(timeline, top),
        *_bands(timeline, wei_per_unit),
        *(_level(timeline, each, style, wei_per_unit) for each, style in levels),
        _line(timeline, wei_per_unit, unit),
    ]
    layout = plain_layout(top, unit, HEIGHT)
    layout["xaxis"]["range"] = [on_axis(timeline.since), on_axis(timeline.until)]
    layout["annotations"] = [
        level_name(None if each is None else int(each[-1]) / wei_per_unit, style)
        for each, style in levels
    ]
    return DrawnFigure(traces, layout)


def _line(timeline: FeeTimeline, wei_per_unit: int, unit: str) -> PlotlyJson:
    """Draw each step's mean until the next step; a gap begins right after its last value."""
    times, rows = _points_and_holes(timeline)
    hover_lines = [f"%{{y:,.4~r}} {unit}"]
    beside: list[Integers] = []
    if timeline.has_band:
        hover_lines.append(f"%{{customdata[0]:,.4~r}} to %{{customdata[1]:,.4~r}} {unit}")
        beside += [timeline.steps.lowest, timeline.steps.highest]
    if timeline.holds_many:
        hover_lines.append(
            f"median %{{customdata[2]:,.4~r}}, 90th percentile %{{customdata[3]:,.4~r}} {unit}"
        )
        beside += [timeline.steps.medians, timeline.steps.p90s]
    trace = _lines("fee", times, _values_at(rows, timeline.steps.means) / wei_per_unit) | {
        "line": {"color": LINE, "width": 1.75, "shape": "hv"},
        "connectgaps": False,
        "hovertemplate": f"{'<br>'.join(hover_lines)}<extra></extra>",
    }
    if beside:
        columns = np.stack([_values_at(rows, each) for each in beside], axis=1)
        trace["customdata"] = typed((columns / wei_per_unit).astype(np.float32))
    return trace


def _bands(timeline: FeeTimeline, wei_per_unit: int) -> Iterator[PlotlyJson]:
    """Fill the area from lowest to highest, and from median to 90th percentile."""
    steps, (times, rows, is_back) = timeline.steps, _band_outline(timeline)

    def band(name: str, low: Integers, high: Integers) -> PlotlyJson:
        y = np.where(is_back, _values_at(rows, low), _values_at(rows, high)) / wei_per_unit
        return _filled(name, times, y)

    if timeline.has_band:
        yield band("lowest to highest", steps.lowest, steps.highest)
    if timeline.holds_many:
        yield band("median to 90th percentile", steps.medians, steps.p90s)


def _band_outline(timeline: FeeTimeline) -> tuple[Floats, Integers, Booleans]:
    """Return the outline of a band: each part between gaps forwards and back, then a hole.

    Times, numbers of steps, and whether the outline goes back there.
    """
    times, rows = _points_and_holes(timeline)
    parts = np.split(np.arange(len(rows)), np.flatnonzero(rows < 0) + 1)[:-1]
    there_and_back = [np.concatenate([part[:-1], part[-2::-1], part[-1:]]) for part in parts]
    lengths = [len(part) - 1 for part in parts]
    is_back = [np.repeat([False, True, False], [length, length, 1]) for length in lengths]
    places = np.concatenate(there_and_back)
    return times[places], rows[places], np.concatenate(is_back)


def _points_and_holes(timeline: FeeTimeline) -> tuple[Floats, Integers]:
    """Return times and the number of the step at each; -1 for a hole, after a gap or the end."""
    breaks = ~timeline.is_followed
    breaks[-1] = True
    rows = np.repeat(np.arange(len(breaks)), np.where(breaks, 3, 1))
    times = timeline.steps.first_at[rows].astype(np.float64)
    holes = np.flatnonzero(breaks[rows])[2::3]
    times[holes - 1] = timeline.ends[breaks]
    times[holes] = timeline.ends[breaks] + _INSTANT
    rows[holes] = -1
    return times, rows


def _values_at(rows: Integers, values: Integers | Floats) -> Floats:
    """Return the value of the step at each row; NaN in a hole."""
    return np.append(values, np.nan)[rows]


def _marks(name: str, counted: Counts, height: float, marker: PlotlyJson) -> Iterator[PlotlyJson]:
    """Mark events, in a row at one height."""
    if counted:
        times = np.array([at.timestamp() * 1000 for at, _ in counted])
        counts = np.array([many for _, many in counted], np.float64)
        yield {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": typed(times),
            "y": typed(np.full(len(times), height, np.float32)),
            "customdata": typed(counts),
            "marker": marker,
            "hovertemplate": f"{name}: %{{customdata:,d}}<extra></extra>",
        }


def hatched(edges: Integers, top: float) -> Iterator[PlotlyJson]:
    """Hatch periods without a fee over the whole height, if there are any."""
    if len(edges):
        x = edges[:, [0, 0, 1, 1, 1]].astype(np.float64)
        y = np.tile([0.0, top, top, 0.0, np.nan], len(edges))
        yield _filled("gaps", x.ravel(), y)


def _busy_shade(timeline: FeeTimeline, top: float) -> Iterator[PlotlyJson]:
    """Shade each step as high as its busy share: over the whole height if all of it was busy.

    Shares are rounded to per cent, which is finer than a screen shows.
    """
    parts = np.nan_to_num(timeline.busy_parts).round(2)
    if not parts.any():
        return
    edges = np.stack([timeline.steps.first_at, timeline.ends], axis=1).ravel()
    heights = np.stack([parts * top, np.zeros_like(parts)], axis=1).ravel()
    is_last = np.append(np.diff(edges) > 0, True)  # of several at one time
    edges, heights = edges[is_last], heights[is_last]
    changes = np.append(True, np.abs(np.diff(heights)) > 0)
    yield _filled("busy", edges[changes].astype(np.float64), heights[changes]) | {
        "line": {"width": 0, "shape": "hv"},
        "fill": "tozeroy",
    }


def _filled(name: str, x: Floats, y: Floats) -> PlotlyJson:
    return _lines(name, x, y.astype(np.float32)) | {
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": _COLOURS[name],
        "fillpattern": _HATCHED if name == "gaps" else {"shape": ""},
        "hoverinfo": "skip",
    }


def _level(
    timeline: FeeTimeline, level: Integers | None, style: LevelStyle, wei_per_unit: int
) -> PlotlyJson:
    """Draw a level over time: where it changed, at even distances for the pointer, at the end.

    While it is not known there is a hole.
    """
    heights = np.full(len(timeline.steps), np.nan) if level is None else level
    changes = np.append(True, np.abs(np.diff(heights)) > 0)
    changes[:: -(-len(changes) // _LEVEL_POINTS)] = True
    changes[-1] = True
    x = np.append(timeline.steps.first_at[changes], timeline.until.timestamp() * 1000)
    y = np.append(heights[changes], heights[-1])
    return _lines(f"{style.name} level", x, y / wei_per_unit) | {
        "line": {"color": style.colour, "width": 1.25, "dash": style.dash, "shape": "hv"},
        "hovertemplate": f"{style.said} %{{y:,.4~r}}<extra></extra>",
    }


def _lines(name: str, x: Floats, y: Floats | npt.NDArray[np.float32]) -> PlotlyJson:
    return {"type": "scatter", "mode": "lines", "name": name, "x": typed(x), "y": typed(y)}


def fee_table(timeline: FeeTimeline) -> Columns:
    """Return the steps as a table, newest first; a column names its unit."""
    steps, wei_per_unit, unit = timeline.steps, *unit_of(timeline.largest)
    columns: Columns = {"Time (UTC)": steps.first_at.astype("datetime64[ms]")}
    for name, values in (
        ("Mean", steps.means),
        ("Lowest", steps.lowest),
        ("Highest", steps.highest),
        ("Median", steps.medians),
        ("90th percentile", steps.p90s),
        ("Median level", timeline.usual),
        ("Busy above", timeline.threshold),
    ):
        columns[f"{name}, {unit}"] = (
            np.full(len(steps.means), np.nan) if values is None else values / wei_per_unit
        )
    columns["Busy"] = [
        "" if np.isnan(part) else share(part) for part in timeline.busy_parts.tolist()
    ]
    return {name: each[::-1] for name, each in columns.items()}
