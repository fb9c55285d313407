"""Lookup answers: what happened to these transactions, and what to tell whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import streamlit as st

from dashboard.domain.paste import Paste, read_paste
from dashboard.domain.quantity import TxHash
from dashboard.errors import StoreError
from dashboard.show import desk as desks
from dashboard.show.desk import Desk
from dashboard.show.dossiers import Dossier
from dashboard.show.parts.dossier import dossier_card
from dashboard.show.parts.heading import heading
from dashboard.show.parts.paste import wrong_texts
from dashboard.show.parts.states import empty, notice, store_trouble_shown
from dashboard.show.parts.tracking import tracking_form
from dashboard.show.text import age

REFRESH: Final = timedelta(seconds=5)
TX: Final = "tx"
"""The parameter of the address that names transactions: `?tx=0x…`, as often as needed."""

MOST_IN_ADDRESS: Final = 50
"""Hashes that go into the address; more would not fit a request line."""

MOST_SHOWN: Final = 25
_PASTED: Final = "pasted"
_ASKED: Final = "asked"


@dataclass(frozen=True)
class Pasted:
    """What was pasted in this session, with the address that stands for it."""

    paste: Paste
    address: list[str]


@dataclass(frozen=True)
class Asked:
    """A live question of this session: which hashes, and when it was asked."""

    hashes: tuple[TxHash, ...]
    at: datetime


def place() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Lookup", url_path="lookup")


def page() -> None:
    """Show the form beside what is known of the hashes."""
    desk = desks.current()
    heading("Lookup", "What happened to a transaction, and what to tell whoever asks.")
    question, answers = st.columns([5, 8], gap="medium")
    with question:
        _paste_form(desk)
        paste = _asked_for()
        wrong_texts(paste)
    with answers:
        if paste.hashes:
            _actions(desk, paste.hashes)
        _answers(paste)


def _paste_form(desk: Desk) -> None:
    with st.container(key="card-paste"), st.form("paste", border=False):
        text = st.text_area(
            "Transaction hashes or explorer links",
            height=132,
            key="paste_text",
            placeholder="0x… one or many; commas, blanks, lines and links are fine",
        )
        if st.form_submit_button("Look up", type="primary"):
            _remember(text)
            _ask_what_was_never_asked(desk, _asked_for().hashes)


def _remember(text: str) -> None:
    """Keep what was pasted, and put it into the address so that it can be shared."""
    paste = read_paste(text)
    address = [str(tx_hash) for tx_hash in paste.hashes]
    if len(address) > MOST_IN_ADDRESS:
        address = []
    st.query_params[TX] = address
    st.session_state[_PASTED] = Pasted(paste, address)


def _asked_for() -> Paste:
    """Return what the address names, or what was pasted if the address stands for that."""
    address = st.query_params.get_all(TX)
    pasted = st.session_state.get(_PASTED)
    if isinstance(pasted, Pasted) and pasted.address == address:
        return pasted.paste
    return read_paste("\n".join(address))


def _ask_what_was_never_asked(desk: Desk, hashes: Sequence[TxHash]) -> None:
    try:
        unasked = [dossier.tx_hash for dossier in desk.dossiers(hashes) if not dossier.was_asked]
    except StoreError:
        return  # the answers beside the form show the trouble
    if unasked and desk.can_ask:
        _ask(desk, tuple(unasked))


def _ask(desk: Desk, hashes: tuple[TxHash, ...]) -> None:
    st.session_state[_ASKED] = Asked(hashes, desk.now())
    with st.spinner(
        f"Asking the network, for at most {desk.look_up_deadline.total_seconds():.0f} s …"
    ):
        desk.ask_now(hashes)


def _actions(desk: Desk, hashes: tuple[TxHash, ...]) -> None:
    with st.container(horizontal=True, gap="small"):
        asked = st.button(
            "Ask the network now",
            icon=":material/sync:",
            key="ask",
            disabled=not desk.can_ask,
            help=None if desk.can_ask else "No network with an exclusion endpoint is configured.",
        )
        if desk.can_watch:
            with st.popover("Track", icon=":material/visibility:", width="content"):
                tracking_form(desk, hashes)
    if asked:
        _ask(desk, hashes)


@st.fragment(run_every=REFRESH)
def _answers(paste: Paste) -> None:
    desk = desks.current()
    if not paste.hashes:
        empty(
            "Paste a transaction hash",
            "It is 0x and 64 hexadecimal digits; a link from an explorer works too. "
            "Hashes that were never asked about are asked at once.",
        )
        return
    with store_trouble_shown():
        dossiers = desk.dossiers(paste.hashes)
        now = desk.now()
        _outcome(dossiers, now)
        if len(dossiers) > 1:
            st.html(f'<p class="lw-lede" role="status">{summary(dossiers)}</p>')
        for dossier in dossiers[: _shown()]:
            dossier_card(dossier, now, is_alone=len(dossiers) == 1)
        _offer_more(len(dossiers))


def _outcome(dossiers: Sequence[Dossier], now: datetime) -> None:
    asked = st.session_state.get(_ASKED)
    if not isinstance(asked, Asked):
        return
    about = [dossier for dossier in dossiers if dossier.tx_hash in asked.hashes]
    if not about:
        return
    answered = sum(dossier.answered_since(asked.at) for dossier in about)
    kind, headline = ("calm", "Answered.") if answered == len(about) else ("busy", "No answer.")
    if 0 < answered < len(about):
        headline = "Some answers are missing."
    notice(
        kind,
        headline,
        f"Asked about {_transactions(len(about))} {age(asked.at, now)}: {answered} answered.",
    )


def summary(dossiers: Sequence[Dossier]) -> str:
    """Count the verdicts of several hashes in one sentence, the commonest first."""
    kinds = Counter(dossier.telling_findings()[0].verdict.kind for dossier in dossiers)
    counts = "; ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return f"{_transactions(len(dossiers))}: {counts}."


def _transactions(count: int) -> str:
    return "1 transaction" if count == 1 else f"{count} transactions"


def _shown() -> int:
    return int(st.session_state.get("shown", MOST_SHOWN))


def _offer_more(count: int) -> None:
    if count > _shown() and st.button(f"Show {min(MOST_SHOWN, count - _shown())} more"):
        st.session_state["shown"] = _shown() + MOST_SHOWN
        st.rerun(scope="fragment")
