"""Lookup answers: what happened to these transactions, and what to tell a customer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import streamlit as st

from dashboard.domain.answer_template import parse_case
from dashboard.domain.paste import Paste, read_lookup
from dashboard.domain.quantity import TxHash
from dashboard.domain.track_list import LONGEST_CASE_ID
from dashboard.domain.verdict import VerdictKind
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import done_shown
from dashboard.show.parts.answer_editor import answer_editor, template_mistakes_shown
from dashboard.show.parts.header_search import FIND
from dashboard.show.parts.heading import heading
from dashboard.show.parts.list_page import choice_filter, csv_button, json_button, page_of_rows
from dashboard.show.parts.live_lookup import ask, question_result, transactions, with_last_answers
from dashboard.show.parts.lookup_rows import lookup_row, lookup_rows_head
from dashboard.show.parts.notices import empty, notice, store_errors_shown, unusable_texts
from dashboard.show.parts.open_row import OPEN, opened
from dashboard.show.parts.track_form import track_form
from dashboard.show.parts.transaction_card import transaction_card
from dashboard.show.queries import page_queries
from dashboard.show.queries.customer_answer import AnswerContext, finding_groups
from dashboard.show.queries.lookup_files import lookup_csv, lookup_json
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

CASE: Final = "case"
"""The parameter of the address that holds the case id of a look-up."""

MOST_IN_ADDRESS: Final = 50
"""Hashes that go into the address; more would not fit a request line."""

FRESH_FOR: Final = timedelta(minutes=1)
"""An answer younger than this is shown as it is: nobody is asked again."""

ROWS: Final = 25
_PAGE: Final = "rows"
_ALL: Final = "All"
_PASTE: Final = "paste_text"
_CASE_TYPED: Final = "case_text"
_SUBMITTED: Final = "lookup_submitted"
_PASTED: Final = "pasted"
_ASKED_ON_OPENING: Final = "asked_on_opening"
_NOTHING: Final = Paste((), 0, ())


@dataclass(frozen=True)
class LookupAddress:
    """The part of the page's address that says what is looked up."""

    hashes: tuple[str, ...] = ()
    lookup_id: str = ""
    case: str = ""

    @classmethod
    def current(cls) -> LookupAddress:
        """Read what the browser shows."""
        parameters = st.query_params
        case = parameters.get(CASE, "")[:LONGEST_CASE_ID]
        return cls(tuple(parameters.get_all(TX)), parameters.get(LIST, ""), case)

    def show(self) -> None:
        """Let the browser show it, so that it can be passed on."""
        st.query_params[TX] = self.hashes
        for name, value in ((LIST, self.lookup_id), (CASE, self.case), (FIND, ""), (OPEN, "")):
            if value:
                st.query_params[name] = value
            else:
                st.query_params.pop(name, None)


@dataclass(frozen=True)
class PastedLookup:
    """What was pasted in this session, with the address that stands for it.

    `remark` says why nothing could be looked up, as a headline and a sentence.
    """

    paste: Paste
    address: LookupAddress
    remark: tuple[str, str] = ("", "")


def as_page() -> st.Page:
    """Return where this page lives; without an icon, as every page."""
    return st.Page(page, title="Lookup", url_path="lookup")


def page() -> None:
    """Show the field, and below it the answer to what was asked in it or by the address."""
    queries = page_queries.current()
    heading("Lookup", "What happened to a transaction, and what to tell a customer.")
    _take_question(queries)
    _question_form()
    paste = _NOTHING
    with store_errors_shown():
        pasted = _asked_for(queries)
        paste = pasted.paste
        if any(pasted.remark):
            notice("bad", *pasted.remark)
        unusable_texts(paste)
    done_shown(queries)
    template_mistakes_shown(queries)
    asking = st.container()
    if len(paste.hashes) > 1:
        _actions(queries, paste.hashes)
    is_long = len(paste.hashes) > MOST_IN_ADDRESS
    if is_long:
        queries.forget_recent_summaries()  # what was just asked or tracked is seen at once
    st.fragment(_answers, run_every=REFRESH_OF_MANY if is_long else REFRESH)(paste)
    if len(paste.hashes) == 1:
        _actions(queries, paste.hashes)
    with asking:
        _ask_on_opening(queries, paste.hashes)


def _question_form() -> None:
    with (
        st.container(key="card-paste"),
        st.form("paste", border=False),
        st.container(horizontal=True, vertical_alignment="center", gap="small", key="lookup-field"),
    ):
        st.text_area(
            "Transactions, one or many",
            height=68,
            key=_PASTE,
            placeholder="Hashes or links; or a sender, label, case id, words of a reason",
            label_visibility="collapsed",
        )
        st.text_input(
            "Case id (optional)",
            key=_CASE_TYPED,
            max_chars=LONGEST_CASE_ID,
            placeholder="Case id (optional)",
            label_visibility="collapsed",
            width=190,
            autocomplete="off",
        )
        st.form_submit_button("Look up", type="primary", on_click=_note_submission)


def _note_submission() -> None:
    st.session_state[_SUBMITTED] = True


def _take_question(queries: PageQueries) -> None:
    """Make what was submitted, or what a link searches for, the question of this page.

    The fields are emptied for the next customer, unless something in them has to be corrected.
    """
    found = st.query_params.get(FIND)
    if found is not None:
        st.session_state[_PASTE] = found
        st.session_state[_CASE_TYPED] = st.query_params.get(CASE, "")[:LONGEST_CASE_ID]
    elif not st.session_state.pop(_SUBMITTED, False):
        return
    text = str(st.session_state.get(_PASTE) or "")
    case = parse_case(str(st.session_state.get(_CASE_TYPED) or ""))
    st.session_state.pop(_ASKED_ON_OPENING, None)
    pasted = _look_up(queries, text, case)
    pasted.address.show()
    st.session_state[_PASTED] = pasted
    if pasted.paste.hashes and not pasted.paste.wrong:
        st.session_state[_PASTE] = st.session_state[_CASE_TYPED] = ""


def _look_up(queries: PageQueries, text: str, case: str) -> PastedLookup:
    """Find what a text stands for, and the address to pass on."""
    try:
        paste = queries.lookups.find(read_lookup(text))
        if not (paste.hashes or paste.wrong):
            remark = ("Nothing to look up.", "Paste at least one transaction hash.")
            return PastedLookup(_NOTHING, LookupAddress(), remark)
        return PastedLookup(paste, _address_of(queries, paste.hashes, case))
    except InputError as mistake:
        return PastedLookup(
            _NOTHING, LookupAddress(), ("Nothing was looked up:", sentence(str(mistake)))
        )
    except StoreError as trouble:
        remark = ("Nothing was looked up.", f"{sentence(str(trouble))} Try again in a moment.")
        return PastedLookup(_NOTHING, LookupAddress(), remark)


def _address_of(queries: PageQueries, hashes: Sequence[TxHash], case: str) -> LookupAddress:
    """Return what the address says of these hashes: each of them, or the name of the list."""
    if len(hashes) <= MOST_IN_ADDRESS:
        return LookupAddress(tuple(map(str, hashes)), case=case)
    return LookupAddress(lookup_id=queries.lookups.save(hashes), case=case)


def _asked_for(queries: PageQueries) -> PastedLookup:
    """Return what the address names, or what was pasted if the address stands for that."""
    address = LookupAddress.current()
    pasted = st.session_state.get(_PASTED)
    if not (isinstance(pasted, PastedLookup) and pasted.address == address):
        pasted = _named_by(queries, address)
        st.session_state[_PASTED] = pasted
    return pasted


def _named_by(queries: PageQueries, address: LookupAddress) -> PastedLookup:
    if not address.lookup_id:
        try:
            return PastedLookup(read_lookup("\n".join(address.hashes)), address)
        except InputError as mistake:
            remark = ("Nothing was looked up:", sentence(str(mistake)))
            return PastedLookup(_NOTHING, address, remark)
    hashes = queries.lookups.saved(address.lookup_id)
    if hashes is None:
        text = "What it names is not kept any more, or it was cut. Paste the hashes again."
        return PastedLookup(_NOTHING, address, ("This link leads to nothing.", text))
    return PastedLookup(Paste(hashes, 0, ()), address)


def _ask_on_opening(queries: PageQueries, hashes: Sequence[TxHash]) -> None:
    """Ask once about what is not known freshly, be it pasted or named by a link.

    Of many, only those that were never asked about: opening their link again costs nothing.
    """
    address = LookupAddress.current()
    if not (hashes and queries.can_ask) or st.session_state.get(_ASKED_ON_OPENING) == address:
        return
    st.session_state[_ASKED_ON_OPENING] = address  # before asking: a stop asks no more
    try:
        known = _known(queries, hashes)
    except StoreError:
        return  # the answers show the trouble
    since = queries.now() - FRESH_FOR
    is_few = len(hashes) <= MOST_IN_ADDRESS
    wanted = [
        each.tx_hash
        for each in known
        if (each.unanswered_since(since) and not each.is_settled if is_few else not each.was_asked)
    ]
    if wanted and ask(queries, wanted):
        st.rerun()


def _actions(queries: PageQueries, hashes: tuple[TxHash, ...]) -> None:
    with st.container(horizontal=True, gap="small", key="lookup-acts"):
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
        _files(queries, hashes)
        if st.button("Edit the texts", icon=":material/edit:", key="edit-texts"):
            answer_editor(queries, hashes[0], _context(queries))
    if asked:
        ask(queries, hashes)


def _files(queries: PageQueries, hashes: Sequence[TxHash]) -> None:
    """Offer the whole look-up as files, written when somebody asks for them."""
    csv_button(
        lambda: lookup_csv(queries.summaries(hashes), _context(queries)),
        "lookup.csv",
        "lookup_csv",
        note="One line for each transaction, with the text for its customer",
    )
    json_button(
        lambda: lookup_json(queries.summaries(hashes), _context(queries)),
        "lookup.json",
        "lookup_json",
        "All that is known of each transaction",
    )


def _context(queries: PageQueries) -> AnswerContext:
    return AnswerContext(
        queries.now(),
        LookupAddress.current().case,
        queries.context.settings.public_url,
        queries.answers.state().templates,
    )


def _answers(paste: Paste) -> None:
    queries = page_queries.current()
    if not paste.hashes:
        empty(
            "Paste a transaction hash, and press Enter",
            "It is 0x and 64 hexadecimal digits; a link from an explorer works too. "
            "The network is asked at once.",
        )
        return
    with store_errors_shown():
        summaries = with_last_answers(_known(queries, paste.hashes))
        now = queries.now()
        with (
            st.container()
        ):  # always there: else answers move, and the last customer's stays a while
            question_result(summaries, now)
        if len(summaries) > 1:
            _many(queries, summaries)
        else:
            transaction_card(summaries[0], _context(queries))


def _known(queries: PageQueries, hashes: Sequence[TxHash]) -> Sequence[TransactionSummary]:
    """Read what is known; of many, a click on a row finds what the last run of the page read."""
    is_long = len(hashes) > MOST_IN_ADDRESS
    return queries.recent_summaries(hashes) if is_long else queries.summaries(hashes)


def _many(queries: PageQueries, summaries: Sequence[TransactionSummary]) -> None:
    """Show the counts, then a row for each; one opens in place."""
    kinds = {each.tx_hash: verdict_of(each) for each in summaries}
    with st.container(key="card-rows", gap=None):
        if queries.networks:
            st.html(f'<p class="lw-lede lw-said" role="status">{verdict_counts(summaries)}</p>')
        present = [kind.value for kind in VerdictKind if kind in kinds.values()]
        chosen = choice_filter("Verdict", [_ALL, *present], "verdict", _ALL)
        shown = [each for each in summaries if chosen in {_ALL, str(kinds[each.tx_hash])}]
        lookup_rows_head()
        page_of_rows(len(shown), ROWS, _PAGE, lambda number: _rows(queries, shown, number))


def _rows(queries: PageQueries, shown: Sequence[TransactionSummary], number: int) -> None:
    open_hash, context = opened(), _context(queries)
    for each in shown[(number - 1) * ROWS : number * ROWS]:
        is_open = open_hash == str(each.tx_hash)
        lookup_row(each, is_open=is_open)
        if is_open:
            with st.container(key=f"opened-{each.tx_hash}"):
                transaction_card(each, context)


def verdict_of(summary: TransactionSummary) -> VerdictKind | None:
    """Return the most telling verdict; None where no network can be asked."""
    groups = finding_groups(summary)
    return groups[0].kind if groups else None


def verdict_counts(summaries: Sequence[TransactionSummary]) -> str:
    """Count the verdicts of several hashes in one sentence, the commonest first."""
    kinds = Counter(map(verdict_of, summaries))
    counts = "; ".join(f"{count:,} {kind}" for kind, count in kinds.most_common() if kind)
    return f"{transactions(len(summaries))}: {counts}."
