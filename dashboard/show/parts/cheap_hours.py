"""When is it cheaper: the sentences and the heat map of one network."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from dashboard.application.network_status import NetworkStatus
from dashboard.application.overview import UsualNow
from dashboard.domain.fees.cheap_hours import UsualWeek
from dashboard.domain.fees.spells import USUAL_DAYS
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import element, join
from dashboard.domain.quantity import NetworkId
from dashboard.show.charts.fee_chart import FOUR_DIGITS
from dashboard.show.charts.week_map import HEIGHT, week_csv, week_drawing, week_table
from dashboard.show.parts.chart import chart
from dashboard.show.parts.list_page import choice_filter, file_button
from dashboard.show.parts.notices import empty

_UTC: Final = "UTC"
_LOCAL: Final = "Local time"


def chosen_zone() -> tuple[tzinfo, str]:
    """Offer UTC or the time zone of the browser; return the chosen one and its name."""
    chosen = choice_filter("Hours in", [_UTC, _LOCAL], "zone", _UTC)
    return (UTC, _UTC) if chosen == _UTC else zone_named(st.context.timezone)


def zone_named(name: str | None) -> tuple[tzinfo, str]:
    """Return the time zone that a browser names; UTC where there is none of that name."""
    try:
        zone = ZoneInfo(name or _UTC)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return UTC, _UTC
    return (UTC, _UTC) if zone.key == _UTC else (zone, zone.key)


def cheap_hours(
    status: NetworkStatus,
    week: UsualWeek,
    usual: UsualNow,
    now: datetime,
    zone: tuple[tzinfo, str],
    *,
    is_table: bool,
) -> None:
    """Say when it is cheap and how now compares, above a heat map of the week, or its table."""
    said = cheap_in_words(status, week, usual, zone, now)
    st.html(join(*(element("p", each, class_="lw-lede") for each in said)))
    if not week.is_known:
        empty(
            "Too little is known of the hours of a week",
            "Each cell is the median of at least three such hours, which takes three weeks.",
        )
        return
    if is_table:
        rows = week_table(week)
        fees = {
            each: st.column_config.NumberColumn(format=FOUR_DIGITS) for each in rows.columns[1:]
        }
        st.dataframe(rows, hide_index=True, column_config=fees)
    else:
        _map(status, week, now, zone)
    _below(week, status.profile.network_id, zone[1])


def _map(status: NetworkStatus, week: UsualWeek, now: datetime, zone: tuple[tzinfo, str]) -> None:
    network_id, local = status.profile.network_id, now.astimezone(zone[0])
    name = f"{status.figures.signal.capitalize()} of {status.profile.name}"
    drawing = week_drawing(week, name, zone[1], (local.weekday(), local.hour))
    chart(drawing, f"hours-{network_id}", HEIGHT, f"hours-{network_id}")


def _below(week: UsualWeek, network_id: NetworkId, zone_name: str) -> None:
    """Say what the map shows, and offer its file."""
    meaning = (
        f"Each cell is the median of its hours in {USUAL_DAYS} days ({zone_name}), blank for fewer "
        "than three; the red frame is now, the line above marks the cheapest hours. No fee is "
        "forecast."
    )
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"beside-hours-{network_id}"
    ):
        st.html(element("p", meaning, class_="lw-quiet"))
        file_button(
            lambda: week_csv(week, network_id, zone_name),
            f"hours-{network_id}.csv",
            f"csv-hours-{network_id}",
            note="The medians of this picture, in whole wei.",
        )


def cheap_in_words(
    status: NetworkStatus, week: UsualWeek, usual: UsualNow, zone: tuple[tzinfo, str], now: datetime
) -> list[str]:
    """Say what is known of cheap hours, of now, of busy spells and of the last week."""
    fee_now = status.figures.judged_fee
    cheap = (
        "Which hours are cheapest is said once each hour of the day was seen on three days."
        if week.cheapest is None
        else week.cheapest.in_words(now, *zone)
    )
    beside = None if fee_now is None else week.beside_now(fee_now)
    busy = None if usual.spells is None else capitalized(f"busy {usual.spells.in_words()}.")
    weeks = None if week.weeks is None else capitalized(week.weeks.in_words())
    return [each for each in (cheap, beside, busy, weeks) if each is not None]
