"""Many looked-up transactions, one row each; a click opens one in place."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard.domain.reason_explanation import overrun
from dashboard.domain.reason_labels import name_of
from dashboard.show.parts.badges import verdict_badge
from dashboard.show.parts.markup import Markup, breakable, element, join
from dashboard.show.parts.open_row import open_button
from dashboard.show.parts.table import row_cells, row_head
from dashboard.show.queries.customer_answer import FindingGroup, finding_groups
from dashboard.show.queries.transaction_summary import TransactionSummary
from dashboard.show.text import short_hash

_HEADS: Final = ("Transaction", "Verdict", "Network", "Why")


def lookup_rows_head() -> None:
    """Name the columns."""
    st.html(row_head(_HEADS, "lw-look"))


def lookup_row(summary: TransactionSummary, *, is_open: bool) -> None:
    """Show one row; a click on it, or Enter, opens the transaction, or closes it."""
    tx_hash = str(summary.tx_hash)
    with st.container(key=f"look-{tx_hash}", gap=None):
        st.html(_cells(summary))
        open_button(tx_hash, short_hash(summary.tx_hash), is_open=is_open)


def _cells(summary: TransactionSummary) -> Markup:
    groups = finding_groups(summary)
    tracked = Markup()
    if summary.is_tracked:
        tracked = element("span", "◉", element("span", "tracked", class_="lw-sr"), title="Tracked")
    tx_hash = element("b", short_hash(summary.tx_hash), class_="lw-mono")
    values = (
        element("span", tx_hash, " ", tracked, title=str(summary.tx_hash)),
        verdict_badge(groups[0].kind) if groups else Markup("–"),
        element("span", groups[0].networks if groups else "no network can be asked"),
        _why(groups[0]) if groups else Markup(),
    )
    return row_cells(_HEADS, values, "lw-look")


def _why(group: FindingGroup) -> Markup:
    """Name the module and the overrun in few words."""
    reason = group.reason
    if reason is None:
        return Markup()
    factor = overrun(reason)
    times = Markup() if factor is None else element("small", f" {factor:,.1f}× the limit")
    named = name_of((reason.kind, reason.module))
    return join(element("span", breakable(named), title=group.cause()), times)
