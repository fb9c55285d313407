"""The wall: a tile for each network, large enough to be read from across the room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.application.attention import Attention
from dashboard.application.overview import above_usual, lasting
from dashboard.application.text import moment
from dashboard.domain.fees.spells import difference_in_words
from dashboard.domain.markup import Markup, element, join
from dashboard.show.parts.badges import network_badges, severity_kind
from dashboard.show.parts.network_rows import NetworkRow, age_markup, day_picture, fee_markup

WALL: Final = "wall"
"""The parameter of the address that shows the wall: `?wall=1`."""


def wall(
    rows: Sequence[NetworkRow], needed: Sequence[Attention], summary: str, now: datetime
) -> None:
    """Show a tile for each network, in the order given, and what needs attention above."""
    said = needed[0].headline.removesuffix(":") if needed else "Nothing needs attention now."
    urgency = f"lw-wall-{severity_kind(needed[0].severity)}" if needed else None
    more = len(needed) - 1
    others = element("a", f"{more:,} more", href=".", target="_self")
    rest = join(" · ", others) if more > 0 else ""
    head = element(
        "header",
        element("h1", summary),
        element("p", said, rest, class_=urgency),
        element("p", moment(now), class_="lw-end"),
    )
    tiles = element("div", *map(_tile, rows), class_="lw-wall-tiles")
    st.html(element("div", head, tiles, class_="lw-wall"))


def _tile(row: NetworkRow) -> Markup:
    """Build what a row shows, large: the same cells in another order."""
    status = row.status
    difference = above_usual(status.figures, row.usual)
    kind = "failing" if status.figures.failures else status.activity.name.lower()
    return element(
        "section",
        element(
            "div",
            element("h2", status.profile.name),
            network_badges(status),
            element("span", lasting(status, row.now)),
            class_="lw-card-head",
        ),
        element("p", fee_markup(row), class_="lw-wall-fee"),
        element("p", "" if difference is None else difference_in_words(difference)),
        day_picture(row),
        element(
            "p",
            element("span", _counted_rejections(row)),
            element("span", age_markup(row), class_="lw-end"),
            class_="lw-row",
        ),
        class_=f"lw-wall-tile is-{kind}{' is-old' if row.is_stale else ''}",
    )


def _counted_rejections(row: NetworkRow) -> str:
    if row.hourly is None:
        return "rejections not asked"
    if row.hourly.ended_at is not None and not row.hourly.count:
        return "no line limits"
    more = "" if row.hourly.watched.is_whole else " or more"
    return f"{row.hourly.count:,}{more} rejected in 1 h"
