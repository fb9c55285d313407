"""What is known of one hash: verdict, every version of the record, an answer to pass on."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from dashboard.show.parts.badges import badge, simulated_badge, verdict_badge
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.rejection_table import version_in_full
from dashboard.show.queries.customer_answer import customer_answer
from dashboard.show.queries.transaction_summary import NetworkFinding, TransactionSummary


def transaction_card(summary: TransactionSummary, now: datetime, *, is_alone: bool) -> None:
    """Show the verdict of each network that has something to say, then what it rests on.

    The answer to pass on stands open where the page is about this hash only.
    """
    with st.container(key=f"card-{summary.tx_hash}"):
        tracked = badge("mute", "◉", "Tracked") if summary.is_tracked else Markup()
        name = element("h2", str(summary.tx_hash), class_="lw-hash")
        st.html(element("header", name, tracked, class_="lw-card-head"))
        for finding in summary.conclusive_findings():
            _finding(finding, now)
        with st.expander("Answer to pass on", is_alone, icon=":material/content_copy:"):
            st.code(customer_answer(summary, now), language=None, wrap_lines=True)


def _finding(finding: NetworkFinding, now: datetime) -> None:
    simulated = simulated_badge() if finding.profile.is_simulated else Markup()
    head = element(
        "div",
        verdict_badge(finding.verdict.kind),
        element("span", f"on {finding.profile.name}"),
        simulated,
        class_="lw-card-head",
    )
    rests_on = element("p", finding.verdict.rests_on, class_="lw-lede")
    steps = finding.next_steps()
    # What follows from a rejection stands among the next steps.
    follows = Markup() if steps else element("p", finding.verdict.follows)
    st.html(join(head, rests_on, element("div", follows, class_="lw-quiet")))
    if finding.versions:
        newest = finding.versions[0]
        version_in_full(newest, finding.reason_of(newest), now, steps)
    others = finding.versions[1:]
    if others:
        count = f"{len(others)} other version{'' if len(others) == 1 else 's'} of the record"
        with st.expander(count, icon=":material/history:"):
            for version in others:
                version_in_full(version, finding.reason_of(version), now)
