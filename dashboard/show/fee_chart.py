"""The figure of the Fees page: a fee with its levels through time, busy times and gaps shaded.

Levels are drawn as they were, not as they are now. `style.css` gives each part the colour that
reads on the viewer's theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from dashboard.domain.quantity import Wei
from dashboard.show.charts import (
    BUSY,
    GAP,
    HEADROOM,
    LINE,
    MEDIAN,
    Drawing,
    LevelLook,
    level_name,
    plain_layout,
)
from dashboard.show.fee_steps import FeeStory, Stretch
from dashboard.show.text import fee, unit_of

Floats: TypeAlias = npt.NDArray[np.float64]

_HEIGHT: Final = 340
_INSTANT: Final = 1.0
_BAND: Final = "rgba(20,144,138,0.20)"
_BUSY_SHADE: Final = "rgba(201,119,26,0.16)"


def fee_drawing(story: FeeStory, since: datetime, network: str, of: str = "Base fee") -> Drawing:
    """Draw a fee from `since` on, and describe it."""
    lowest, highest = (" ".join(fee(edge)) for edge in (story.lowest, story.highest))
    values = f"always {lowest}" if story.is_flat else f"between {lowest} and {highest}"
    words = (
        f"{of} of {network} from {since:%d %b %Y %H:%M} to {story.until:%d %b %Y %H:%M} UTC, "
        f"{values}."
    )
    return Drawing(fee_figure(story, since), words)


def fee_figure(story: FeeStory, since: datetime) -> go.Figure:
    """Draw shades, band, levels and line, in this order; the line lies on top.

    Times go out as typed milliseconds since 1970, fees as typed floats in the unit that fits.
    """
    known = [level for level in (*story.usual, *story.threshold) if level is not None]
    largest = Wei(max([story.highest, *known]))
    wei_per_unit, unit = unit_of(largest)
    top = largest / wei_per_unit * HEADROOM or 1.0
    figure = go.Figure(
        [
            _shade(story.gaps(), top, GAP, "/"),
            _shade(story.busy_stretches(), top, _BUSY_SHADE, ""),
            _band(story, wei_per_unit),
            _level(story, story.usual, MEDIAN, wei_per_unit),
            _level(story, story.threshold, BUSY, wei_per_unit),
            _line(story, wei_per_unit, unit),
        ]
    )
    figure.update_layout(plain_layout(top, unit, _HEIGHT))
    figure.update_xaxes(range=[since.timestamp() * 1000, story.until.timestamp() * 1000])
    for levels, look in ((story.usual, MEDIAN), (story.threshold, BUSY)):
        if levels[-1] is not None:
            figure.add_annotation(level_name(levels[-1] / wei_per_unit, look))
    return figure


def _line(story: FeeStory, wei_per_unit: int, unit: str) -> go.Scatter:
    """Draw each step's mean until the next step; a gap follows its last value at once."""
    x, rows = _broken(story)
    means = np.array([*(step.mean for step in story.steps), np.nan]) / wei_per_unit
    edges = np.array([*((step.lowest, step.highest) for step in story.steps), (np.nan, np.nan)])
    has_band = any(step.lowest != step.highest for step in story.steps)
    between = f"<br>%{{customdata[0]:,.6~f}} to %{{customdata[1]:,.6~f}} {unit}" if has_band else ""
    return go.Scatter(
        x=x,
        y=means[rows],
        customdata=edges[rows] / wei_per_unit if has_band else None,
        mode="lines",
        line={"color": LINE, "width": 1.75, "shape": "hv"},
        connectgaps=False,
        hovertemplate=(
            f"%{{x|%d %b %Y %H:%M:%S}} UTC<br>%{{y:,.9~f}} {unit}{between}<extra></extra>"
        ),
    )


def _broken(story: FeeStory) -> tuple[Floats, list[int]]:
    """Return times and the number of the step at each; -1 where a gap or the end follows."""
    times: list[float] = []
    rows: list[int] = []
    for index, step in enumerate(story.steps):
        times.append(_milliseconds(step.first_at))
        rows.append(index)
        ends, following = story.end_of(index), index + 1
        if following == len(story.steps) or ends < story.steps[following].first_at:
            times += [_milliseconds(ends), _milliseconds(ends) + _INSTANT]
            rows += [index, -1]
    return np.array(times), rows


def _band(story: FeeStory, wei_per_unit: int) -> go.Scatter:
    """Fill the room between the lowest and the highest value of each step, one part per stretch."""
    x, rows = _broken(story)
    ends = [-1, *(place for place, row in enumerate(rows) if row < 0)]
    outline_x: list[Floats] = []
    outline_y: list[Floats] = []
    for before, end in pairwise(ends):
        part = rows[before + 1 : end]
        low = np.array([story.steps[row].lowest for row in part], np.float64)
        high = np.array([story.steps[row].highest for row in part], np.float64)
        times = x[before + 1 : end]
        outline_x += [times, times[::-1], np.array([np.nan])]
        outline_y += [high, low[::-1], np.array([np.nan])]
    y = (np.concatenate(outline_y) / wei_per_unit).astype(np.float32)
    return _filled(np.concatenate(outline_x), y, _BAND, "")


def _shade(stretches: Sequence[Stretch], top: float, colour: str, pattern: str) -> go.Scatter:
    """Fill stretches of time over the whole height."""
    x = [
        at
        for begins, ends in stretches
        for at in (*(2 * [_milliseconds(begins)]), *(2 * [_milliseconds(ends)]), np.nan)
    ]
    y = [0.0, top, top, 0.0, np.nan] * len(stretches)
    return _filled(np.array(x), np.array(y, np.float32), colour, pattern)


def _filled(x: Floats, y: npt.NDArray[np.float32], colour: str, pattern: str) -> go.Scatter:
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=colour,
        fillpattern={"shape": pattern, "size": 7, "fgopacity": 0.5},
        hoverinfo="skip",
    )


def _level(
    story: FeeStory, levels: Sequence[Wei | None], look: LevelLook, wei_per_unit: int
) -> go.Scatter:
    """Draw a level as it was: where it changed, and to the end."""
    kept = [
        index
        for index, level in enumerate(levels)
        if index == 0 or level != levels[index - 1] or index + 1 == len(levels)
    ]
    values = [np.nan if (level := levels[index]) is None else level for index in kept]
    times = [_milliseconds(story.steps[index].first_at) for index in kept]
    if kept:
        times, values = [*times, _milliseconds(story.until)], [*values, values[-1]]
    return go.Scatter(
        x=np.array(times),
        y=np.array(values, np.float64) / wei_per_unit,
        mode="lines",
        line={"color": look.colour, "width": 1.25, "dash": look.dash, "shape": "hv"},
        hoverinfo="skip",
    )


def _milliseconds(at: datetime) -> float:
    return at.timestamp() * 1000
