"""A chart that is redrawn in its place, the time chosen in it by dragging, and its lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import streamlit as st
from msgspec import Struct
from streamlit.components.v2.types import ComponentRenderer

from dashboard.application.network_status import NetworkStatus
from dashboard.application.time_ranges import Zoom, zoomed
from dashboard.domain.markup import plain_label
from dashboard.errors import WireError
from dashboard.show.charts.figure import Drawing, with_picture
from dashboard.show.charts.side_by_side import line_look
from dashboard.show.parts.notices import notice
from dashboard.wire.decoding import format_timestamp, parse_timestamp

_SCRIPT: Final = Path(__file__).parents[1] / "chart.js"
_DRAGGED: Final = "zoomed"
_CLICKED: Final = "clicked"


class Dragging(Struct, frozen=True):
    """What dragging along a chart does, and a click on a bar of it.

    `shown` names the time that the chart shows. `chosen` gets the edges of the dragged time, as
    Plotly writes moments, or None after a double click, which shows all of it again. `clicked` gets
    the number of a bar; None if a click does nothing.
    """

    shown: str
    chosen: Callable[[Any], None]
    clicked: Callable[[int], None] | None = None


def chart(
    drawing: Drawing, key: str, height: int, file_name: str, dragging: Dragging | None = None
) -> None:
    """Show a chart with a button that saves it as a picture of that name.

    Streamlit's own element makes a new chart of each new figure.
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
        "zooms": dragging is not None,
        "clicks": dragging is not None and dragging.clicked is not None,
    }

    def dragged() -> None:
        if dragging is not None:
            dragging.chosen(st.session_state[key][_DRAGGED])

    def clicked() -> None:
        if dragging is not None and dragging.clicked is not None:
            dragging.clicked(int(st.session_state[key][_CLICKED]))

    _component()(
        key=key,
        data=json.dumps(sent).encode(),
        height=height,
        on_zoomed_change=dragged,
        on_clicked_change=clicked,
    )


@cache
def _component() -> ComponentRenderer:
    """Return what mounts the component. Its script is sent along and runs from a blob address."""
    script = _SCRIPT.read_text(encoding="utf-8")
    return st.components.v2.component("linewatch.chart", js=script, isolate_styles=False)


FROM: Final = "from"
TO: Final = "to"
_OF_RANGE: Final = "time_range_before"
_FEES: Final = "fees"

_ALL: Final = "all"


def chosen_zoom(time_range: str, now: datetime, page: str = _FEES) -> Zoom | None:
    """Return the time in the address; None if there is none, or one that is not drawn.

    Choosing another time range on that page ends it.
    """
    key = f"{_OF_RANGE}_{page}"
    before = st.session_state.get(key)
    st.session_state[key] = time_range
    if before not in {None, time_range}:
        whole_range()
    since, until = st.query_params.get(FROM), st.query_params.get(TO)
    if since is None and until is None:
        return None
    try:
        zoom = zoomed(parse_timestamp(since or ""), parse_timestamp(until or ""), now)
    except WireError:
        zoom = None
    if zoom is None:
        notice(
            "busy",
            "Part of the address was ignored:",
            "from and to are not a time range; write them as 2026-11-20T12:00:00Z, at "
            "least 20 seconds apart.",
        )
    return zoom


def whole_range() -> None:
    """Show the time range that is chosen again, instead of a part of it."""
    for name in (FROM, TO):
        st.query_params.pop(name, None)


def dragging(zoom: Zoom | None, now: datetime) -> Dragging:
    """Return what dragging along a chart does: the time goes into the address."""
    shown = _ALL if zoom is None else zoom.name
    return Dragging(shown, lambda edges: _put_into_address(edges, now))


def unzoom_button(zoom: Zoom | None, time_range: str) -> None:
    """Offer to show all of a time range again, while a part of it is shown."""
    if zoom is not None:
        st.button(f"Back to the last {time_range}", key="unzoom", on_click=whole_range)


def _put_into_address(edges: Sequence[Any] | None, now: datetime) -> None:
    """Put the dragged time into the address; None takes it out."""
    if edges is None:
        whole_range()
        return
    zoom_to(dragged(edges, now))


def zoom_to(zoom: Zoom | None) -> None:
    """Put a time into the address; without one, leave it as it is."""
    if zoom is not None:
        st.query_params.update(
            {FROM: format_timestamp(zoom.since), TO: format_timestamp(zoom.until)}
        )


def dragged(edges: Sequence[Any], now: datetime) -> Zoom | None:
    """Read the edges of a dragged time, as Plotly writes moments, to the second."""
    try:
        since, until = (
            datetime.fromisoformat(str(each)).replace(tzinfo=UTC, microsecond=0) for each in edges
        )
    except ValueError:
        return None
    return zoomed(since, until, now)


BESIDE: Final = "beside"
"""The parameter of the address that names the networks that are drawn, by their ids."""

_KEY: Final = "lines-drawn"
_LONGEST_NAME: Final = 40
_FEW: Final = 4
_STROKES: Final = {"solid": "━━", "dash": "╍╍", "dot": "┅┅"}


def chosen_lines(
    statuses: Sequence[NetworkStatus], first: Sequence[NetworkStatus]
) -> list[NetworkStatus]:
    """Offer to draw some of the networks, at first a few; this is the legend as well."""
    by_id = {str(each.profile.network_id): each for each in statuses}
    places = {each: number for number, each in enumerate(by_id)}
    named = [each for each in st.query_params.get_all(BESIDE) if each in by_id]
    wanted = named or [str(each.profile.network_id) for each in first[:_FEW]]

    def label(network_id: str) -> str:
        colour, dash = line_look(places[network_id])
        name = plain_label(by_id[network_id].profile.name, _LONGEST_NAME)
        return f':color[{_STROKES[dash]}]{{foreground="{colour}"}} {name}'

    chosen = st.pills(
        "Networks drawn",
        list(by_id),
        selection_mode="multi",
        default=wanted,
        format_func=label,
        key=_KEY,
        on_change=_keep,
        label_visibility="collapsed",
        wrap=True,
    )
    return [each for network_id, each in by_id.items() if network_id in chosen]


def _keep() -> None:
    chosen = st.session_state[_KEY]
    if chosen:
        st.query_params[BESIDE] = list(chosen)
    else:
        st.query_params.pop(BESIDE, None)
