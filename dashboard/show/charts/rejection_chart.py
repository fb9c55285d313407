"""Rejections over time and by how far they went over, also as CSV; the colour of each module."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb
from datetime import datetime, timedelta
from functools import cache
from typing import Final
from zlib import crc32

import numpy as np

from dashboard.application.rejection_timeline import NO_MODULE, RANGES, Overruns, SplitBy, Timeline
from dashboard.domain.csv_tables import write_csv
from dashboard.domain.rejections.reasons import KNOWN_MODULES
from dashboard.show.charts.figure import (
    BUTTONS,
    GAP,
    HATCH,
    HEADROOM,
    LINE,
    Drawing,
    DrawnFigure,
    PlotlyJson,
    on_axis,
    plain_layout,
    plain_name,
    typed,
)

HEIGHT: Final = 300
OVERRUN_HEIGHT: Final = 220
MOST_GROUPS: Final = 5
"""How many groups have a colour of their own; the rest share one."""

_COLOURS: Final = ("#14908a", "#c77d26", "#7a5cc4", "#3b82c4", "#c4568a")
_REST: Final = "#87959f"
_NOTHING: Final = "#5d6b77"
_FEW: Final = 5
_PART: Final = 0.88
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)


def timeline_drawing(timeline: Timeline, words: str) -> Drawing:
    """Draw a period in steps, each a bar that stacks its groups; unwatched time is hatched.

    The axis ends where steps do, so that a chart stays as it is until something arrives.
    """
    groups = folded(timeline)
    top = max((sum(each) for each in zip(*(of for _, of in groups), strict=True)), default=0)
    layout = plain_layout(top * HEADROOM, "", HEIGHT)
    begins, step = timeline.window.begins, timeline.window.step
    layout["xaxis"] |= {
        "range": [on_axis(begins[0]), on_axis(begins[-1] + step)],
        "hoverformat": "from %d %b %H:%M:%S UTC" if step < _MINUTE else "from %d %b %H:%M UTC",
    }
    layout["yaxis"] |= _whole_numbers(top)
    layout |= {
        "barmode": "stack",
        "margin": {"l": 0, "r": 0, "t": BUTTONS, "b": 0},
        "yaxis2": {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
    }
    layout["shapes"] = [_end_of_limits(at) for _, at in timeline.ends]
    traces = [_unwatched(timeline)] if timeline.unwatched else []
    traces += [_bars(timeline, number, *each) for number, each in enumerate(groups)]
    return Drawing(DrawnFigure(traces, layout), words)


def _end_of_limits(at: datetime) -> PlotlyJson:
    """Draw a line where line limits ended, over the whole height."""
    line = {"color": _REST, "width": 2, "dash": "dot"}
    x, whole = on_axis(at), {"yref": "paper", "y0": 0, "y1": 1}
    return {"type": "line", "x0": x, "x1": x, **whole, "line": line}


def folded(timeline: Timeline) -> list[tuple[str, tuple[int, ...]]]:
    """Return the groups with a colour of their own, and the rest as one, before "no module"."""
    named = [each for each in timeline.groups if each[0] != NO_MODULE]
    without = [each for each in timeline.groups if each[0] == NO_MODULE]
    shown, rest = named[:MOST_GROUPS], named[MOST_GROUPS:]
    if len(rest) == 1:
        shown, rest = named[: MOST_GROUPS + 1], []
    if rest:
        summed = tuple(map(sum, zip(*(of for _, of in rest), strict=True)))
        shown = [*shown, (f"{len(rest)} others", summed)]
    return [*shown, *without]


def _bars(timeline: Timeline, number: int, name: str, counts: Sequence[int]) -> PlotlyJson:
    drawn = np.array([float(each) or np.nan for each in counts], dtype=np.float32)
    return _steps(timeline) | {
        "name": plain_name(name),
        "y": typed(drawn),
        "marker": {"color": _colour(timeline, number, name), "line": {"width": 0}},
        "hovertemplate": "%{y:,}",
    }


def _colour(timeline: Timeline, number: int, name: str) -> str:
    if name == NO_MODULE:
        return _NOTHING
    if timeline.split is SplitBy.MODULE and " " not in name:  # others are counted in words
        return module_colour(name)
    return _COLOURS[number] if number < MOST_GROUPS else _REST


def timeline_legend(timeline: Timeline) -> list[tuple[str, str, int]]:
    """Return the name, colour and count of each group that is drawn."""
    return [
        (name, _colour(timeline, number, name), sum(counts))
        for number, (name, counts) in enumerate(folded(timeline))
    ]


def _steps(timeline: Timeline) -> PlotlyJson:
    step = timeline.window.step / _SECOND * 1000
    return {
        "type": "bar",
        "x": [on_axis(each) for each in timeline.window.begins],
        "width": step * _PART,
        "offset": step * (1 - _PART) / 2,
    }


def _unwatched(timeline: Timeline) -> PlotlyJson:
    """Hatch unwatched time, behind the bars, over the whole height."""
    missed = [1.0 if each in timeline.unwatched else np.nan for each in timeline.window.begins]
    step = timeline.window.step / _SECOND * 1000
    return _steps(timeline) | {
        "name": "not watched",
        "y": typed(np.array(missed, dtype=np.float32)),
        "yaxis": "y2",
        "width": step,
        "offset": 0,
        "marker": {
            "color": GAP,
            "line": {"width": 0},
            "pattern": {"shape": "/", "size": 7, "fgcolor": HATCH, "fillmode": "overlay"},
        },
        "hovertemplate": "or more<extra>not watched</extra>",
    }


def timeline_rows(timeline: Timeline) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and rows of the steps in which something arrived, the latest first."""
    groups = folded(timeline)
    columns = ("From (UTC)", *(name for name, _ in groups))
    style = "%d %b %Y %H:%M:%S" if timeline.window.step < _MINUTE else "%d %b %Y %H:%M"
    rows = [
        (f"{begins:{style}}", *(f"{of[number]:,}" for _, of in groups))
        for number, begins in enumerate(timeline.window.begins)
        if any(of[number] for _, of in groups)
    ]
    return columns, rows[::-1]


def timeline_csv(timeline: Timeline) -> str:
    """Write each step and group as CSV, oldest first; `watched` is `no` if there may be more."""
    return write_csv(
        ("from", "watched", timeline.split.lower(), "rejections"),
        (
            (begins.isoformat(), "no" if begins in timeline.unwatched else "yes", name, of[number])
            for number, begins in enumerate(timeline.window.begins)
            for name, of in timeline.groups
        ),
    )


def overrun_drawing(overruns: Overruns) -> Drawing:
    """Draw how many went over their limit by how far."""
    layout = plain_layout(max(overruns.counts) * HEADROOM, "", OVERRUN_HEIGHT)
    layout["yaxis"] |= _whole_numbers(max(overruns.counts))
    shown = range(len(RANGES))[: None if overruns.counts[-1] else -1]
    layout["xaxis"] = {
        "showgrid": False,
        "fixedrange": True,
        "automargin": True,
        "tickangle": 0,
        "tickvals": list(shown),
        "ticktext": [RANGES[each].replace("to ", "≤").rstrip("×") for each in shown],  # for phones
    }
    layout |= {"margin": {"l": 0, "r": 0, "t": BUTTONS, "b": 0}, "hovermode": "closest"}
    trace: PlotlyJson = {
        "type": "bar",
        "x": [RANGES[each] for each in shown],
        "y": [overruns.counts[each] for each in shown],
        "marker": {"color": LINE},
        "hovertemplate": "%{x}: %{y:,}<extra></extra>",
    }
    parts = ", ".join(f"{RANGES[each]}: {overruns.counts[each]:,}" for each in shown)
    return Drawing(DrawnFigure([trace], layout), f"Lines needed divided by lines allowed. {parts}.")


def overrun_csv(overruns: Overruns) -> str:
    """Write the ranges as CSV, the smallest overrun first."""
    return write_csv(("overrun", "rejections"), zip(RANGES, overruns.counts, strict=True))


def _whole_numbers(top: int) -> PlotlyJson:
    return {"ticksuffix": "", "tickformat": ",d", "fixedrange": True} | (
        {"dtick": 1, "nticks": 0} if top <= _FEW else {}
    )


_TURN: Final = 0.381966
"""The part of a circle of hues between one module and the next, so that each is far from the
others."""

_BRIGHTNESS: Final = (0.17, 0.24)
"""Luminance of the colours of modules: at least 3:1 on white and on the dark panel."""

_SATURATION: Final = 0.62
_PALER: Final = 0.34
"""Saturation of unknown modules, so that none looks like a known one."""

_LINEAR_BELOW: Final = 0.04045


@cache
def module_colour(module: str) -> str:
    """Return the colour of a prover module, which follows from its name: everywhere the same.

    Known modules are far apart from each other; the colour of others is a hash of the name.
    """
    is_known = module in KNOWN_MODULES
    place = (
        KNOWN_MODULES.index(module) if is_known else crc32(module.encode("utf-8", "replace")) % 997
    )
    saturation = _SATURATION if is_known else _PALER
    hue, wanted = place * _TURN % 1, _BRIGHTNESS[place % len(_BRIGHTNESS)]
    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        is_dark = _luminance(hls_to_rgb(hue, middle, saturation)) < wanted
        low, high = (middle, high) if is_dark else (low, middle)
    return "#" + "".join(f"{round(each * 255):02x}" for each in hls_to_rgb(hue, low, saturation))


def _luminance(parts: Sequence[float]) -> float:
    """Return the relative luminance of red, green and blue (0 to 1), as WCAG defines it."""
    linear = (c / 12.92 if c <= _LINEAR_BELOW else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return sum(share * each for share, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
