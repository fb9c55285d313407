"""Series for charts: typed, thinned to what a screen can show, gaps kept as gaps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from dashboard.store.observations import BaseFeePoint

MOST_POINTS: Final = 2_000
"""Points that one line sends to a browser."""

_INSTANT: Final = np.timedelta64(1, "ms")
_THINNED_STEPS: Final = 4


def fee_frame(
    points: Sequence[BaseFeePoint], longest_step: timedelta, until: datetime
) -> pd.DataFrame:
    """Put base fees into a frame in which silence longer than `longest_step` is a gap.

    DataFrame: index time [UTC], columns base_fee [wei, float64; NaN where a gap begins, also the
    one that lasts until `until`] and is_time_estimated [bool]. A float holds every fee below
    9,007,199 gwei exactly, and this frame is for drawing only.
    """
    times = pd.DatetimeIndex([point.at for point in points], tz="UTC", name="time")
    columns = {
        "base_fee": np.array([point.base_fee for point in points], np.float64),
        "is_time_estimated": np.array([point.is_time_estimated for point in points], np.bool_),
    }
    frame = pd.DataFrame(columns, times.as_unit("ms")).sort_index(kind="stable")
    return _with_gaps(thinned(frame, MOST_POINTS), longest_step, until)


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


def _with_gaps(frame: pd.DataFrame, longest_step: timedelta, until: datetime) -> pd.DataFrame:
    """Add an empty row right after each value that is followed by too long a silence."""
    times = frame.index.to_numpy("datetime64[ms]")
    ends = np.append(times[1:], np.datetime64(until.replace(tzinfo=None), "ms"))
    is_silent = ends - times > _allowed(times, longest_step)
    if not is_silent.any():
        return frame
    holes = pd.DataFrame(
        {"base_fee": np.nan, "is_time_estimated": False},
        pd.DatetimeIndex(times[is_silent] + _INSTANT, tz="UTC", name=frame.index.name),
    )
    return pd.concat([frame, holes]).sort_index(kind="stable")


def _allowed(times: npt.NDArray[np.datetime64], longest_step: timedelta) -> np.timedelta64:
    """Return the longest step that is no silence; thinning makes steps longer."""
    longest = np.timedelta64(longest_step, "ms")
    if len(times) < MOST_POINTS / 2:
        return longest
    return max(longest, (times[-1] - times[0]) / len(times) * _THINNED_STEPS)
