"""Many networks, one row each; and the wall, which shows them large and dark from afar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.application.attention import Attention
from dashboard.application.network_status import NetworkProfile, NetworkStatus
from dashboard.application.overview import DayLine, HourlyRejections, UsualNow, above_usual, lasting
from dashboard.application.text import age, exact_fee, fee, moment, share
from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.fees.spells import difference_in_words
from dashboard.domain.markup import Markup, element, join, plain_label, visible
from dashboard.show.parts.badges import network_badges, severity_kind
from dashboard.show.parts.list_page import open_button
from dashboard.show.parts.pictures import sparkline
from dashboard.show.parts.table import row_cells, row_head

_HEADS: Final = (
    "Network",
    "State, for",
    "Fee now",
    "Against usual",
    "Medium",
    "Congestion",
    "Rejections/h",
    "Age",
)
_LONGEST_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """What one row shows; `hourly` is None where rejections are not asked for."""

    status: NetworkStatus
    usual: UsualNow
    line: DayLine | None
    hourly: HourlyRejections | None


def network_rows_head() -> None:
    """Name the columns."""
    st.html(row_head((*_HEADS, "Fee of 24 h, busy below"), "lw-net"))


def row_markup(row: NetworkRow, now: datetime) -> Markup:
    """Build what a row shows."""
    return join(_cells(row, now), day_picture(row))


def network_row(profile: NetworkProfile, shown: Markup, *, is_open: bool) -> None:
    """Show one row; a click on it, or Enter, opens the chart of its network, or closes it."""
    with st.container(key=f"net-{profile.network_id}", gap=None):
        st.html(shown)
        name = plain_label(profile.name, _LONGEST_NAME)
        open_button(str(profile.network_id), f"the chart of {name}", is_open=is_open)


def day_picture(row: NetworkRow) -> Markup:
    """Draw the last day of a network, or say that not a minute of it is stored yet."""
    if row.line is None or not any(each is not None for each in row.line.fees):
        return element("span", "no full minute yet", class_="lw-quiet")
    what = row.status.figures.signal.capitalize()
    busy = row.line.busy_share
    said = "how busy is not known" if busy is None else f"busy for {share(busy)}"
    return sparkline(row.line, f"{what} of the last 24 h; {said}.")


def _cells(row: NetworkRow, now: datetime) -> Markup:
    figures, name = row.status.figures, row.status.profile.name
    held = lasting(row.status, now)
    state = element(
        "span",
        network_badges(row.status),
        element("small", held) if held else Markup(),
        title=_reason(row.status),
    )
    congestion = figures.network_congestion
    values = (
        element("b", visible(name, _LONGEST_NAME)),
        state,
        _fee_now(row),
        _against_usual(row),
        _medium(row),
        Markup("–") if congestion is None else join(share(congestion.value)),
        _rejections(row.hourly),
        _age(row, now),
    )
    is_stale = figures.base_fee is not None and figures.base_fee.is_stale(now)
    return row_cells(_HEADS, values, f"lw-net{' is-stale' if is_stale else ''}")


def _reason(status: NetworkStatus) -> str:
    """Say what does not answer, and what the activity rests on."""
    silent = status.figures.silent_sources()
    missing = f"No answer from {' and '.join(silent)}. " if silent else ""
    return f"{missing}{status.activity_reason}"


def _fee_now(row: NetworkRow) -> Markup:
    value = row.status.figures.judged_fee
    if value is None:
        return Markup("–")
    number, unit = fee(value)
    of = "" if row.status.figures.signal is Signal.BASE_FEE else " priority"
    return element("span", number, " ", element("small", f"{unit}{of}"), title=exact_fee(value))


def _against_usual(row: NetworkRow) -> Markup:
    difference = above_usual(row.status.figures, row.usual)
    if difference is None or row.usual.fee is None:
        return element("small", "not known")
    usual = " ".join(fee(row.usual.fee.fee))
    words = difference_in_words(difference)
    short = words if words == "as usual" else words.removesuffix(" usual")
    return element("span", short, title=f"Usual at this hour (UTC): {usual}")


def _medium(row: NetworkRow) -> Markup:
    suggested = row.status.figures.suggested
    if suggested is None:
        return Markup("–")
    number, unit = fee(suggested.value.medium.suggested_max_fee_per_gas)
    return join(number, " ", element("small", unit))


def _rejections(hourly: HourlyRejections | None) -> Markup:
    if hourly is None:
        return element("small", "not asked")
    count = element("b", f"{hourly.count:,}") if hourly.count else Markup("0")
    if hourly.watched.is_whole:
        return count
    return join(count, element("small", " or more", title="Not all of the hour was watched."))


def _age(row: NetworkRow, now: datetime) -> Markup:
    polled = row.status.figures.base_fee
    if polled is None:
        return element("small", "never seen")
    stale = "stale, " if polled.is_stale(now) else ""
    return element("span", f"{stale}{age(polled.asked_at, now)}", title=moment(polled.asked_at))


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
            element("span", _counted_rejections(row)),
            element("span", f"{'stale, ' if is_stale else ''}{seen}", class_="lw-end"),
            class_="lw-row",
        ),
        class_=f"lw-wall-tile is-{kind}{' is-old' if is_stale else ''}",
    )


def _counted_rejections(row: NetworkRow) -> str:
    if row.hourly is None:
        return "rejections not asked"
    more = "" if row.hourly.watched.is_whole else " or more"
    return f"{row.hourly.count:,}{more} rejected in 1 h"
