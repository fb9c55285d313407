"""One transaction: the answer, the texts to pass on, and a link to share it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.customer_answers import (
    NOBODY_TO_ASK,
    AnswerContext,
    FindingGroup,
    answer_text,
    finding_groups,
    next_steps,
)
from dashboard.application.share_links import Sharing
from dashboard.application.text import sentence
from dashboard.application.transaction_summary import NetworkFinding, TransactionSummary
from dashboard.domain.alerts.matcher import MatchedProperty
from dashboard.domain.formatting import moment, short_hash
from dashboard.domain.markup import Markup, element, join, visible
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.answer_template import (
    LONGEST_FILE,
    PLACEHOLDERS,
    AnswerFileState,
    Voice,
)
from dashboard.show.parts.acting import (
    Done,
    act,
    known_actor,
    may,
    name_input,
    pressed,
    trouble_shown,
)
from dashboard.show.parts.badges import badge, verdict_badge
from dashboard.show.parts.frame import in_line, quiet, section
from dashboard.show.parts.list_page import choice_filter
from dashboard.show.parts.notices import notice
from dashboard.show.parts.rejection_table import quoted, version_in_full
from dashboard.show.parts.subject_acts import subject_acts, subject_of
from dashboard.show.parts.table import table
from dashboard.store.tracking.saved import ShareLink

_VOICES: Final = {voice.value.capitalize(): voice for voice in Voice}
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)")


def transaction_card(
    queries: Application, summary: TransactionSummary, context: AnswerContext
) -> None:
    """Show the answer, beside it the text to pass on, and folded what both are based on."""
    answer, text = st.columns([7, 6], gap="small")
    with answer, st.container(key=f"card-{summary.tx_hash}", gap="small"):
        _answer(summary, context)
        _acts(queries, summary)
        with st.expander("Details, and the reason as sent", icon=":material/fact_check:"):
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
        said = element("p", NOBODY_TO_ASK, class_="lw-lede")
        st.html(join(element("header", name, case, tracked, class_="lw-card-head"), said))
        return
    first, *others = groups
    head = element("header", name, class_="lw-card-head")
    steps = (_steps(what, networks) for networks, what in next_steps(groups))
    st.html(join(head, _said(first, case, tracked), *map(_said, others), *steps))


def _acts(queries: Application, summary: TransactionSummary) -> None:
    """Offer to silence and to watch the module, the sender and the label of a rejected one."""
    finding = next((each for each in summary.conclusive_findings() if each.versions), None)
    if finding is None:
        return
    newest, network_id = finding.versions[0], finding.profile.network_id
    sender = newest.record.sender
    values = {
        MatchedProperty.MODULE: finding.reason_of(newest).module,
        MatchedProperty.SENDER: None if sender is None else str(sender),
        MatchedProperty.LABEL: summary.label,
    }
    subjects = [
        subject_of(queries, about, value, network_id) for about, value in values.items() if value
    ]
    with in_line(f"subject-acts-{summary.tx_hash}"):
        subject_acts(queries, str(summary.tx_hash), *subjects)


def _said(group: FindingGroup, *marks: Markup) -> Markup:
    networks = element("span", group.networks)
    head = element("div", verdict_badge(group.kind), networks, *marks, class_="lw-card-head")
    cause = group.cause()
    why = (
        element("p", element("b", "Why it was rejected: "), cause, class_="lw-lede")
        if cause
        else Markup()
    )
    return join(head, element("p", _whole_moments(group.plain()), class_="lw-lede lw-said"), why)


def _whole_moments(text: str) -> Markup:
    """Keep each moment on one line: browsers break a date at its hyphens."""
    pieces = enumerate(_MOMENT.split(text))  # every second one is a moment
    return join(*(element("span", it, class_="lw-whole") if at % 2 else it for at, it in pieces))


def _steps(steps: Sequence[str], networks: str) -> Markup:
    if not steps:
        return Markup()
    title = f"What the sender can do{' on ' if networks else ''}{networks}"
    label = element("p", title, class_="lw-label lw-spaced")
    return join(label, element("ol", *(element("li", each) for each in steps), class_="lw-steps"))


def _text_to_pass_on(summary: TransactionSummary, context: AnswerContext) -> None:
    with in_line("text-head"):
        section("Text to pass on")
        chosen = choice_filter("Written for", list(_VOICES), "voice", next(iter(_VOICES)))
    with st.container(key="copied-text"):
        text = answer_text(summary, _VOICES[chosen], context)
        st.code(text, language=None, wrap_lines=True)


def _facts(finding: NetworkFinding, now: datetime, *, is_first: bool) -> None:
    """Show what the verdict of one network is based on, and every version of the record."""
    head = element("p", element("b", visible(finding.profile.name)), class_="lw-reason")
    rests_on = element("p", finding.verdict.rests_on, class_="lw-reason")
    follows = element("p", finding.verdict.follows, class_="lw-quiet")
    st.html(join(head, rests_on, follows))
    for each in finding.evidence.statements:
        if each.claim is not None:
            endpoint = visible(each.endpoint) or "the exclusion API"
            quoted(f"The status as {endpoint} sent it", each.long_status)
            quoted(f"Added by {endpoint}", each.claim.added)
    for number, version in enumerate(finding.versions):
        steps = finding.next_steps() if number == 0 and is_first else ()
        version_in_full(version, finding.reason_of(version), now, steps)


_DAYS: Final = {"a day": 1, "a week": 7, "a month": 30}
_MADE: Final = "share_link_made"


def share_form(queries: Application, tx_hash: TxHash, case_id: str) -> None:
    """Offer a link that shows this transaction to whoever has it."""
    sharing = queries.sharing
    if not sharing.is_possible:
        st.write("A link needs the address of these pages: set public_url under [pages].")
        return
    st.write("Everybody with the link sees the verdict and the customer's text, nothing else.")
    st.selectbox("Valid for", list(_DAYS), index=1, key="share-lasts")

    def note() -> None:
        lasts = timedelta(days=_DAYS[st.session_state["share-lasts"]])
        st.session_state[_MADE] = _MadeLink(tx_hash, lasts)

    st.button("Make a link", key="share", type="primary", on_click=note)
    made: _MadeLink | None = st.session_state.get(_MADE)
    if made is not None and made.tx_hash == tx_hash:
        if not made.address:
            _share(queries, made, case_id)
        if made.address:
            st.code(made.address, language=None, wrap_lines=True)
            st.caption("Copy the link now: it is shown only once.")
    for link in sharing.all(tx_hash):
        _link(queries, sharing, link)


class _MadeLink(Struct):
    """What is to be shared for how long, and the address of the link once it is made.

    It is in the session before the link is made, so that a run that is cut short loses neither.
    """

    tx_hash: TxHash
    lasts: timedelta
    address: str = ""


def _share(queries: Application, made: _MadeLink, case_id: str) -> None:
    with trouble_shown("Nothing was shared."):
        by = known_actor(queries)
        _, made.address = queries.sharing.share(made.tx_hash, made.lasts, by, case_id)
    if not made.address:
        st.session_state.pop(_MADE, None)


def _link(queries: Application, sharing: Sharing, link: ShareLink) -> None:
    said = f"By {visible(link.created_by, 80)}, until {moment(link.ends_at)}"
    with st.container(horizontal=True, vertical_alignment="center", key=f"share-{link.link_id}"):
        quiet(said)
        key = f"unshare-{link.link_id}"
        if may(queries, Action.END_SHARE) and pressed(queries, "Revoke", key):
            st.session_state.pop(_MADE, None)
            revoke = partial(sharing.revoke, link.link_id)
            act(queries, revoke, failed="The link still works.", needs_name=False, button=key)


_FILE: Final = "answer_file"
_SEEN: Final = "answer_file_seen"


def template_mistakes_shown(queries: Application) -> None:
    """Name the mistakes in the file in force; the built-in texts replace it meanwhile."""
    for mistake in queries.answers.state().mistakes[:1]:
        said = f"{sentence(visible(mistake))} Until that is corrected, the built-in texts apply."
        notice("bad", "The file of texts has a mistake.", said)


@st.dialog("Edit the texts for customers and engineers", width="large")
def answer_editor(queries: Application, tx_hash: TxHash, context: AnswerContext) -> None:
    """Let a person change the file, and say on which line a mistake is.

    The preview shows what a transaction's customer, and an engineer, would read.
    """
    state = queries.answers.state()
    if _FILE not in st.session_state:
        st.session_state.update({_FILE: state.editable(), _SEEN: state})
    name_input(queries)
    where = "Stored in answers.toml; the command linewatch answers edits the same file."
    quiet(where)
    with st.form("answers", border=False):
        text = st.text_area(
            "Texts, with placeholders in braces",
            key=_FILE,
            height=360,
            max_chars=LONGEST_FILE,
        )
        with st.container(horizontal=True, gap="small"):
            is_saved = st.form_submit_button("Save the texts", type="primary")
            is_previewed = st.form_submit_button("Preview", icon=":material/preview:")
    if is_saved:
        _change(queries, text or "", state, "The texts are changed")
    if is_previewed:
        with trouble_shown("No preview."):
            _preview(queries, text or "", tx_hash, context)
    if state.text is not None:
        _reset(queries, state)
    with st.expander("Placeholders"):
        rows = [(f"{{{name}}}", what) for name, what in PLACEHOLDERS.items()]
        st.html(table(("Placeholder", "Stands for"), rows, "Placeholders"))


def _preview(queries: Application, text: str, tx_hash: TxHash, context: AnswerContext) -> None:
    """Show the texts for a transaction; nothing is saved."""
    found = queries.answers.check(text)
    for each in found.mistakes:
        notice("bad", "The text has a mistake.", sentence(visible(each)))
    if found.mistakes:
        return
    (summary,) = queries.summaries((tx_hash,))
    said = f"Preview for {short_hash(tx_hash)}. Nothing is saved yet."
    st.html(element("p", said, class_="lw-quiet", role="status"))
    for voice in Voice:
        section(f"For {'a customer' if voice is Voice.CUSTOMER else 'an engineer'}")
        written = answer_text(summary, voice, replace(context, templates=found.templates))
        st.code(written, language=None, wrap_lines=True)


def _reset(queries: Application, state: AnswerFileState) -> None:
    with st.popover("Back to the built-in texts"):
        st.text("Remove your texts, and use the built-in ones? This cannot be undone.")
        if st.button("Remove your texts", key="remove-texts", type="primary"):
            _change(queries, None, state, "The built-in texts are in force again")


def _change(queries: Application, text: str | None, state: AnswerFileState, said: str) -> None:
    """Change the file, unless it differs from what the person saw; the next press has seen `state`.

    What somebody else saved meanwhile is shown, so that nobody's words are lost.
    """
    seen: AnswerFileState = st.session_state[_SEEN]
    st.session_state[_SEEN] = state
    act(queries, lambda by: queries.answers.change(text, by, seen), Done(said))
    if state.text != seen.text:
        section("Texts saved by somebody else")
        st.code(state.editable(), language="toml", wrap_lines=True)
        rest = "Your texts are still in the field. Copy what you need: Save replaces these texts."
        quiet(rest)
