"""Readiness for the first visitor: what is slow to import is imported before anyone waits."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import Final

_SLOW: Final = (
    "pandas",
    "pyarrow",
    "plotly.graph_objects",
    "plotly.io",
    "dashboard.show.views.alerts",
    "dashboard.show.views.fees",
    "dashboard.show.views.health",
    "dashboard.show.views.lookup",
    "dashboard.show.views.overview",
    "dashboard.show.views.rejections",
    "dashboard.show.views.settings",
    "dashboard.show.views.tracked",
)
_UNCOLLECTED: Final = 5_000
"""Objects allocated, less those freed, before Python collects the youngest ones; 700 usually."""


def warm_up() -> None:
    """Import what pages need, exempt all of it from garbage collection, and collect seldom.

    Call it once, in the lifespan, before the first page is served. Frozen objects cost a
    collection nothing, and Streamlit's own collection after each run is off in its settings. A
    collection of all generations looks at every open page, while no other is answered.
    """
    for name in _SLOW:
        import_module(name)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_UNCOLLECTED, 10, 10)  # more would keep hundreds of closed pages
