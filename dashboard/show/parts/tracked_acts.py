"""What can be done with tracked transactions, one or many: change, stop, save as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import streamlit as st

from dashboard.domain.audit import Actor
from dashboard.domain.formatting import counted
from dashboard.domain.listed_transaction import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_OWNER,
)
from dashboard.domain.quantity import TxHash
from dashboard.domain.tags import LONGEST_TAGS, own_tags, typed_tags, written_tags
from dashboard.domain.track_file import FiledTransaction, write_track_csv, write_track_json
from dashboard.errors import InputError
from dashboard.show.parts.acting import Done, act
from dashboard.show.parts.list_page import file_button
from dashboard.show.parts.notices import notice
from dashboard.show.parts.track_form import attempt_input, is_future
from dashboard.show.parts.tracked_filters import filter_is_on
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.tracked import MOST_AT_ONCE, Chosen, TrackedEntry
from dashboard.show.text import sentence
from dashboard.store.tracking.bulk_edit import BulkChange, ChangedRemarks
from dashboard.store.tracking.search import TrackedFilter
from dashboard.store.tracking.transactions import Remarks, TrackedTransaction, all_tags

MOST_SAVED: Final = 10_000
"""Transactions of one file."""

_ROUND: Final = "tracked_round"
"""Counts up with each change and choice of many, which so begins with new boxes: the browser sets
boxes one by one, and a refresh meanwhile would send back what some of them were before."""

_CHOSEN: Final = "tracked_chosen"
"""What was chosen when the page was drawn last, and so what new boxes begin with."""

_EMPTIED: Final = ("Label", "Note", "Case id", "Owner")


def choice_key(tx_hash: TxHash) -> str:
    """Return the key of the box that chooses a transaction."""
    return f"choose-{st.session_state.get(_ROUND, 0)}-{tx_hash}"


def is_chosen(tx_hash: TxHash) -> bool:
    """Whether a transaction of the page is chosen."""
    is_at_first = tx_hash in st.session_state.get(_CHOSEN, ())
    return bool(st.session_state.get(choice_key(tx_hash), is_at_first))


def chosen_among(entries: Sequence[TrackedEntry]) -> list[TrackedEntry]:
    """Return those of a page that are chosen; what is on no page any more is not."""
    chosen = [each for each in entries if is_chosen(each.transaction.tx_hash)]
    st.session_state[_CHOSEN] = frozenset(each.transaction.tx_hash for each in chosen)
    return chosen


def choose_only(hashes: Iterable[TxHash] = ()) -> None:
    """Choose these of the page, and no others."""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    st.session_state[_CHOSEN] = frozenset(hashes)


def acts(
    queries: PageQueries, entries: Sequence[TrackedEntry], wanted: TrackedFilter, total: int
) -> None:
    """Offer what can be done with what is chosen, or with all that fits the filters."""
    picked = chosen_among(entries)
    every = len(picked) == len(entries)
    all_that_fit = f"all {total:,} that match"
    if total > MOST_AT_ONCE:
        all_that_fit = f"the latest {MOST_AT_ONCE:,} that match"
    can_act = bool(picked) or filter_is_on()
    hint = None if can_act else "Choose some, or set a filter to change all that match."
    with st.container(key="tracked-acts", horizontal=True, vertical_alignment="center"):
        st.button(
            "Choose none" if every else f"Choose these {len(entries)}",
            key="choose-all",
            help="Or choose one, and with Shift another: all between are chosen too.",
            on_click=choose_only,
            args=([] if every else [each.transaction.tx_hash for each in entries],),
        )
        is_of_all = not picked
        if every and total > len(entries):
            is_of_all = st.checkbox(all_that_fit.capitalize(), key="choose-all-that-fit")
        chosen: Chosen = wanted if is_of_all else [each.transaction.tx_hash for each in picked]
        whom = all_that_fit if is_of_all else f"{len(picked):,} chosen"
        with st.popover(
            f"Edit {whom}" if can_act else "Edit",
            icon=":material/edit:",
            disabled=not can_act,
            help=hint,
        ):
            if len(picked) == 1:
                _edit_one(queries, picked[0].transaction)
            else:
                _edit_many(queries, chosen)
        with st.popover(
            "Stop tracking", icon=":material/visibility_off:", disabled=not can_act, help=hint
        ):
            _stop(queries, chosen, whom)
        _files(queries, wanted)


def _edit_one(queries: PageQueries, tracked: TrackedTransaction) -> None:
    """Change everything that people said of one transaction."""
    with st.form(f"edit-{tracked.tx_hash}", border=False):
        label = st.text_input("Label", tracked.label, max_chars=LONGEST_LABEL)
        case_id = st.text_input("Case id", tracked.case_id, max_chars=LONGEST_CASE_ID)
        owner = st.text_input("Owner", tracked.owner, max_chars=LONGEST_OWNER)
        own = written_tags(own_tags(tracked.tags, tracked.label, tracked.note))
        tags = st.text_input("Tags", own, max_chars=max(LONGEST_TAGS, len(own)))
        note = st.text_input("Note", tracked.note, max_chars=LONGEST_NOTE)
        attempted_at = attempt_input(tracked.attempted_at)
        is_saved = st.form_submit_button("Save", type="primary")
    if not is_saved or is_future(attempted_at, queries.now()):
        return
    texts = (label.strip(), note.strip(), case_id.strip(), owner.strip())
    try:
        words = written_tags(typed_tags(tags))
    except InputError as mistake:
        notice("bad", "Nothing was changed.", sentence(str(mistake)))
        return
    remarks = Remarks(attempted_at, *texts, tags=words)
    after = replace(remarks, tags=all_tags(remarks))
    edit = ChangedRemarks(tracked.tx_hash, tracked.remarks, after)
    act(
        lambda by: queries.tracked.edit(tracked.tx_hash, remarks, by),
        queries,
        "Nothing was changed.",
        lambda is_done: _done(
            "changed",
            int(is_done),
            partial(queries.tracked.take_back, (edit,)),
        ),
    )


def _edit_many(queries: PageQueries, chosen: Chosen) -> None:
    """Change what is filled in, and leave the rest of each transaction as it is."""
    with st.form("edit_many", border=False):
        left, right = st.columns(2)
        label = left.text_input("Label", max_chars=LONGEST_LABEL, placeholder="As it is")
        case_id = right.text_input("Case id", max_chars=LONGEST_CASE_ID, placeholder="As it is")
        owner = left.text_input("Owner", max_chars=LONGEST_OWNER, placeholder="As it is")
        note = right.text_input("Note", max_chars=LONGEST_NOTE, placeholder="As it is")
        added = left.text_input(
            "Add tags", max_chars=LONGEST_TAGS, placeholder="such as vip payout"
        )
        removed = right.text_input(
            "Remove tags",
            max_chars=LONGEST_TAGS,
            help="A tag with # in the label or the note goes with that text.",
        )
        emptied = st.pills("Empty these", _EMPTIED, selection_mode="multi")
        is_saved = st.form_submit_button("Save", type="primary")
    if not is_saved:
        return
    try:
        change = BulkChange(
            _said(label, is_emptied="Label" in emptied),
            _said(note, is_emptied="Note" in emptied),
            _said(case_id, is_emptied="Case id" in emptied),
            _said(owner, is_emptied="Owner" in emptied),
            with_tags=typed_tags(added),
            without_tags=typed_tags(removed),
        )
    except InputError as mistake:
        notice("bad", "Nothing was changed.", sentence(str(mistake)))
        return
    act(
        lambda by: queries.tracked.change(chosen, change, by),
        queries,
        "Nothing was changed.",
        lambda changed: _done("changed", len(changed), partial(queries.tracked.take_back, changed)),
    )


def _said(text: str, *, is_emptied: bool) -> str | None:
    if text.strip():
        return text.strip()
    return "" if is_emptied else None


def _stop(queries: PageQueries, chosen: Chosen, whom: str) -> None:
    st.text(
        f"Stop tracking {whom}? They are asked about no more, and nobody is notified of them. "
        "Rejections that were seen stay stored."
    )
    if st.button("Stop tracking", key="stop-tracking", type="primary"):
        act(
            lambda by: queries.tracked.stop(chosen, by),
            queries,
            "Nothing was changed.",
            lambda many: _done("no longer tracked", many),
        )


def _done(what: str, many: int, undo: Callable[[Actor], object] | None = None) -> Done:
    choose_only()
    said = f"{counted(many, 'transaction is', 'transactions are')} {what}"
    return Done(said, undo if many else None)


def _files(queries: PageQueries, wanted: TrackedFilter) -> None:
    """Offer what fits as files, which the form and `linewatch track --file` read again."""

    def found() -> list[FiledTransaction]:
        return [each.filed for each in queries.tracked.export(wanted, MOST_SAVED)]

    note = f"What matches the filters, at most {MOST_SAVED:,}; it can be tracked again as it is."
    file_button(
        lambda: write_track_csv(found()), "tracked-transactions.csv", "tracked_csv", note=note
    )
    file_button(
        lambda: write_track_json(found()), "tracked-transactions.json", "tracked_json", note=note
    )
