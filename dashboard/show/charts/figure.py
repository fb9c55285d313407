"""Figures that are their own JSON: typed arrays, and nothing for Plotly to look at twice.

Building and validating a figure of six traces with `plotly.graph_objects` takes some 25 ms, which
is twenty times what the page Fees needs for reading and drawing a year. Tests let Plotly validate.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from plotly.basedatatypes import BaseFigure

Part: TypeAlias = dict[str, Any]
"""A trace, a layout or an annotation, in the words of Plotly's JSON."""

_NAMES: Final = {np.dtype(np.float64): "f8", np.dtype(np.float32): "f4"}


class DrawnFigure(BaseFigure):  # type: ignore[misc] # Plotly has no types
    """What Streamlit takes for a figure of Plotly; all that it asks of one is its JSON."""

    def __init__(self, traces: Sequence[Part], layout: Mapping[str, Any]) -> None:
        """Take parts whose arrays are `typed` already; nothing is validated."""
        self._traces = traces
        self._plain_layout = layout

    def to_dict(self) -> Part:
        """Return the figure as Plotly's JSON has it."""
        return {"data": [dict(trace) for trace in self._traces], "layout": self._plain_layout}


def typed(array: npt.NDArray[np.float64] | npt.NDArray[np.float32]) -> Part:
    """Write an array as the bytes it consists of, which browsers take as they are."""
    sent: Part = {"dtype": _NAMES[array.dtype], "bdata": b64encode(array.tobytes()).decode("ascii")}
    if array.ndim > 1:
        sent["shape"] = ", ".join(map(str, array.shape))
    return sent
