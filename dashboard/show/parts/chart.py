"""A chart that is redrawn in its place: the label at the pointer and the zoom survive a refresh."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.components.v2.types import ComponentRenderer

from dashboard.show.charts.figure import Drawing, with_picture

_COMPONENT: Final = ComponentConfig("chart", "assets")
_MANIFEST: Final = ComponentManifest("linewatch", "1", [_COMPONENT])
_NAME: Final = f"{_MANIFEST.name}.{_COMPONENT.name}"
_ROOT: Final = Path(__file__).parents[1]
_LIBRARIES: Final = Path(st.__file__).parent / "static" / "static" / "js"
_DRAGGED: Final = "zoomed"


@dataclass(frozen=True, slots=True)
class Dragging:
    """What dragging along a chart does.

    `shown` names the time that the chart shows. `chosen` gets the edges of what was dragged, as
    Plotly writes moments, or None after a double click, which asks for all of it again.
    """

    shown: str
    chosen: Callable[[Any], None]


def chart(
    drawing: Drawing, key: str, height: int, file_name: str, dragging: Dragging | None = None
) -> None:
    """Show a chart with a button that saves it as a picture of that name.

    Streamlit's own `st.plotly_chart` makes a new chart of each new figure.
    """
    figure, config = drawing.figure, with_picture(file_name)
    if dragging is not None:
        figure = figure.with_layout({"dragmode": "zoom", "uirevision": dragging.shown})
        config |= {"doubleClick": False}
    sent = {
        "figure": figure.to_dict(),
        "config": config,
        "height": height,
        "words": drawing.words,
        "library": _library(),
        "zooms": dragging is not None,
    }

    def tell() -> None:
        if dragging is not None:
            dragging.chosen(st.session_state[key][_DRAGGED])

    _component()(key=key, data=json.dumps(sent).encode(), height=height, on_zoomed_change=tell)


def _component() -> ComponentRenderer:
    """Return what mounts the component, which every server of pages has to know."""
    known = get_bidi_component_manager()
    if known.get_component_asset_root(_NAME) is None:
        known.register_from_manifest(_MANIFEST, _ROOT)
    return _renderer()


@cache
def _renderer() -> ComponentRenderer:
    return st.components.v2.component(_NAME, js="chart.js", isolate_styles=False)


@cache
def _library() -> str:
    """Return the name of the file in which Streamlit brings Plotly; it changes with its content."""
    return next(_LIBRARIES.glob("PlotlyChart.*.js")).name
