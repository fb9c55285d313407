"""Lookup answers: what happened to these transactions, and what to tell a customer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

import streamlit as st
from msgspec.structs import replace

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.customer_answers import NOBODY_TO_ASK, AnswerContext, leading_verdict
from dashboard.application.lookup import asking_cost, lookup_csv, lookup_json
from dashboard.application.transaction_summary import TransactionSummary, with_unsaved
from dashboard.domain.formatting import counted
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.verdict import UNANSWERED_KINDS, VerdictKind
from dashboard.errors import StoreError
from dashboard.show.parts.acting import done_shown, may
from dashboard.show.parts.frame import heading, live, quiet
from dashboard.show.parts.list_page import choice_filter, file_button, opened, page_of_rows
from dashboard.show.parts.lookup import (
    LookupAddress,
    LookupQuestion,
    ask,
    lookup_row,
    lookup_rows_head,
    question_form,
    question_now,
    question_result,
    take_question,
    unsaved_answers,
)
from dashboard.show.parts.notices import empty, notice, store_errors_shown, unusable_texts
from dashboard.show.parts.track_form import track_form
from dashboard.show.parts.transaction_card import (
    answer_editor,
    share_form,
    template_mistakes_shown,
    transaction_card,
)

REFRESH: Final = timedelta(seconds=5)
REFRESH_OF_MANY: Final = timedelta(seconds=30)
"""The refresh period if there are more than an address holds, since all of them are read each time.
"""

FRESH_FOR: Final = timedelta(minutes=1)
"""An answer younger than this is shown as it is: nobody is asked again."""

ROWS: Final = 25
_PAGE: Final = "rows"
_ALL: Final = "All"
_ASKED_BY_ITSELF: Final = "asked_by_itself"
_Form: TypeAlias = Callable[[Sequence[TransactionSummary], AnswerContext], str]


def page() -> None:
    """Show the field, and below it the answer to what was asked in it or by the address."""
    queries = application.current()
    heading("Lookup", "What happened to a transaction, and what to tell a customer.")
    take_question(queries)
    question_form()
    asked = LookupQuestion()
    with store_errors_shown():
        asked = question_now(queries)
        if any(asked.remark):
            notice("bad", *asked.remark)
        unusable_texts(asked.paste)
    done_shown(queries)
    template_mistakes_shown(queries)
    asking = st.container()
    if asked.is_long:
        queries.discard_recent_summaries()  # what was just asked or tracked is seen at once
    wanted: Sequence[TxHash] = ()
    if len(asked.hashes) > 1:
        wanted = _actions(queries, asked)
    often = REFRESH_OF_MANY if asked.is_long else REFRESH
    live(often)(_answers)(asked)
    if len(asked.hashes) == 1:
        wanted = _actions(queries, asked)
    with asking:
        wanted = wanted or _asked_by_itself(queries, asked)
        if wanted and ask(queries, wanted):
            st.rerun()


def _asked_by_itself(queries: Application, asked: LookupQuestion) -> Sequence[TxHash]:
    """Return what is asked automatically, once: of few transactions those without a fresh answer.

    Of many those without any answer, and only if somebody pasted them.
    """
    was_done = st.session_state.get(_ASKED_BY_ITSELF) is asked
    if was_done or not (asked.hashes and queries.can_ask):
        return ()
    st.session_state[_ASKED_BY_ITSELF] = asked  # before asking: a stop asks no more
    known = _readable(queries, asked)
    if asked.is_long:
        return _unanswered(known) if asked.is_typed else ()
    since = queries.now() - FRESH_FOR
    return [each.tx_hash for each in known if each.unanswered_since(since) and not each.is_settled]


def _worth_asking(queries: Application, asked: LookupQuestion) -> Sequence[TxHash]:
    """Return what a press asks about: of many those without any answer, else all with open ends."""
    if not asked.is_long:
        return asked.hashes
    known = _readable(queries, asked)
    return _unanswered(known) or [each.tx_hash for each in known if not each.is_settled]


def _readable(queries: Application, asked: LookupQuestion) -> Sequence[TransactionSummary]:
    """Read what is known; nothing if the store cannot be read, which the answers show."""
    with suppress(StoreError):
        return _known(queries, asked)
    return ()


def _unanswered(known: Sequence[TransactionSummary]) -> Sequence[TxHash]:
    return [each.tx_hash for each in known if leading_verdict(each) in UNANSWERED_KINDS]


def _actions(queries: Application, asked: LookupQuestion) -> Sequence[TxHash]:
    """Offer what can be done with a look-up; return what somebody wants to ask about now."""
    hashes, wanted = asked.hashes, _worth_asking(queries, asked)
    with st.container(horizontal=True, gap="small", key="lookup-acts"):
        is_asked = st.button(
            f"Ask about {counted(len(wanted), 'transaction')}"
            if asked.is_long
            else "Ask the network now",
            icon=":material/sync:",
            key="ask",
            disabled=not (queries.can_ask and wanted),
            help=None if queries.can_ask else NOBODY_TO_ASK,
        )
        if queries.can_watch and may(queries, Action.TRACK):
            with st.popover("Track", icon=":material/visibility:", width="content"):
                track_form(queries, hashes, asked.address.case_id)
        if not asked.is_long and len(hashes) == 1 and may(queries, Action.SHARE):
            popover = st.popover("Share", icon=":material/share:", width="content")
            with popover, store_errors_shown():
                share_form(queries, hashes[0], asked.address.case_id)
        _files(queries, hashes)
        if may(queries, Action.CHANGE_ANSWERS) and st.button(
            "Edit the texts", icon=":material/edit:", key="edit-texts"
        ):
            answer_editor(queries, hashes[0], _context(queries))
    if asked.is_long and (cost := asking_cost(queries.networks, len(wanted))):
        quiet(cost)
    return wanted if is_asked else ()


def _files(queries: Application, hashes: Sequence[TxHash]) -> None:
    """Offer the whole look-up as files, written when somebody asks for them.

    They are written outside the session, so what it knows is passed on here.
    """
    context, unsaved = _context(queries), unsaved_answers()

    def written(form: _Form) -> str:
        summaries = with_unsaved(queries.summaries(hashes), unsaved)
        return form(summaries, replace(context, now=queries.now()))

    file_button(
        partial(written, lookup_csv),
        "lookup.csv",
        "lookup_csv",
        note="One line for each transaction, with the customer's text",
    )
    file_button(
        partial(written, lookup_json),
        "lookup.json",
        "lookup_json",
        note="Everything known about each transaction",
    )


def _context(queries: Application) -> AnswerContext:
    return AnswerContext(
        queries.now(),
        LookupAddress.current().case_id,
        queries.context.settings.public_url,
        queries.answers.state().templates,
    )


def _answers(asked: LookupQuestion) -> None:
    queries = application.current()
    if not asked.hashes:
        empty(
            "Paste a transaction hash, and press Enter",
            "A hash is 0x and 64 hexadecimal digits. A link from a block explorer works too.",
        )
        return
    with store_errors_shown():
        summaries = with_unsaved(_known(queries, asked), unsaved_answers())
        now = queries.now()
        with st.container():  # always: else answers move, and the last customer's stays a while
            question_result(summaries, now)
        if len(summaries) > 1:
            _many(queries, summaries)
        else:
            transaction_card(queries, summaries[0], _context(queries))


def _known(queries: Application, asked: LookupQuestion) -> Sequence[TransactionSummary]:
    """Read what is known; of many, a click on a row finds what the last run of the page read."""
    return (queries.recent_summaries if asked.is_long else queries.summaries)(asked.hashes)


def _many(queries: Application, summaries: Sequence[TransactionSummary]) -> None:
    """Show the counts, then a row for each; one opens in place."""
    kinds = list(map(leading_verdict, summaries))
    with st.container(key="card-rows", gap=None):
        if queries.networks:
            st.html(f'<p class="lw-lede lw-said" role="status">{_counts_in_words(kinds)}</p>')
        present = [kind.value for kind in VerdictKind if kind in kinds]
        chosen = choice_filter("Verdict", [_ALL, *present], "verdict", _ALL)
        shown = [
            each for each, kind in zip(summaries, kinds, strict=True) if chosen in {_ALL, str(kind)}
        ]
        lookup_rows_head()
        page_of_rows(len(shown), ROWS, _PAGE, lambda number: _rows(queries, shown, number))


def _rows(queries: Application, shown: Sequence[TransactionSummary], number: int) -> None:
    open_hash, context = opened(), _context(queries)
    for each in shown[(number - 1) * ROWS : number * ROWS]:
        is_open = open_hash == str(each.tx_hash)
        lookup_row(each, is_open=is_open)
        if is_open:
            with st.container(key=f"opened-{each.tx_hash}"):
                transaction_card(queries, each, context)


def _counts_in_words(kinds: Sequence[VerdictKind | None]) -> str:
    """Count the verdicts in one sentence, the most important first."""
    many = Counter(kinds)
    counts = "; ".join(f"{many[kind]:,} {kind}" for kind in VerdictKind if kind in many)
    return f"{counted(len(kinds), 'transaction')}: {counts}."
