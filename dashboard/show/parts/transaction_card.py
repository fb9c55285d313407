"""What is known of one transaction: the answer, the text to pass on, and the facts folded."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.application.answers import AnswerContext, FindingGroup, answer_text, finding_groups
from dashboard.application.transaction_summary import NetworkFinding, TransactionSummary
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.rejections.answer_template import Voice
from dashboard.show.parts.badges import badge, verdict_badge
from dashboard.show.parts.frame import in_line, section
from dashboard.show.parts.list_page import choice_filter
from dashboard.show.parts.rejection_table import version_in_full

_VOICES: Final = {voice.value.capitalize(): voice for voice in Voice}


def transaction_card(summary: TransactionSummary, context: AnswerContext) -> None:
    """Show the answer, beside it the text to pass on, and folded what both rest on."""
    answer, text = st.columns([7, 6], gap="medium")
    with answer, st.container(key=f"card-{summary.tx_hash}", gap="small"):
        _answer(summary, context)
        with st.expander("Facts, and the reason as sent", icon=":material/fact_check:"):
            for number, finding in enumerate(summary.conclusive_findings()):
                _facts(finding, context.now, is_first=number == 0)
    with text, st.container(key=f"card-text-{summary.tx_hash}", gap="small"):
        _text_to_pass_on(summary, context)


def _answer(summary: TransactionSummary, context: AnswerContext) -> None:
    groups = finding_groups(summary)
    case_id = context.case_id_of(summary)
    case = badge("mute", "#", f"Case {case_id}") if case_id else Markup()
    tracked = badge("mute", "◉", "Tracked") if summary.is_tracked else Markup()
    name = element("h2", str(summary.tx_hash), class_="lw-hash")
    if not groups:
        said = element("p", "No network is configured that could be asked.", class_="lw-lede")
        st.html(join(element("header", name, case, tracked, class_="lw-card-head"), said))
        return
    first, *others = groups
    head = element("header", name, class_="lw-card-head")
    st.html(join(head, _said(first, case, tracked), *map(_said, others), _steps(first.steps())))


def _said(group: FindingGroup, *marks: Markup) -> Markup:
    networks = element("span", group.networks)
    head = element("div", verdict_badge(group.kind), networks, *marks, class_="lw-card-head")
    cause = group.cause()
    why = (
        element("p", element("b", "Why it was rejected: "), cause, class_="lw-lede")
        if cause
        else Markup()
    )
    return join(head, element("p", group.plain(), class_="lw-lede lw-said"), why)


def _steps(steps: Sequence[str]) -> Markup:
    if not steps:
        return Markup()
    label = element("p", "What the sender can do", class_="lw-label lw-spaced")
    return join(label, element("ol", *(element("li", each) for each in steps), class_="lw-steps"))


def _text_to_pass_on(summary: TransactionSummary, context: AnswerContext) -> None:
    with in_line("text-head"):
        section("Text to pass on")
        chosen = choice_filter("Written for", list(_VOICES), "voice", next(iter(_VOICES)))
    with st.container(key="copied-text"):
        text = answer_text(summary, _VOICES[chosen], context)
        st.code(text, language=None, wrap_lines=True)


def _facts(finding: NetworkFinding, now: datetime, *, is_first: bool) -> None:
    """Show what the verdict of one network rests on, and every version of the record."""
    head = element("p", element("b", visible(finding.profile.name)), class_="lw-reason")
    rests_on = element("p", finding.verdict.rests_on, class_="lw-reason")
    follows = element("p", finding.verdict.follows, class_="lw-quiet")
    st.html(join(head, rests_on, follows))
    for number, version in enumerate(finding.versions):
        steps = finding.next_steps() if number == 0 and is_first else ()
        version_in_full(version, finding.reason_of(version), now, steps)
