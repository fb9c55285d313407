"""Tracked transactions, one row each: verdict, since when, what people said of it, when it ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.domain.foreign_text import visible
from dashboard.domain.tracking_need import Need
from dashboard.domain.verdict import VerdictKind
from dashboard.show.parts.badges import verdict_badge
from dashboard.show.parts.markup import Markup, element, plain_label
from dashboard.show.parts.rejection_table import reason_words
from dashboard.show.parts.table import row_cells, row_head
from dashboard.show.parts.tracked_acts import choice_key, is_chosen
from dashboard.show.queries.tracked import TrackedEntry
from dashboard.show.queries.transaction_summary import NetworkFinding
from dashboard.show.text import age, moment, short_hash, span
from dashboard.store.tracking.groups import MOST_COUNTED, TrackedGroup

_HEADS: Final = ("Verdict", "Since", "Label", "Case id", "Owner", "Tags", "Transaction", "Ends")
_LONGEST: Final = 120
_SEVERAL: Final = 2


def tracked_rows(entries: Sequence[TrackedEntry], now: datetime, lookup: st.Page) -> None:
    """Show the rows; each has a box that chooses it, and leads to its lookup."""
    with st.container(gap=None):
        st.html(row_head(_HEADS, "lw-tracked"))
        for entry in entries:
            tx_hash = entry.transaction.tx_hash
            with st.container(key=f"tracked-{tx_hash}", gap=None):
                st.checkbox(
                    f"Choose {short_hash(tx_hash)}",
                    is_chosen(tx_hash),
                    key=choice_key(tx_hash),
                    label_visibility="collapsed",
                )
                _row(entry, now, lookup)


def needed_rows(
    needed: Sequence[tuple[Need, TrackedEntry]], now: datetime, lookup: st.Page
) -> None:
    """Show those that need attention, the most urgent first, with what each needs."""
    with st.container(gap=None):
        st.html(row_head(_HEADS, "lw-tracked"))
        for need, entry in needed:
            key = f"needed-{need.name}-{entry.transaction.tx_hash}"
            with st.container(key=key, gap=None):
                _row(entry, now, lookup)


def _row(entry: TrackedEntry, now: datetime, lookup: st.Page) -> None:
    tx_hash = entry.transaction.tx_hash
    st.html(_cells(entry, now))
    st.page_link(
        lookup,
        label=f"Look up {short_hash(tx_hash)}",
        icon="",
        query_params={"tx": str(tx_hash)},
    )


def _cells(entry: TrackedEntry, now: datetime) -> Markup:
    tracked, finding = entry.transaction, entry.findings[0] if entry.findings else None
    values = (
        _verdict(entry, finding),
        _since(entry, finding, now),
        _said(tracked.label, tracked.note),
        _said(tracked.case_id),
        _said(tracked.owner),
        _said(tracked.tags),
        element("span", short_hash(tracked.tx_hash), class_="lw-mono", title=str(tracked.tx_hash)),
        _ends(entry, now),
    )
    return row_cells(_HEADS, values, "lw-tracked")


def _verdict(entry: TrackedEntry, finding: NetworkFinding | None) -> Markup:
    if finding is None:
        return element("small", "No network to ask")
    where = ""
    if len(entry.transaction.network_ids) != 1 or len(entry.summary.findings) >= _SEVERAL:
        others = len(entry.findings) - 1
        where = f"on {finding.profile.name}" + (f" and {others} more" if others else "")
    why = finding.verdict.rests_on
    if finding.versions:
        why = reason_words(finding.reason_of(finding.versions[0]))
    shown = finding.versions or finding.verdict.kind is VerdictKind.CANNOT_CHECK
    return element(
        "span",
        verdict_badge(finding.verdict.kind),
        element("small", where) if where else Markup(),
        element("small", visible(why, _LONGEST)) if shown else Markup(),
        class_="lw-tracked-verdict",
        title=visible(why, _LONGEST * 3),
    )


def _since(entry: TrackedEntry, finding: NetworkFinding | None, now: datetime) -> Markup:
    at = entry.transaction.tracked_at if finding is None else entry.since(finding)
    return element("time", age(at, now), title=moment(at))


def _said(text: str, below: str = "") -> Markup:
    said = element("span", visible(text, _LONGEST)) if text else element("small", "–")
    if not below:
        return said
    note = element("small", visible(below, _LONGEST))
    return element("span", element("b", visible(text, _LONGEST)) if text else Markup(), " ", note)


def _ends(entry: TrackedEntry, now: datetime) -> Markup:
    ends_at = entry.transaction.ends_at
    if ends_at is None:
        return element("small", "not asked")
    if ends_at <= now:
        return element("small", "ended", title=moment(ends_at))
    return element("time", f"in {span(ends_at - now)}", title=moment(ends_at))


def need_buttons(counts: Mapping[Need, int], most: int, show: Callable[[Need], None]) -> None:
    """Offer each kind of need with its number; a click lists all of that kind."""
    with st.container(key="needs", horizontal=True, vertical_alignment="center", gap="small"):
        for need, count in counts.items():
            many = f"{most:,} or more" if count >= most else f"{count:,}"
            st.button(
                f"{need}: **{many}**",
                key=f"need-{need.name}",
                disabled=not count,
                help=_MEANINGS[need],
                on_click=show,
                args=(need,),
            )


_MEANINGS: Final = {
    Need.REJECTED: "Rejected, still asked about, and neither included nor replaced since",
    Need.SILENT: "No question was answered for ten minutes",
    Need.ENDING: "Asked about for less than a day more, without a record or an inclusion",
}


def group_rows(groups: Sequence[TrackedGroup], show: Callable[[str], None], by: str) -> None:
    """Show groups, one button each; a click lists the transactions of the group."""
    with st.container(key="groups", horizontal=True, gap="small"):
        for place, group in enumerate(groups):
            count = f"{MOST_COUNTED:,} or more" if group.many > MOST_COUNTED else f"{group.many:,}"
            st.button(
                f"{plain_label(group.name, _LONGEST)}: **{count}**",
                key=f"group-{by}-{place}",
                on_click=show,
                args=(group.name,),
            )
