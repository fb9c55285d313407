"""Tracked transactions, one row each: verdict, what people wrote, times, and how to change it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import streamlit as st

from dashboard.domain.foreign_text import visible
from dashboard.domain.track_list import LONGEST_LABEL, LONGEST_NOTE
from dashboard.domain.verdict import VerdictKind
from dashboard.show.parts.badges import verdict_badge
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.notices import change_stored
from dashboard.show.parts.rejection_table import reason_words
from dashboard.show.parts.track_form import attempt_input, is_future
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.tracked import TrackedEntry
from dashboard.show.queries.transaction_summary import NetworkFinding
from dashboard.show.text import age, moment, moment_near, short_hash
from dashboard.store.tracking.transactions import Remarks


def tracked_list(
    queries: PageQueries, entries: Sequence[TrackedEntry], now: datetime, lookup: st.Page
) -> None:
    """Show the rows; each leads to its lookup and to a dialog that changes or removes it."""
    for entry in entries:
        _row(queries, entry, now, lookup)


def _row(queries: PageQueries, entry: TrackedEntry, now: datetime, lookup: st.Page) -> None:
    tx_hash = entry.transaction.tx_hash
    with st.container(
        key=f"tracked-{tx_hash}", horizontal=True, vertical_alignment="top", gap="small"
    ):
        with st.container(gap=None):
            st.html(join(*(_finding(each) for each in _findings(entry))))
            st.html(_remarks(entry, now))
            st.page_link(
                lookup, label=short_hash(tx_hash), icon="", query_params={"tx": str(tx_hash)}
            )
        if st.button("Edit", key=f"edit-{tx_hash}", help="Label, note, time, or remove it"):
            _edit(queries, entry)


def _findings(entry: TrackedEntry) -> tuple[NetworkFinding, ...]:
    """Return the findings of the networks on which it is tracked, else of those with a record."""
    findings = entry.summary.conclusive_findings()
    watched = entry.transaction.network_ids
    return tuple(each for each in findings if each.profile.network_id in watched) or findings


def _finding(finding: NetworkFinding) -> Markup:
    badge = verdict_badge(finding.verdict.kind)
    explanation = finding.verdict.rests_on
    if finding.verdict.kind is VerdictKind.NOT_CHECKED_YET:
        explanation = ""
    elif finding.versions:
        explanation = reason_words(finding.reason_of(finding.versions[0]))
    head = element("div", badge, element("span", f"on {finding.profile.name}"), class_="lw-row")
    return join(head, element("p", explanation, class_="lw-reason") if explanation else Markup())


def _remarks(entry: TrackedEntry, now: datetime) -> Markup:
    tracked = entry.transaction
    label = element("b", visible(tracked.label, LONGEST_NOTE)) if tracked.label else Markup()
    note = element("span", visible(tracked.note, LONGEST_NOTE)) if tracked.note else Markup()
    times = element("span", _times(entry, now), title=f"tracked {moment(tracked.tracked_at)}")
    return element("div", label, note, times, class_="lw-row lw-remarks")


def _times(entry: TrackedEntry, now: datetime) -> str:
    tracked = entry.transaction
    parts = [f"tracked {age(tracked.tracked_at, now)}"]
    if tracked.attempted_at is not None:
        parts.insert(0, f"attempted {moment_near(tracked.attempted_at, now)}")
    answers = [each.evidence.last_answered_at for each in entry.summary.findings]
    answered = max((at for at in answers if at is not None), default=None)
    parts.append("not answered yet" if answered is None else f"answered {age(answered, now)}")
    return ", ".join(parts)


@st.dialog("Change or remove")
def _edit(queries: PageQueries, entry: TrackedEntry) -> None:
    tracked = entry.transaction
    st.html(element("p", str(tracked.tx_hash), class_="lw-hash"))
    with st.form("edit", border=False):
        label = st.text_input("Label", tracked.label, max_chars=LONGEST_LABEL)
        note = st.text_input("Note", tracked.note, max_chars=LONGEST_NOTE)
        attempted_at = attempt_input(tracked.attempted_at)
        is_saved = st.form_submit_button("Save", type="primary")
    if is_saved and not is_future(attempted_at, queries.now()):
        remarks = Remarks(attempted_at, label.strip(), note.strip())
        change_stored(lambda: queries.tracked.amend(tracked.tx_hash, remarks))
    st.html(
        element(
            "p",
            "Removed, it is asked about no more and nobody is notified of it. "
            "Rejections that were seen stay in the archive.",
            class_="lw-quiet",
        )
    )
    if st.button("Remove", icon=":material/delete:", key="remove"):
        change_stored(lambda: queries.tracked.remove(tracked.tx_hash))
