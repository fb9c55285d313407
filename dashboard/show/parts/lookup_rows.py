"""Many looked-up transactions, one row each; a click opens one in place."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard.domain.reason_explanation import overrun
from dashboard.domain.reason_labels import name_of
from dashboard.show.parts.badges import badge, verdict_badge
from dashboard.show.parts.markup import Markup, breakable, element, join
from dashboard.show.queries.customer_answer import FindingGroup, finding_groups
from dashboard.show.queries.transaction_summary import TransactionSummary
from dashboard.show.text import short_hash

OPENED: Final = "opened"
"""The parameter of the address that names the transaction of a list that is open."""

_HEADS: Final = ("Transaction", "Verdict", "Network", "Why")


def lookup_rows_head() -> None:
    """Name the columns."""
    heads = (element("span", each) for each in _HEADS)
    st.html(element("div", *heads, class_="lw-look lw-look-head", aria_hidden="true"))


def lookup_row(summary: TransactionSummary, *, is_open: bool) -> None:
    """Show one row; a click on it, or Enter, opens the transaction, or closes it."""
    tx_hash = str(summary.tx_hash)
    with st.container(key=f"look-{tx_hash}", gap=None):
        st.html(_cells(summary))
        st.button(
            f"{'Close' if is_open else 'Open'} {short_hash(summary.tx_hash)}",
            key=f"open-{tx_hash}",
            on_click=_toggle,
            args=(tx_hash,),
        )


def opened_transaction() -> str:
    """Return the hash of the transaction that is open, as the address has it; empty for none."""
    return str(st.query_params.get(OPENED, ""))


def _toggle(tx_hash: str) -> None:
    if opened_transaction() == tx_hash:
        del st.query_params[OPENED]
    else:
        st.query_params[OPENED] = tx_hash


def _cells(summary: TransactionSummary) -> Markup:
    groups = finding_groups(summary)
    tracked = badge("mute", "◉", "Tracked") if summary.is_tracked else Markup()
    tx_hash = element("b", short_hash(summary.tx_hash), class_="lw-mono")
    values = (
        element("span", tx_hash, " ", tracked, title=str(summary.tx_hash)),
        verdict_badge(groups[0].kind) if groups else Markup("–"),
        element("span", groups[0].networks if groups else "no network can be asked"),
        _why(groups[0]) if groups else Markup(),
    )
    cells = (
        element("span", element("span", f"{head}: ", class_="lw-sr"), value)
        for head, value in zip(_HEADS, values, strict=True)
    )
    return element("div", *cells, class_="lw-look")


def _why(group: FindingGroup) -> Markup:
    """Name the module and the overrun in few words."""
    reason = group.reason
    if reason is None:
        return Markup()
    factor = overrun(reason)
    times = Markup() if factor is None else element("small", f" {factor:,.1f}× the limit")
    named = name_of((reason.kind, reason.module))
    return join(element("span", breakable(named), title=group.cause()), times)
