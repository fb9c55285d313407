"""What is known of one hash: verdict, every version of the record, an answer to pass on."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from dashboard.show.parts.badges import badge, simulated_badge, verdict_badge
from dashboard.show.parts.markup import Markup, element, join
from dashboard.show.parts.rejection_table import version_in_full
from dashboard.show.queries.customer_answer import customer_answer
from dashboard.show.queries.transaction_summary import Dossier, Finding


def dossier_card(dossier: Dossier, now: datetime, *, is_alone: bool) -> None:
    """Show the verdict of each network that has something to say, then what it rests on.

    The answer to pass on stands open where the page is about this hash only.
    """
    with st.container(key=f"card-{dossier.tx_hash}"):
        tracked = badge("mute", "◉", "Tracked") if dossier.is_tracked else Markup()
        name = element("h2", str(dossier.tx_hash), class_="lw-hash")
        st.html(element("header", name, tracked, class_="lw-card-head"))
        for finding in dossier.telling_findings():
            _finding(finding, now)
        with st.expander("Answer to pass on", is_alone, icon=":material/content_copy:"):
            st.code(customer_answer(dossier, now), language=None, wrap_lines=True)


def _finding(finding: Finding, now: datetime) -> None:
    simulated = simulated_badge() if finding.card.is_simulated else Markup()
    head = element(
        "div",
        verdict_badge(finding.verdict.kind),
        element("span", f"on {finding.card.name}"),
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
