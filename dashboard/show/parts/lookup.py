"""Looking transactions up on a page: the field, the live question, a row for each answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.customer_answers import FindingGroup
from dashboard.application.listing import Column, Listing
from dashboard.application.lookup import AT_ONCE, LookedUp
from dashboard.application.text import moment_near, sentence
from dashboard.application.transaction_summary import TransactionSummary
from dashboard.domain.formatting import counted, short_hash
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.answer_template import parse_case_id
from dashboard.domain.rejections.reasons import in_brief, name_of, overrun
from dashboard.domain.tracking.hashes_in_text import Paste, read_lookup
from dashboard.domain.tracking.remarks import LONGEST_CASE_ID
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import known_actor
from dashboard.show.parts.badges import verdict_badge
from dashboard.show.parts.frame import in_line, page_at
from dashboard.show.parts.list_page import OPEN, open_button
from dashboard.show.parts.notices import notice
from dashboard.show.parts.table import hash_cell, list_head, list_row
from dashboard.store.evidence.record_answers import AnswersNotSaved, UnsavedAnswers

TX: Final = "tx"
"""The parameter of the address with transactions: `?tx=0x…`, as often as needed."""

LIST: Final = "list"
"""The parameter of the address with a saved look-up of more transactions."""

CASE_ID: Final = "case_id"
"""The parameter of the address with the case id of a look-up."""

FIND: Final = "find"
"""The parameter of the address of a link that searches: `?find=case+1742`."""

PARAMETERS: Final = frozenset({TX, LIST, CASE_ID, FIND})

MOST_IN_ADDRESS: Final = 50
"""How many hashes go into the address; more would not fit a request line. A link to more asks
nobody when it is opened: it would spend the credits of whoever opens it."""

_LONGEST_WHOSE: Final = 60
_PASTE: Final = "paste_text"
_CASE_ID_TYPED: Final = "case_id_text"
_SUBMITTED: Final = "lookup_submitted"
_ASKED: Final = "lookup_question"


class LookupAddress(Struct, frozen=True):
    """The part of the page's address that says what is looked up."""

    hashes: tuple[str, ...] = ()
    lookup_id: str = ""
    case_id: str = ""

    @classmethod
    def current(cls) -> LookupAddress:
        """Read the address in the browser."""
        parameters = st.query_params
        case_id = parameters.get(CASE_ID, "")[:LONGEST_CASE_ID]
        return cls(tuple(parameters.get_all(TX)), parameters.get(LIST, ""), case_id)

    def parameters(self) -> dict[str, str | Sequence[str]]:
        said: dict[str, str | Sequence[str]] = {
            TX: self.hashes,
            LIST: self.lookup_id,
            CASE_ID: self.case_id,
        }
        return {name: value for name, value in said.items() if value}

    def show(self) -> None:
        """Show it in the browser, so that it can be passed on."""
        for name in (*PARAMETERS, OPEN):
            st.query_params.pop(name, None)
        st.query_params.update(self.parameters())


class LookupQuestion(Struct, frozen=True):
    """What is looked up in this session, with the address that stands for it.

    `remark` says why nothing could be looked up, as a headline and a sentence. `is_typed`: somebody
    pasted it here and pressed the button, rather than opened a link.
    """

    paste: Paste = Paste()
    address: LookupAddress = LookupAddress()
    remark: tuple[str, str] = ("", "")
    is_typed: bool = False

    @property
    def hashes(self) -> tuple[TxHash, ...]:
        """The transactions, each once."""
        return self.paste.hashes

    @property
    def is_long(self) -> bool:
        """Whether it does not fit into an address."""
        return len(self.hashes) > MOST_IN_ADDRESS


def question_form() -> None:
    """Show the field for transactions, and the one for a case id."""
    with (
        st.container(key="card-paste"),
        st.form("paste", border=False),
        in_line("lookup-field"),
    ):
        st.text_area(
            "Transactions, one or many",
            height=68,
            key=_PASTE,
            placeholder="Hashes or links; or a sender, label, case id or words of a reason",
            label_visibility="collapsed",
        )
        st.text_input(
            "Case id (optional)",
            key=_CASE_ID_TYPED,
            max_chars=LONGEST_CASE_ID,
            placeholder="Case id (optional)",
            label_visibility="collapsed",
            width=190,
            autocomplete="off",
        )
        note_submission = partial(st.session_state.update, {_SUBMITTED: True})
        st.form_submit_button("Look up", type="primary", on_click=note_submission)


def take_question(queries: Application) -> None:
    """Make what was submitted, or what a link searches for, the question of this page."""
    found = st.query_params.get(FIND)
    if found is not None:
        case_id = st.query_params.get(CASE_ID, "")[:LONGEST_CASE_ID]
        ask_for(queries, found, case_id, is_typed=False).show()
    elif st.session_state.pop(_SUBMITTED, False):
        text = str(st.session_state.get(_PASTE) or "")
        case_id = str(st.session_state.get(_CASE_ID_TYPED) or "")
        ask_for(queries, text, case_id, is_typed=True).show()


def ask_for(queries: Application, text: str, case_id: str, *, is_typed: bool) -> LookupAddress:
    """Make a text and a case id the question of this page; return the address for it.

    The fields are emptied for the next customer, unless nothing was found: a greeting beside hashes
    would otherwise precede what is pasted next.
    """
    asked = replace(_look_up(queries, text, parse_case_id(case_id)), is_typed=is_typed)
    st.session_state[_ASKED] = asked
    st.session_state[_PASTE] = "" if asked.hashes else text
    st.session_state[_CASE_ID_TYPED] = "" if asked.hashes else case_id
    return asked.address


def search(text: str) -> None:
    """Open the page Lookup for a text typed on any page.

    Its address is known before: each address on the way would be a step of Back.
    """
    address = ask_for(application.current(), text, "", is_typed=False)
    st.switch_page(page_at("lookup"), query_params=address.parameters())


def _look_up(queries: Application, text: str, case_id: str) -> LookupQuestion:
    """Find the transactions that a text stands for, and the address to pass on."""
    try:
        paste = queries.lookups.find(read_lookup(text))
        if paste.hashes or paste.wrong:
            return LookupQuestion(paste, _address_of(queries, paste.hashes, case_id))
        remark = ("Nothing to look up.", "Paste at least one transaction hash.")
    except InputError as mistake:
        remark = _refused(mistake)
    except StoreError as trouble:
        remark = ("Nothing was looked up.", f"{sentence(str(trouble))} Try again in a moment.")
    return LookupQuestion(remark=remark)


def _address_of(queries: Application, hashes: Sequence[TxHash], case_id: str) -> LookupAddress:
    """Return the part of the address for these hashes: each of them, or the name of the list."""
    if len(hashes) <= MOST_IN_ADDRESS:
        return LookupAddress(tuple(map(str, hashes)), case_id=case_id)
    return LookupAddress(
        lookup_id=queries.lookups.save(hashes, known_actor(queries)), case_id=case_id
    )


def question_now(queries: Application) -> LookupQuestion:
    """Return the question in the address, or the pasted one if the address stands for it.

    It is the same object until another question replaces it. May raise StoreError.
    """
    address = LookupAddress.current()
    asked = st.session_state.get(_ASKED)
    if not (isinstance(asked, LookupQuestion) and asked.address == address):
        asked = _named_by(queries, address)
        st.session_state[_ASKED] = asked
    return asked


def _named_by(queries: Application, address: LookupAddress) -> LookupQuestion:
    if not address.lookup_id:
        try:
            return LookupQuestion(read_lookup("\n".join(address.hashes)), address)
        except InputError as mistake:
            return LookupQuestion(address=address, remark=_refused(mistake))
    hashes = queries.lookups.saved(address.lookup_id)
    if hashes is None:
        remark = ("This link has expired or is incomplete.", "Paste the hashes again.")
        return LookupQuestion(address=address, remark=remark)
    return LookupQuestion(Paste(hashes), address)


def _refused(mistake: InputError) -> tuple[str, str]:
    return ("Nothing was looked up:", sentence(str(mistake)))


_ASKED_NOW: Final = "asked"


class LiveQuestion(Struct, frozen=True):
    """A live question of this session: the hashes asked about so far, when, what is not stored."""

    hashes: frozenset[TxHash]
    at: datetime
    unsaved: tuple[UnsavedAnswers, ...] = ()


def ask(queries: Application, hashes: Sequence[TxHash]) -> bool:
    """Ask the network about the hashes; a click on Stop reruns the page, which ends it.

    False if a notice was shown, which a rerun would remove before anybody read it.
    """
    asked_at = queries.now()
    try:
        for done in _ask(queries, hashes):
            st.session_state[_ASKED_NOW] = LiveQuestion(frozenset(hashes[:done]), asked_at)
    except AnswersNotSaved as trouble:
        unsaved = tuple(trouble.unsaved)
        st.session_state[_ASKED_NOW] = LiveQuestion(frozenset(hashes), asked_at, unsaved)
    except StoreError as trouble:
        notice("bad", "The answers could not be stored.", sentence(str(trouble)))
        return False
    return True


def _ask(queries: Application, hashes: Sequence[TxHash]) -> Iterator[int]:
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
    asked = st.session_state.get(_ASKED_NOW)
    return asked.unsaved if isinstance(asked, LiveQuestion) else ()


def question_result(summaries: Sequence[TransactionSummary], now: datetime) -> None:
    """Show how many hashes every network answered about, and what is missing or not stored."""
    asked = st.session_state.get(_ASKED_NOW)
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
        kept = "The answers stay here until you ask again or reload this page."
        notice("bad", "The answers could not be stored.", f"{sentence(why)} {kept}")


def lookup_rows_head() -> None:
    st.html(list_head(_ROWS, "lw-look"))


def lookup_row(summary: TransactionSummary, *, is_open: bool) -> None:
    """Show one row; a click on it, or Enter, opens the transaction, or closes it."""
    tx_hash = str(summary.tx_hash)
    with st.container(key=f"look-{tx_hash}", gap=None):
        st.html(list_row(_ROWS, LookedUp.of(summary), "lw-look"))
        open_button(tx_hash, short_hash(summary.tx_hash), is_open=is_open)


def _transaction(each: LookedUp) -> Markup:
    """Show the hash, whether it is tracked, and then whose it is."""
    tx_hash = element("b", hash_cell(each.summary.tx_hash))
    if not each.summary.is_tracked:
        return tx_hash
    tracked = element("span", "◉", element("span", "tracked", class_="lw-sr"), title="Tracked")
    case_id = f"case {each.summary.case_id}" if each.summary.case_id else ""
    whose = ", ".join(filter(None, (each.summary.label, case_id)))
    return join(tx_hash, " ", tracked, " ", element("small", visible(whose, _LONGEST_WHOSE)))


def _why(each: LookedUp) -> Markup:
    """Name the module and the overrun in few words, for each network if they differ."""
    causes = dict.fromkeys(_cause(group) for group in each.leading if group.reason is not None)
    return Markup("; ".join(causes))


def _cause(group: FindingGroup) -> Markup:
    reason = group.reason
    if reason is None:
        return Markup()
    factor = overrun(reason)
    times = Markup() if factor is None else element("small", f" {factor:,.2f}× the limit")
    said = in_brief(reason) if factor is None else name_of((reason.kind, reason.module))
    return join(element("span", breakable(said), title=group.cause()), times)


_ROWS: Final[Listing[LookedUp]] = Listing(
    "transactions",
    (
        Column("Transaction", _transaction),
        Column("Verdict", lambda each: verdict_badge(each.main.kind) if each.main else "–"),
        Column(
            "Network",
            lambda each: (
                "; ".join(group.networks for group in each.leading) or "no network can be asked"
            ),
        ),
        Column("Why", _why),
    ),
)
