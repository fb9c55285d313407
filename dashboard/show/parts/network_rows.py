"""Many networks: one row each on Overview, and a tile each on the wall."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import NetworkProfile, NetworkStatus
from dashboard.application.overview import DayLine, HourlyRejections, UsualNow, above_usual, lasting
from dashboard.application.text import age, exact_fee
from dashboard.domain.alerts.condition import Signal
from dashboard.domain.fees.cheap_hours import UsualWeek
from dashboard.domain.fees.spells import difference_in_words
from dashboard.domain.formatting import fee, moment, share
from dashboard.domain.markup import Markup, element, join, plain_label, visible
from dashboard.show.parts.badges import network_badges, severity_sign
from dashboard.show.parts.list_page import open_button
from dashboard.show.parts.pictures import sparkline
from dashboard.show.parts.table import list_head, list_row

_LONGEST_NAME: Final = 60


class NetworkRow(Struct, frozen=True):
    """What is shown of one network among others; None for what is not asked for."""

    status: NetworkStatus
    usual: UsualNow
    now: datetime
    line: DayLine | None = None
    hourly: HourlyRejections | None = None
    week: UsualWeek | None = None
    severity: str = ""

    @property
    def name(self) -> str:
        """The name, as Markdown shows it."""
        return plain_label(self.status.profile.name, _LONGEST_NAME)

    @property
    def is_stale(self) -> bool:
        """Whether the fee is too old to be the present one."""
        polled = self.status.figures.base_fee
        return polled is not None and polled.is_stale(self.now)


def network_rows_head() -> None:
    st.html(list_head(_NOW, "lw-net", "Fee of 24 h, busy below"))


def row_markup(row: NetworkRow, severity: str = "") -> Markup:
    """Build what a row shows; `severity` is that of the worst that needs attention there."""
    cells = list_row(_NOW, replace(row, severity=severity), f"lw-net{stale_class(row)}")
    return join(cells, day_picture(row))


def stale_class(row: NetworkRow) -> str:
    """Return the class that greys out a row with an old fee."""
    return " is-stale" if row.is_stale else ""


def network_row(profile: NetworkProfile, shown: Markup, *, is_open: bool) -> None:
    """Show one row; a click on it, or Enter, opens the chart of its network, or closes it."""
    with st.container(key=f"net-{profile.network_id}", gap=None):
        st.html(shown)
        name = plain_label(profile.name, _LONGEST_NAME)
        open_button(str(profile.network_id), f"the chart of {name}", is_open=is_open)


def day_picture(row: NetworkRow) -> Markup:
    """Draw the last day of a network, or say that no minute of it is stored yet."""
    if row.line is None or not any(each is not None for each in row.line.fees):
        return element("span", "no full minute yet", class_="lw-quiet")
    what = row.status.figures.signal.capitalize()
    busy = row.line.busy_share
    said = "how busy is not known" if busy is None else f"busy for {share(busy)}"
    return sparkline(row.line, f"{what} of the last 24 h; {said}.")


def _name(row: NetworkRow) -> Markup:
    """Name a network, after the icon of its severity."""
    sign = severity_sign(row.severity) if row.severity else Markup()
    mark = element("span", sign, class_="lw-net-sign")
    return join(mark, element("b", visible(row.status.profile.name, _LONGEST_NAME)))


def _state(row: NetworkRow) -> Markup:
    held = lasting(row.status, row.now)
    return element(
        "span",
        network_badges(row.status),
        element("small", held) if held else Markup(),
        title=_reason(row.status),
    )


def _reason(status: NetworkStatus) -> str:
    """Say what does not answer, and what the activity is based on."""
    silent = status.figures.failing_sources()
    missing = f"No answer from {' and '.join(silent)}. " if silent else ""
    return f"{missing}{status.activity_reason}"


def _fee_now(row: NetworkRow) -> Markup:
    return fee_markup(row, "" if row.status.figures.signal is Signal.BASE_FEE else " priority")


def fee_markup(row: NetworkRow, of: str = "") -> Markup:
    """Show the fee that is judged, with its unit and `of` which kind it is; exact on hover."""
    value = row.status.figures.judged_fee
    if value is None:
        return Markup("–")
    number, unit = fee(value)
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


def _rejections(row: NetworkRow) -> Markup:
    hourly = row.hourly
    if hourly is None:
        return element("small", "–", title="No exclusion endpoint is configured.", class_="lw-none")
    count = element("b", f"{hourly.count:,}") if hourly.count else Markup("0")
    if hourly.ended_at is not None and not hourly.count:
        return element(
            "small", "no limits", title=f"No line limits since {moment(hourly.ended_at)}."
        )
    if hourly.watched.is_whole:
        return count
    more = " or more" if hourly.count else ", with gaps"
    return join(count, element("small", more, title="Not all of the hour was watched."))


def _congestion(row: NetworkRow) -> str:
    congestion = row.status.figures.network_congestion
    return "–" if congestion is None else share(congestion.value)


def age_markup(row: NetworkRow) -> Markup:
    polled = row.status.figures.base_fee
    if polled is None:
        return element("small", "never seen")
    stale = "stale, " if row.is_stale else ""
    return element("span", f"{stale}{age(polled.asked_at, row.now)}", title=moment(polled.asked_at))


FEE_NOW: Final = Column("Fee now", _fee_now, is_number=True)
AGAINST_USUAL: Final = Column("Against usual", _against_usual, is_number=True)
_NOW: Final[Listing[NetworkRow]] = Listing(
    "networks",
    (
        Column("Network", _name),
        Column("State", _state),
        FEE_NOW,
        AGAINST_USUAL,
        Column("Medium", _medium, is_number=True),
        Column("Congestion", _congestion, is_number=True),
        Column("Rejections/h", _rejections, is_number=True),
        Column("Age", age_markup),
    ),
)
"""What Overview says of each network."""
