"""Lookup answers: what happened to these transactions, and what to tell whoever asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import streamlit as st

from dashboard.domain.paste import Paste, read_lookup, read_paste
from dashboard.domain.quantity import TxHash
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.heading import heading
from dashboard.show.parts.live_lookup import ask, outcome, transactions, with_last_answers
from dashboard.show.parts.notices import empty, notice, store_trouble_shown, wrong_texts
from dashboard.show.parts.track_form import tracking_form
from dashboard.show.parts.transaction_card import dossier_card
from dashboard.show.queries import page_queries
from dashboard.show.queries.page_queries import Desk
from dashboard.show.queries.transaction_summary import Dossier
from dashboard.show.text import sentence

REFRESH: Final = timedelta(seconds=5)
REFRESH_OF_MANY: Final = timedelta(seconds=30)
"""Where there are more than `MOST_IN_ADDRESS`, since all of them are read each time."""

TX: Final = "tx"
"""The parameter of the address that names transactions: `?tx=0x…`, as often as needed."""

LIST: Final = "list"
"""The parameter of the address that names a saved look-up of more transactions."""

MOST_IN_ADDRESS: Final = 50
"""Hashes that go into the address; more would not fit a request line."""

MOST_SHOWN: Final = 25
_PASTED: Final = "pasted"
_OPENED: Final = "opened"
_NOTHING: Final = Paste((), 0, ())


@dataclass(frozen=True)
class Address:
    """The part of the page's address that says what is looked up."""

    hashes: tuple[str, ...] = ()
    lookup_id: str = ""

    @classmethod
    def current(cls) -> Address:
        """Read what the browser shows."""
        return cls(tuple(st.query_params.get_all(TX)), st.query_params.get(LIST, ""))

    def show(self) -> None:
        """Let the browser show it, so that it can be passed on."""
        st.query_params[TX] = self.hashes
        if self.lookup_id:
            st.query_params[LIST] = self.lookup_id
        else:
            st.query_params.pop(LIST, None)


@dataclass(frozen=True)
class Pasted:
    """What was pasted in this session, with the address that stands for it."""

    paste: Paste
    address: Address


def place() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Lookup", url_path="lookup")


def page() -> None:
    """Show the form beside what is known of the hashes."""
    desk = page_queries.current()
    heading("Lookup", "What happened to a transaction, and what to tell whoever asks.")
    question, answers = st.columns([5, 8], gap="medium")
    paste = _NOTHING
    with question, store_trouble_shown():
        _paste_form(desk)
        paste = _asked_for(desk)
        wrong_texts(paste)
        if paste.hashes and Address.current().lookup_id:
            said = (
                f"To pass on all {transactions(len(paste.hashes))}, copy the address of this page."
            )
            st.html(f'<p class="lw-quiet">{said}</p>')
    with answers:
        if paste.hashes:
            _ask_on_opening(desk, paste.hashes)
            _actions(desk, paste.hashes)
        is_long = len(paste.hashes) > MOST_IN_ADDRESS
        st.fragment(_answers, run_every=REFRESH_OF_MANY if is_long else REFRESH)(paste)


def _paste_form(desk: Desk) -> None:
    with st.container(key="card-paste"), st.form("paste", border=False):
        text = st.text_area(
            "Transaction hashes or explorer links",
            height=132,
            key="paste_text",
            placeholder="0x… one or many; commas, blanks, lines and links are fine. "
            "Or a label, a sender, words of a reason",
        )
        if st.form_submit_button("Look up", type="primary"):
            _look_up(desk, text)


def _look_up(desk: Desk, text: str) -> None:
    """Make what was pasted the question of this page, and put it into the address."""
    st.session_state.pop(_OPENED, None)
    try:
        paste = desk.lookups.find(read_lookup(text))
    except InputError as mistake:
        notice("bad", "Nothing was looked up:", sentence(str(mistake)))
        paste = _NOTHING
    else:
        if not (paste.hashes or paste.wrong):
            notice("busy", "Nothing to look up.", "Paste at least one transaction hash.")
    address = _address_of(desk, paste.hashes)
    address.show()
    st.session_state[_PASTED] = Pasted(paste, address)


def _address_of(desk: Desk, hashes: Sequence[TxHash]) -> Address:
    """Return what the address says of these hashes: each of them, or the name of the list."""
    if len(hashes) <= MOST_IN_ADDRESS:
        return Address(tuple(map(str, hashes)))
    try:
        lookup_id = desk.lookups.save(hashes)
    except StoreError as trouble:
        notice("bad", "There is no link to pass on.", sentence(str(trouble)))
        return Address()
    return Address(lookup_id=lookup_id)


def _asked_for(desk: Desk) -> Paste:
    """Return what the address names, or what was pasted if the address stands for that."""
    address = Address.current()
    pasted = st.session_state.get(_PASTED)
    if not (isinstance(pasted, Pasted) and pasted.address == address):
        pasted = Pasted(_named_by(desk, address), address)
        st.session_state[_PASTED] = pasted
    return pasted.paste


def _named_by(desk: Desk, address: Address) -> Paste:
    if not address.lookup_id:
        return read_paste("\n".join(address.hashes))
    hashes = desk.lookups.saved(address.lookup_id)
    if hashes is None:
        said = "What it names is not kept any more, or it was cut. Paste the hashes again."
        notice("bad", "This link leads to nothing.", said)
        return _NOTHING
    return Paste(hashes, 0, ())


def _ask_on_opening(desk: Desk, hashes: Sequence[TxHash]) -> None:
    """Ask once about what was never asked, be it pasted or named by a link."""
    address = Address.current()
    if not desk.can_ask or st.session_state.get(_OPENED) == address:
        return
    st.session_state[_OPENED] = address  # before asking: a stop asks no more
    try:
        unasked = [dossier.tx_hash for dossier in desk.dossiers(hashes) if not dossier.was_asked]
    except StoreError:
        return  # the answers below show the trouble
    if unasked:
        ask(desk, unasked)


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
        ask(desk, hashes)


def _answers(paste: Paste) -> None:
    desk = page_queries.current()
    if not paste.hashes:
        empty(
            "Paste a transaction hash",
            "It is 0x and 64 hexadecimal digits; a link from an explorer works too. "
            "Hashes that were never asked about are asked at once.",
        )
        return
    with store_trouble_shown():
        dossiers = with_last_answers(desk.dossiers(paste.hashes))
        now = desk.now()
        outcome(dossiers, now)
        if len(dossiers) > 1 and desk.networks:
            st.html(f'<p class="lw-lede" role="status">{summary(dossiers)}</p>')
        for dossier in dossiers[: _shown()]:
            dossier_card(dossier, now, is_alone=len(dossiers) == 1)
        _offer_more(len(dossiers))


def summary(dossiers: Sequence[Dossier]) -> str:
    """Count the verdicts of several hashes in one sentence, the commonest first."""
    kinds = Counter(dossier.telling_findings()[0].verdict.kind for dossier in dossiers)
    counts = "; ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return f"{transactions(len(dossiers))}: {counts}."


def _shown() -> int:
    return int(st.session_state.get("shown", MOST_SHOWN))


def _offer_more(count: int) -> None:
    if count > _shown() and st.button(f"Show {min(MOST_SHOWN, count - _shown())} more"):
        st.session_state["shown"] = _shown() + MOST_SHOWN
        st.rerun(scope="fragment")
