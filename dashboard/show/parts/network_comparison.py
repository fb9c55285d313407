"""Networks side by side: whose lines are drawn, and of each what it costs and when it is cheap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard.application.network_status import NetworkFigures, NetworkProfile, NetworkStatus
from dashboard.application.overview import UsualNow, above_usual
from dashboard.application.text import fee
from dashboard.domain.alerts.grounds import Signal
from dashboard.domain.fees.cheap_hours import UsualWeek
from dashboard.domain.fees.spells import difference_in_words
from dashboard.domain.markup import plain_label
from dashboard.domain.tracking.transaction_cost import cost_of, in_coin, in_money
from dashboard.show.charts.side_by_side import line_look
from dashboard.show.parts.badges import network_badges
from dashboard.show.parts.frame import choose_network
from dashboard.show.parts.table import row_cells, row_head

BESIDE: Final = "beside"
"""The parameter of the address that names the networks that are drawn, by their ids."""

_KEY: Final = "lines-drawn"
_LONGEST_NAME: Final = 40
_STROKES: Final = {"solid": "━━", "dash": "╍╍", "dot": "┅┅"}
_HEADS: Final = ("State", "Fee now", "Against usual", "Transfer, medium", "Cheapest hours")


def chosen_lines(statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    """Offer to draw some of the networks, all while none is chosen; this is the legend as well."""
    by_id = {str(each.profile.network_id): each for each in statuses}
    places = {each: number for number, each in enumerate(by_id)}
    wanted = [each for each in st.query_params.get_all(BESIDE) if each in by_id]

    def label(network_id: str) -> str:
        colour, dash = line_look(places[network_id])
        name = plain_label(by_id[network_id].profile.name, _LONGEST_NAME)
        return f':color[{_STROKES[dash]}]{{foreground="{colour}"}} {name}'

    chosen = st.pills(
        "Networks drawn, all while none is chosen",
        list(by_id),
        selection_mode="multi",
        default=wanted,
        format_func=label,
        key=_KEY,
        on_change=_keep,
        label_visibility="collapsed",
        wrap=True,
    )
    return [by_id[each] for each in chosen] or list(statuses)


def _keep() -> None:
    chosen = st.session_state[_KEY]
    if chosen:
        st.query_params[BESIDE] = list(chosen)
    else:
        st.query_params.pop(BESIDE, None)


def comparison_head() -> None:
    """Name the columns."""
    st.html(row_head(("Network", *_HEADS), "lw-compare"))


def comparison_row(status: NetworkStatus, week: UsualWeek, usual: UsualNow) -> None:
    """Show what one network among others costs now and when it is cheap; its name chooses it.

    A link of Streamlit's that stays on its page would not be seen in the address.
    """
    profile = status.profile
    with st.container(key=f"compare-{profile.network_id}", gap=None):
        name = plain_label(profile.name, _LONGEST_NAME)
        st.button(
            name,
            key=f"choose-{profile.network_id}",
            type="tertiary",
            on_click=choose_network,
            args=(profile,),
        )
        st.html(row_cells(_HEADS, comparison(status, week, usual), "lw-compare"))


def comparison(status: NetworkStatus, week: UsualWeek, usual: UsualNow) -> list[str]:
    """Say what one network among others costs now, and when it is cheap."""
    figures, profile = status.figures, status.profile
    fee_now, difference = figures.judged_fee, above_usual(figures, usual)
    of = "" if figures.signal is Signal.BASE_FEE else f" ({figures.signal})"
    return [
        network_badges(status),
        "not seen yet" if fee_now is None else f"{' '.join(fee(fee_now))}{of}",
        "not known yet" if difference is None else difference_in_words(difference),
        _transfer(figures, profile),
        _cheapest(week),
    ]


def _transfer(figures: NetworkFigures, profile: NetworkProfile) -> str:
    if figures.suggested is None:
        return "not known yet"
    amount = cost_of(figures.suggested.value.medium.suggested_max_fee_per_gas)
    coins = in_coin(amount, profile.coin)
    worth = profile.coin_price
    return coins if worth is None else f"{coins}\N{NO-BREAK SPACE}· {in_money(amount, worth)}"


def _cheapest(week: UsualWeek) -> str:
    if week.cheapest is None:
        return "not known yet"
    if not week.cheapest.is_clear:
        return "no clear difference"
    return f"{week.cheapest.hours}, {week.cheapest.compared}"
