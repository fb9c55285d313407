"""Many networks: one row each on Overview and, compared by cost, on Fees; a tile on the wall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import streamlit as st
from msgspec import Struct

from dashboard.application.failing_sources import failing_of
from dashboard.application.listing import Column, Listing
from dashboard.application.network_status import NetworkProfile, NetworkStatus
from dashboard.application.overview import (
    DayLine,
    HourlyRejections,
    UsualNow,
    above_usual,
    lasting,
    worst_first,
)
from dashboard.application.text import age, exact_fee
from dashboard.domain.alerts.condition import Signal
from dashboard.domain.fees.busy_spells import difference_in_words
from dashboard.domain.fees.cheap_hours import UsualWeek
from dashboard.domain.formatting import fee, listed, moment, name_order, share, share_or_less
from dashboard.domain.markup import Markup, element, join, plain_label, visible
from dashboard.domain.tracking.transaction_cost import cost_of, in_coin, in_money
from dashboard.show.parts.badges import network_badges, severity_sign
from dashboard.show.parts.frame import choose_network
from dashboard.show.parts.list_page import open_button
from dashboard.show.parts.network_card import fee_amount, unbroken
from dashboard.show.parts.sparklines import sparkline
from dashboard.show.parts.table import list_head, list_row

_LONGEST_NAME: Final = 60


class NetworkRow(Struct, frozen=True):
    """What is shown of one network among others; None for what is not asked for.

    `severity` is that of the worst that needs attention there, empty if nothing does.
    """

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


def row_markup(row: NetworkRow) -> Markup:
    return join(_cells(_NOW, row, "lw-net"), day_picture(row))


def _cells(listing: Listing[NetworkRow], row: NetworkRow, class_: str) -> Markup:
    """Build the cells of a row, greyed out if its fee is old."""
    return list_row(listing, row, f"{class_} is-stale" if row.is_stale else class_)


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
    said = "busy share not known" if busy is None else f"busy for {share_or_less(busy)}"
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
    failing = [each.subject for each in failing_of(status.figures)]
    missing = f"Not answered: {listed(failing)}. " if failing else ""
    return f"{missing}{status.activity_reason}"


def _fee_now(row: NetworkRow) -> Markup:
    return fee_markup(row, "" if row.status.figures.signal is Signal.BASE_FEE else " priority")


def fee_markup(row: NetworkRow, of: str = "") -> Markup:
    """Show the fee that decides busyness, with its unit and its kind `of` fee; exact on hover."""
    value = row.status.figures.judged_fee
    if value is None:
        return Markup("–")
    kind = element("small", of) if of else ""
    return element("span", fee_amount(value), kind, title=exact_fee(value))


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
    return fee_amount(suggested.value.medium.suggested_max_fee_per_gas)


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
    old = f"{stale}{unbroken(age(polled.asked_at, row.now))}"
    return element("span", old, title=moment(polled.asked_at))


_FEE_NOW: Final = Column("Fee now", _fee_now, is_number=True)
_AGAINST_USUAL: Final = Column("vs. usual", _against_usual, is_number=True)
_NOW: Final[Listing[NetworkRow]] = Listing(
    "networks",
    (
        Column("Network", _name),
        Column("State", _state),
        _FEE_NOW,
        _AGAINST_USUAL,
        Column("Medium", _medium, is_number=True),
        Column("Congestion", _congestion, is_number=True),
        Column("Rejections/h", _rejections, is_number=True),
        Column("Age", age_markup),
    ),
)
"""What Overview says of each network."""


SORT: Final = "sort"
"""The parameter of the address with the column by which networks are sorted; `-` reverses it."""

_TURNED: Final = "-"


class _Order(Struct, frozen=True):
    """The head of a column, and the sort key of a network in it; None, last, if it is not known."""

    head: str
    place: Callable[[NetworkRow], object]
    first: str = "the lowest first"


def _cheaper(row: NetworkRow) -> float | None:
    cheapest = None if row.week is None else row.week.cheapest
    return cheapest.difference if cheapest is not None and cheapest.is_clear else None


def _above(row: NetworkRow) -> float | None:
    difference = above_usual(row.status.figures, row.usual)
    return None if difference is None else -difference


def _fee(row: NetworkRow) -> int | None:
    value = row.status.figures.judged_fee
    return None if value is None else -value


def _cost(row: NetworkRow) -> tuple[str, int] | None:
    """Sort by money; coins without a price are sorted by name, since nothing compares them."""
    suggested, profile = row.status.figures.suggested, row.status.profile
    if suggested is None:
        return None
    amount, price = cost_of(suggested.value.medium.suggested_max_fee_per_gas), profile.coin_price
    if price is None:
        return f"1{profile.coin}", amount
    return f"0{price.currency}", amount * price.millionths


_USUAL: Final = "usual"
_ORDERS: Final = {
    "network": _Order("Network", lambda row: name_order(row.status.profile.name), "by name"),
    "state": _Order("State", lambda row: worst_first(row.status, 0), "the worst first"),
    "fee": _Order("Fee now", _fee, "the highest first"),
    _USUAL: _Order("vs. usual", _above, "the highest first"),
    "transfer": _Order("Transfer, medium", _cost),
    "cheapest": _Order("Cheapest hours", _cheaper, "the largest difference first"),
}


def chosen_order() -> tuple[str, bool]:
    """Return the column in the address, and whether its order is reversed."""
    said = str(st.query_params.get(SORT, ""))
    name = said.removeprefix(_TURNED)
    return (name, said.startswith(_TURNED)) if name in _ORDERS else (_USUAL, False)


def sorted_rows(rows: Sequence[NetworkRow], order: tuple[str, bool]) -> list[NetworkRow]:
    """Sort networks by a column; those with an unknown value come last."""
    name, is_turned = order
    place = _ORDERS[name].place
    by_name = sorted(rows, key=lambda each: name_order(each.status.profile.name))
    known = [each for each in by_name if place(each) is not None]
    unknown = [each for each in by_name if place(each) is None]
    return [*sorted(known, key=place, reverse=is_turned), *unknown]  # type: ignore[arg-type] # places of one column compare


def comparison_head() -> None:
    """Name the columns of `comparison_row`; a press on one sorts by it, a second reverses that."""
    chosen, is_turned = chosen_order()
    with st.container(key="sort-heads", gap=None):
        for name, order in _ORDERS.items():
            mark = "" if name != chosen else f"\N{NO-BREAK SPACE}{'↑' if is_turned else '↓'}"
            st.button(
                f"{order.head}{mark}",
                key=f"sort-{name}",
                type="tertiary",
                help=f"Sort: {order.first}" if name != chosen else "Reverse the order",
                on_click=_sort_by,
                args=(name,),
            )


def _sort_by(name: str) -> None:
    chosen, is_turned = chosen_order()
    st.query_params[SORT] = f"{_TURNED}{name}" if name == chosen and not is_turned else name


def comparison_row(row: NetworkRow) -> None:
    """Show what one network costs now and when it is cheap; its name selects it.

    A Streamlit link to the same page would not show in the address.
    """
    profile = row.status.profile
    with st.container(key=f"compare-{profile.network_id}", gap=None):
        st.button(
            row.name,
            key=f"choose-{profile.network_id}",
            type="tertiary",
            on_click=choose_network,
            args=(profile,),
        )
        st.html(_cells(_COSTS, row, "lw-compare"))


def _transfer(row: NetworkRow) -> Markup:
    suggested, profile = row.status.figures.suggested, row.status.profile
    if suggested is None:
        return element("small", "not known")
    amount = cost_of(suggested.value.medium.suggested_max_fee_per_gas)
    coins = in_coin(amount, profile.coin)
    if profile.coin_price is None:
        return element("span", coins)
    return element("span", in_money(amount, profile.coin_price), title=coins)


def _cheapest(row: NetworkRow) -> Markup:
    cheapest = None if row.week is None else row.week.cheapest
    if cheapest is None:
        return element("small", "not known")
    if not cheapest.is_clear:
        return element("small", "no clear difference")
    return element("span", cheapest.hours, " ", element("small", cheapest.compared))


_COSTS: Final[Listing[NetworkRow]] = Listing(
    "networks",
    (
        Column("State", lambda each: network_badges(each.status)),
        _FEE_NOW,
        _AGAINST_USUAL,
        Column("Transfer, medium", _transfer, is_number=True),
        Column("Cheapest hours", _cheapest),
    ),
)
"""What Fees says of each network among others."""
