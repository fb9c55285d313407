"""Many networks, one row each: state, fees beside what is usual, a day's line, rejections, age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.domain.busy_context import difference_in_words
from dashboard.domain.foreign_text import visible
from dashboard.domain.grounds import Signal
from dashboard.show.parts.badges import network_badges
from dashboard.show.parts.markup import Markup, element, join, plain_label
from dashboard.show.parts.open_row import open_button
from dashboard.show.parts.sparkline import sparkline
from dashboard.show.parts.table import row_cells, row_head
from dashboard.show.queries.attention import lasting
from dashboard.show.queries.network_status import NetworkProfile, NetworkStatus
from dashboard.show.queries.overview import (
    DayLine,
    HourlyRejections,
    UsualNow,
    above_usual,
)
from dashboard.show.text import age, exact_fee, fee, moment, share

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
