"""What is looked up: the field, what somebody pasted into it, and what the address names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import streamlit as st

from dashboard.domain.answer_template import parse_case_id
from dashboard.domain.listed_transaction import LONGEST_CASE_ID
from dashboard.domain.paste import Paste, read_lookup
from dashboard.domain.quantity import TxHash
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.open_row import OPEN
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import sentence

TX: Final = "tx"
"""The parameter of the address that names transactions: `?tx=0x…`, as often as needed."""

LIST: Final = "list"
"""The parameter of the address that names a saved look-up of more transactions."""

CASE_ID: Final = "case_id"
"""The parameter of the address that holds the case id of a look-up."""

FIND: Final = "find"
"""The parameter of the address of a link that searches: `?find=case+1742`."""

PARAMETERS: Final = frozenset({TX, LIST, CASE_ID, FIND})

MOST_IN_ADDRESS: Final = 50
"""Hashes that go into the address; more would not fit a request line.

A link to more asks nobody when it is opened: it would spend the credits of whoever opens it.
"""

_PASTE: Final = "paste_text"
_CASE_ID_TYPED: Final = "case_id_text"
_SUBMITTED: Final = "lookup_submitted"
_ASKED: Final = "lookup_question"


@dataclass(frozen=True)
class LookupAddress:
    """The part of the page's address that says what is looked up."""

    hashes: tuple[str, ...] = ()
    lookup_id: str = ""
    case_id: str = ""

    @classmethod
    def current(cls) -> LookupAddress:
        """Read what the browser shows."""
        parameters = st.query_params
        case_id = parameters.get(CASE_ID, "")[:LONGEST_CASE_ID]
        return cls(tuple(parameters.get_all(TX)), parameters.get(LIST, ""), case_id)

    def parameters(self) -> dict[str, str | Sequence[str]]:
        """Return the parameters that say it."""
        said: dict[str, str | Sequence[str]] = {
            TX: self.hashes,
            LIST: self.lookup_id,
            CASE_ID: self.case_id,
        }
        return {name: value for name, value in said.items() if value}

    def show(self) -> None:
        """Let the browser show it, so that it can be passed on."""
        for name in (*PARAMETERS, OPEN):
            st.query_params.pop(name, None)
        st.query_params.update(self.parameters())


@dataclass(frozen=True)
class LookupQuestion:
    """What is looked up in this session, with the address that stands for it.

    `remark` says why nothing could be looked up, as a headline and a sentence. `is_typed`:
    somebody pasted it here and pressed the button, rather than opened a link.
    """

    paste: Paste = field(default_factory=Paste)
    address: LookupAddress = field(default_factory=LookupAddress)
    remark: tuple[str, str] = ("", "")
    is_typed: bool = False

    @property
    def hashes(self) -> tuple[TxHash, ...]:
        """The transactions, each once."""
        return self.paste.hashes

    @property
    def is_long(self) -> bool:
        """Whether it is more than an address holds."""
        return len(self.hashes) > MOST_IN_ADDRESS


def question_form() -> None:
    """Show the field for transactions, and the one for a case id."""
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
            key=_CASE_ID_TYPED,
            max_chars=LONGEST_CASE_ID,
            placeholder="Case id (optional)",
            label_visibility="collapsed",
            width=190,
            autocomplete="off",
        )
        st.form_submit_button("Look up", type="primary", on_click=_note_submission)


def _note_submission() -> None:
    st.session_state[_SUBMITTED] = True


def take_question(queries: PageQueries) -> None:
    """Make what was submitted, or what a link searches for, the question of this page."""
    found = st.query_params.get(FIND)
    if found is not None:
        case_id = st.query_params.get(CASE_ID, "")[:LONGEST_CASE_ID]
        ask_for(queries, found, case_id, is_typed=False).show()
    elif st.session_state.pop(_SUBMITTED, False):
        text = str(st.session_state.get(_PASTE) or "")
        case_id = str(st.session_state.get(_CASE_ID_TYPED) or "")
        ask_for(queries, text, case_id, is_typed=True).show()


def ask_for(queries: PageQueries, text: str, case_id: str, *, is_typed: bool) -> LookupAddress:
    """Make a text and a case id the question of this page; return the address that says it.

    The fields are empty for the next customer, unless something in them has to be corrected.
    """
    asked = replace(_look_up(queries, text, parse_case_id(case_id)), is_typed=is_typed)
    is_answered = bool(asked.hashes) and not asked.paste.wrong
    st.session_state[_ASKED] = asked
    st.session_state[_PASTE] = "" if is_answered else text
    st.session_state[_CASE_ID_TYPED] = "" if is_answered else case_id
    return asked.address


def _look_up(queries: PageQueries, text: str, case_id: str) -> LookupQuestion:
    """Find what a text stands for, and the address to pass on."""
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


def _address_of(queries: PageQueries, hashes: Sequence[TxHash], case_id: str) -> LookupAddress:
    """Return what the address says of these hashes: each of them, or the name of the list."""
    if len(hashes) <= MOST_IN_ADDRESS:
        return LookupAddress(tuple(map(str, hashes)), case_id=case_id)
    return LookupAddress(lookup_id=queries.lookups.save(hashes), case_id=case_id)


def question_now(queries: PageQueries) -> LookupQuestion:
    """Return what the address names, or what was pasted if the address stands for that.

    It is the same object until another question takes its place. May raise StoreError.
    """
    address = LookupAddress.current()
    asked = st.session_state.get(_ASKED)
    if not (isinstance(asked, LookupQuestion) and asked.address == address):
        asked = _named_by(queries, address)
        st.session_state[_ASKED] = asked
    return asked


def _named_by(queries: PageQueries, address: LookupAddress) -> LookupQuestion:
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
