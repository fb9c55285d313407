"""The wall: every network large and dark, without controls, to be read from across the room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.domain.busy_context import difference_in_words
from dashboard.show.parts.badges import network_badges, severity_kind
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.network_rows import NetworkRow, day_picture
from dashboard.show.queries.attention import Attention, lasting
from dashboard.show.queries.overview import above_usual
from dashboard.show.text import age, fee, moment

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
    tiles = element("div", *(_tile(each, now) for each in rows), class_="lw-wall-tiles")
    st.html(element("div", head, tiles, class_="lw-wall"))


def _tile(row: NetworkRow, now: datetime) -> Markup:
    status, figures = row.status, row.status.figures
    value, polled = figures.judged_fee, figures.base_fee
    number, unit = ("–", "") if value is None else fee(value)
    difference = above_usual(figures, row.usual)
    usual = "" if difference is None else difference_in_words(difference)
    is_stale = polled is not None and polled.is_stale(now)
    kind = "failing" if figures.failures else status.activity.name.lower()
    seen = "never seen" if polled is None else age(polled.asked_at, now)
    return element(
        "section",
        element(
            "div",
            element("h2", status.profile.name),
            network_badges(status),
            element("span", lasting(status, now)),
            class_="lw-card-head",
        ),
        element("p", number, " ", element("small", unit), class_="lw-wall-fee"),
        element("p", usual),
        day_picture(row),
        element(
            "p",
            element("span", _rejections(row)),
            element("span", f"{'stale, ' if is_stale else ''}{seen}", class_="lw-end"),
            class_="lw-row",
        ),
        class_=f"lw-wall-tile is-{kind}{' is-old' if is_stale else ''}",
    )


def _rejections(row: NetworkRow) -> str:
    if row.hourly is None:
        return "rejections not asked"
    more = "" if row.hourly.watched.is_whole else " or more"
    return f"{row.hourly.count:,}{more} rejected in 1 h"
