"""The live question on a page: its progress, a way to stop it, and its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from dashboard.domain.formatting import counted
from dashboard.domain.quantity import TxHash
from dashboard.errors import StoreError
from dashboard.show.parts.markup import element
from dashboard.show.parts.notices import notice
from dashboard.show.queries.lookup_page import AT_ONCE
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.transaction_summary import TransactionSummary
from dashboard.show.text import moment_near, sentence
from dashboard.store.evidence.record_answers import AnswersNotSaved, UnsavedAnswers

_ASKED: Final = "asked"


@dataclass(frozen=True)
class LiveQuestion:
    """A live question of this session: the hashes asked about so far, when, what is not stored."""

    hashes: frozenset[TxHash]
    at: datetime
    unsaved: tuple[UnsavedAnswers, ...] = ()


def ask(queries: PageQueries, hashes: Sequence[TxHash]) -> bool:
    """Ask the network about the hashes; a click on Stop reruns the page, which ends it.

    False where a notice was shown, which a rerun would take away before anybody read it.
    """
    asked_at = queries.now()
    try:
        for done in _ask(queries, hashes):
            st.session_state[_ASKED] = LiveQuestion(frozenset(hashes[:done]), asked_at)
    except AnswersNotSaved as trouble:
        unsaved = tuple(trouble.unsaved)
        st.session_state[_ASKED] = LiveQuestion(frozenset(hashes), asked_at, unsaved)
    except StoreError as trouble:
        notice("bad", "The answers could not be stored.", sentence(str(trouble)))
        return False
    return True


def _ask(queries: PageQueries, hashes: Sequence[TxHash]) -> Iterator[int]:
    """Ask in portions; yield how many are done, which a click on Stop does not lose."""
    seconds = f"{queries.look_up_deadline.total_seconds():.0f} s"
    if len(hashes) <= AT_ONCE:
        with st.spinner(f"Asking the network, for at most {seconds} …"):
            yield from queries.ask_now(hashes)
        return
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        progress = st.progress(0.0, _so_far(0, len(hashes)))
        st.button("Stop", icon=":material/stop:", key="stop_asking", help="Answers so far are kept")
        for done in queries.ask_now(hashes):
            yield done
            progress.progress(done / len(hashes), _so_far(done, len(hashes)))
    place.empty()


def _so_far(done: int, total: int) -> str:
    return f"Asked about {done:,} of {total:,} transactions …"


def unsaved_answers() -> tuple[UnsavedAnswers, ...]:
    """Return the answers to the last question of this session that could not be stored."""
    asked = st.session_state.get(_ASKED)
    return asked.unsaved if isinstance(asked, LiveQuestion) else ()


def question_result(summaries: Sequence[TransactionSummary], now: datetime) -> None:
    """Show how many hashes every network answered about, and what is missing or not stored."""
    asked = st.session_state.get(_ASKED)
    if not isinstance(asked, LiveQuestion):
        return
    about = [summary for summary in summaries if summary.tx_hash in asked.hashes]
    if not about:
        return
    silent = [summary.unanswered_since(asked.at) for summary in about]
    answered = len(about) - sum(map(bool, silent))
    many = counted(len(about), "transaction")
    said = f"Asked about {many} at {moment_near(asked.at, now)}: {answered:,} answered."
    if not any(silent):
        st.html(element("p", said, class_="lw-quiet", role="status"))
    else:
        names = dict.fromkeys(each.profile.name for found in silent for each in found)
        is_partly = any(summary.answered_since(asked.at) for summary in about)
        headline = "Some answers are missing." if is_partly else "No answer."
        notice("busy", headline, f"{said} Missing: {', '.join(names)}.")
    for why in dict.fromkeys(str(each.why) for each in asked.unsaved):
        kept = "It is shown here until you ask again or reload this page."
        notice("bad", "The answers could not be stored.", f"{sentence(why)} {kept}")
