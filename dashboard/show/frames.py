"""Series for charts: typed, thinned to what a screen can show, gaps kept as gaps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd

from dashboard.store.observations import BaseFeePoint

MOST_POINTS: Final = 2_000
"""Points that one line sends to a browser."""


def fee_frame(points: Sequence[BaseFeePoint], longest_step: timedelta) -> pd.DataFrame:
    """Put base fees into a frame in which silence longer than `longest_step` is a gap.

    DataFrame: index time [UTC], columns base_fee [wei, float64; NaN where a gap begins] and
    is_time_estimated [bool]. A float holds every fee below 9,007,199 gwei exactly, and this
    frame is for drawing only.
    """
    times = pd.DatetimeIndex([point.at for point in points], tz="UTC", name="time")
    columns = {
        "base_fee": np.array([point.base_fee for point in points], np.float64),
        "is_time_estimated": np.array([point.is_time_estimated for point in points], np.bool_),
    }
    frame = pd.DataFrame(columns, times.as_unit("ms")).sort_index(kind="stable")
    return _with_gaps(thinned(frame, MOST_POINTS), longest_step)


def thinned(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """Keep the lowest and highest value of each of `most` / 2 equal slices, and both ends.

    No peak is lost, whatever the number of rows.
    """
    if len(frame) <= most:
        return frame
    values = frame["base_fee"].to_numpy()
    edges = np.linspace(0, len(values), max(1, (most - 2) // 2) + 1).astype(np.intp)
    lowest = [low + int(values[low:high].argmin()) for low, high in pairwise(edges.tolist())]
    highest = [low + int(values[low:high].argmax()) for low, high in pairwise(edges.tolist())]
    kept = np.unique(np.array([0, *lowest, *highest, len(values) - 1]))
    return frame.iloc[kept]


def _with_gaps(frame: pd.DataFrame, longest_step: timedelta) -> pd.DataFrame:
    """Add an empty row right after each value that is followed by too long a silence."""
    steps = frame.index.to_series().diff().shift(-1)
    before_silence = frame.index[(steps > _allowed(frame, longest_step)).to_numpy()]
    if before_silence.empty:
        return frame
    nothing = {"base_fee": np.nan, "is_time_estimated": False}
    holes = pd.DataFrame(nothing, before_silence + pd.Timedelta(milliseconds=1))
    return pd.concat([frame, holes]).sort_index(kind="stable")


def _allowed(frame: pd.DataFrame, longest_step: timedelta) -> pd.Timedelta:
    """Return the longest step that is no silence; thinning makes steps longer."""
    length = frame.index[-1] - frame.index[0] if len(frame) else pd.Timedelta(0)
    slice_length = length / (MOST_POINTS / 2) if len(frame) >= MOST_POINTS / 2 else pd.Timedelta(0)
    return max(pd.Timedelta(longest_step), 2 * slice_length)
