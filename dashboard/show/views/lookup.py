"""Lookup answers: what happened to these transactions, and what to tell a customer."""

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
from dashboard.show.parts.live_lookup import ask, question_result, transactions, with_last_answers
from dashboard.show.parts.notices import empty, notice, store_errors_shown, unusable_texts
from dashboard.show.parts.track_form import track_form
from dashboard.show.parts.transaction_card import transaction_card
from dashboard.show.queries import page_queries
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.transaction_summary import TransactionSummary
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
class LookupAddress:
    """The part of the page's address that says what is looked up."""

    hashes: tuple[str, ...] = ()
    lookup_id: str = ""

    @classmethod
    def current(cls) -> LookupAddress:
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
class PastedLookup:
    """What was pasted in this session, with the address that stands for it."""

    paste: Paste
    address: LookupAddress


def as_page() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Lookup", url_path="lookup")


def page() -> None:
    """Show the form beside what is known of the hashes."""
    queries = page_queries.current()
    heading("Lookup", "What happened to a transaction, and what to tell a customer.")
    question, answers = st.columns([5, 8], gap="medium")
    paste = _NOTHING
    with question, store_errors_shown():
        _paste_form(queries)
        paste = _asked_for(queries)
        unusable_texts(paste)
        if paste.hashes and LookupAddress.current().lookup_id:
            hint = (
                f"To pass on all {transactions(len(paste.hashes))}, copy the address of this page."
            )
            st.html(f'<p class="lw-quiet">{hint}</p>')
    with answers:
        if paste.hashes:
            _ask_on_opening(queries, paste.hashes)
            _actions(queries, paste.hashes)
        is_long = len(paste.hashes) > MOST_IN_ADDRESS
        st.fragment(_answers, run_every=REFRESH_OF_MANY if is_long else REFRESH)(paste)


def _paste_form(queries: PageQueries) -> None:
    with st.container(key="card-paste"), st.form("paste", border=False):
        text = st.text_area(
            "Transaction hashes or explorer links",
            height=132,
            key="paste_text",
            placeholder="0x… one or many; commas, blanks, lines and links are fine. "
            "Or a label, a sender, words of a reason",
        )
        if st.form_submit_button("Look up", type="primary"):
            _look_up(queries, text)


def _look_up(queries: PageQueries, text: str) -> None:
    """Make what was pasted the question of this page, and put it into the address."""
    st.session_state.pop(_OPENED, None)
    try:
        paste = queries.lookups.find(read_lookup(text))
    except InputError as mistake:
        notice("bad", "Nothing was looked up:", sentence(str(mistake)))
        paste = _NOTHING
    else:
        if not (paste.hashes or paste.wrong):
            notice("busy", "Nothing to look up.", "Paste at least one transaction hash.")
    address = _address_of(queries, paste.hashes)
    address.show()
    st.session_state[_PASTED] = PastedLookup(paste, address)


def _address_of(queries: PageQueries, hashes: Sequence[TxHash]) -> LookupAddress:
    """Return what the address says of these hashes: each of them, or the name of the list."""
    if len(hashes) <= MOST_IN_ADDRESS:
        return LookupAddress(tuple(map(str, hashes)))
    try:
        lookup_id = queries.lookups.save(hashes)
    except StoreError as trouble:
        notice("bad", "There is no link to pass on.", sentence(str(trouble)))
        return LookupAddress()
    return LookupAddress(lookup_id=lookup_id)


def _asked_for(queries: PageQueries) -> Paste:
    """Return what the address names, or what was pasted if the address stands for that."""
    address = LookupAddress.current()
    pasted = st.session_state.get(_PASTED)
    if not (isinstance(pasted, PastedLookup) and pasted.address == address):
        pasted = PastedLookup(_named_by(queries, address), address)
        st.session_state[_PASTED] = pasted
    return pasted.paste


def _named_by(queries: PageQueries, address: LookupAddress) -> Paste:
    if not address.lookup_id:
        return read_paste("\n".join(address.hashes))
    hashes = queries.lookups.saved(address.lookup_id)
    if hashes is None:
        text = "What it names is not kept any more, or it was cut. Paste the hashes again."
        notice("bad", "This link leads to nothing.", text)
        return _NOTHING
    return Paste(hashes, 0, ())


def _ask_on_opening(queries: PageQueries, hashes: Sequence[TxHash]) -> None:
    """Ask once about what was never asked, be it pasted or named by a link."""
    address = LookupAddress.current()
    if not queries.can_ask or st.session_state.get(_OPENED) == address:
        return
    st.session_state[_OPENED] = address  # before asking: a stop asks no more
    try:
        unasked = [
            summary.tx_hash for summary in queries.summaries(hashes) if not summary.was_asked
        ]
    except StoreError:
        return  # the answers below show the trouble
    if unasked:
        ask(queries, unasked)


def _actions(queries: PageQueries, hashes: tuple[TxHash, ...]) -> None:
    with st.container(horizontal=True, gap="small"):
        asked = st.button(
            "Ask the network now",
            icon=":material/sync:",
            key="ask",
            disabled=not queries.can_ask,
            help=None
            if queries.can_ask
            else "No network with an exclusion endpoint is configured.",
        )
        if queries.can_watch:
            with st.popover("Track", icon=":material/visibility:", width="content"):
                track_form(queries, hashes)
    if asked:
        ask(queries, hashes)


def _answers(paste: Paste) -> None:
    queries = page_queries.current()
    if not paste.hashes:
        empty(
            "Paste a transaction hash",
            "It is 0x and 64 hexadecimal digits; a link from an explorer works too. "
            "Hashes that were never asked about are asked at once.",
        )
        return
    with store_errors_shown():
        summaries = with_last_answers(queries.summaries(paste.hashes))
        now = queries.now()
        question_result(summaries, now)
        if len(summaries) > 1 and queries.networks:
            st.html(f'<p class="lw-lede" role="status">{verdict_counts(summaries)}</p>')
        for summary in summaries[: _shown()]:
            transaction_card(summary, now, is_alone=len(summaries) == 1)
        _offer_more(len(summaries))


def verdict_counts(summaries: Sequence[TransactionSummary]) -> str:
    """Count the verdicts of several hashes in one sentence, the commonest first."""
    kinds = Counter(summary.conclusive_findings()[0].verdict.kind for summary in summaries)
    counts = "; ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    return f"{transactions(len(summaries))}: {counts}."


def _shown() -> int:
    return int(st.session_state.get("shown", MOST_SHOWN))


def _offer_more(count: int) -> None:
    if count > _shown() and st.button(f"Show {min(MOST_SHOWN, count - _shown())} more"):
        st.session_state["shown"] = _shown() + MOST_SHOWN
        st.rerun(scope="fragment")
