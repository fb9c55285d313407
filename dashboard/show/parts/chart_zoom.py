"""The time that a reader chose in a chart by dragging, kept in the address as `from` and `to`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import streamlit as st

from dashboard.errors import WireError
from dashboard.show.parts.chart import Dragging
from dashboard.show.parts.notices import notice
from dashboard.show.time_ranges import Zoom, zoomed
from dashboard.wire.timestamp import format_timestamp, parse_timestamp

FROM: Final = "from"
TO: Final = "to"
_OF_RANGE: Final = "time_range_before"
_FEES: Final = "fees"

_ALL: Final = "all"


def chosen_zoom(time_range: str, now: datetime, page: str = _FEES) -> Zoom | None:
    """Return the time that the address names; None where it names none, or none that is drawn.

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
            "from and to are no time that a chart shows; write them as 2026-11-20T12:00:00Z, at "
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
    """Put what was dragged into the address; none takes it out."""
    if edges is None:
        whole_range()
        return
    zoom_to(dragged(edges, now))


def zoom_to(zoom: Zoom | None) -> None:
    """Put a time into the address; where there is none, leave it as it is."""
    if zoom is not None:
        st.query_params.update(
            {FROM: format_timestamp(zoom.since), TO: format_timestamp(zoom.until)}
        )


def dragged(edges: Sequence[Any], now: datetime) -> Zoom | None:
    """Read the edges of what was dragged, as Plotly writes moments, to the second."""
    try:
        since, until = (
            datetime.fromisoformat(str(each)).replace(tzinfo=UTC, microsecond=0) for each in edges
        )
    except ValueError:
        return None
    return zoomed(since, until, now)
