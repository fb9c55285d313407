"""Networks compared on the page Fees: one row each, sorted by the column that somebody presses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import streamlit as st
from msgspec import Struct

from dashboard.application.listing import Column, Listing
from dashboard.application.overview import above_usual, worst_first
from dashboard.domain.formatting import name_order
from dashboard.domain.markup import Markup, element
from dashboard.domain.tracking.transaction_cost import cost_of, in_coin, in_money
from dashboard.show.parts.badges import network_badges
from dashboard.show.parts.frame import choose_network
from dashboard.show.parts.network_rows import AGAINST_USUAL, FEE_NOW, NetworkRow, stale_class
from dashboard.show.parts.table import list_row

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
    _USUAL: _Order("Against usual", _above, "the highest first"),
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
                help=f"Sort: {order.first}" if name != chosen else "Turn the order",
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
        st.html(list_row(_COSTS, row, f"lw-compare{stale_class(row)}"))


def _transfer(row: NetworkRow) -> Markup:
    suggested, profile = row.status.figures.suggested, row.status.profile
    if suggested is None:
        return element("small", "not known yet")
    amount = cost_of(suggested.value.medium.suggested_max_fee_per_gas)
    coins = in_coin(amount, profile.coin)
    if profile.coin_price is None:
        return element("span", coins)
    return element("span", in_money(amount, profile.coin_price), title=coins)


def _cheapest(row: NetworkRow) -> Markup:
    cheapest = None if row.week is None else row.week.cheapest
    if cheapest is None:
        return element("small", "not known yet")
    if not cheapest.is_clear:
        return element("small", "no clear difference")
    return element("span", cheapest.hours, " ", element("small", cheapest.compared))


_COSTS: Final[Listing[NetworkRow]] = Listing(
    "networks",
    (
        Column("State", lambda each: network_badges(each.status)),
        FEE_NOW,
        AGAINST_USUAL,
        Column("Transfer, medium", _transfer, is_number=True),
        Column("Cheapest hours", _cheapest),
    ),
)
"""What Fees says of each network among others."""
