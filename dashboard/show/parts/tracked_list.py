"""Tracked transactions, one row each, and what can be done with one or many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import streamlit as st
from msgspec.structs import asdict, replace

from dashboard.application.application import Application
from dashboard.application.listing import Column, Listing
from dashboard.application.tracked import MOST_AT_ONCE, Chosen, TrackedEntry
from dashboard.application.transaction_summary import NetworkFinding
from dashboard.domain.formatting import counted, moment, short_hash, span
from dashboard.domain.markup import Markup, breakable, element, plain_label, visible
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.reasons import in_brief
from dashboard.domain.tracking.remarks import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_OWNER,
    LONGEST_TAGS,
    typed_tags,
    written_tags,
)
from dashboard.domain.tracking.track_file import TrackRequest, write_track_csv, write_track_json
from dashboard.domain.tracking.verdict import UNANSWERED_AFTER, UNANSWERED_KINDS, Need, VerdictKind
from dashboard.show.parts.acting import Done, act, trouble_shown
from dashboard.show.parts.badges import verdict_badge
from dashboard.show.parts.frame import in_line, link
from dashboard.show.parts.list_page import file_button
from dashboard.show.parts.rejection_table import reason_words
from dashboard.show.parts.table import hash_cell, list_head, list_row, time_ago
from dashboard.show.parts.track_form import remark_inputs
from dashboard.show.parts.tracked_filters import filter_is_on
from dashboard.store.tracking.groups import MOST_COUNTED, BulkChange, ChangedRemarks, TrackedGroup
from dashboard.store.tracking.search import TrackedFilter
from dashboard.store.tracking.transactions import TrackedTransaction

_LONGEST: Final = 120
_SEVERAL: Final = 2


def tracked_rows(
    entries: Sequence[TrackedEntry],
    now: datetime,
    needs: Mapping[TxHash, Need],
    *,
    with_boxes: bool,
) -> None:
    """Show the rows; each leads to its look-up, and has a box to select it for an act.

    `needs` says what needs attention; that is marked.
    """
    listing = _listing(entries, needs, now)
    with st.container(gap=None):
        st.html(list_head(listing, "lw-tracked"))
        for entry in entries:
            tx_hash = entry.transaction.tx_hash
            with st.container(key=f"tracked-{tx_hash}", gap=None):
                if with_boxes:
                    st.checkbox(
                        f"Choose {short_hash(tx_hash)}",
                        is_chosen(tx_hash),
                        key=choice_key(tx_hash),
                        label_visibility="collapsed",
                    )
                mark = " is-needed" if _is_needed(entry, needs, now) else ""
                st.html(list_row(listing, entry, f"lw-tracked{mark}"))
                link("lookup", f"Look up {short_hash(tx_hash)}", {"tx": str(tx_hash)})


def _listing(
    entries: Sequence[TrackedEntry], needs: Mapping[TxHash, Need], now: datetime
) -> Listing[TrackedEntry]:
    """Return the listing of tracked transactions for a page, without empty columns."""
    columns: tuple[Column[TrackedEntry], ...] = (
        Column("Verdict", lambda each: _verdict(each, needs, now), key="verdict"),
        Column("Since", lambda each: _since(each, now), key="since"),
        Column(
            "Label",
            lambda each: _said(each.transaction.remarks.label, each.transaction.remarks.note),
            key="label",
        ),
        Column("Case id", lambda each: _said(each.transaction.remarks.case_id), key="case"),
        Column("Owner", lambda each: _said(each.transaction.remarks.owner), key="owner"),
        Column("Tags", lambda each: _said(each.transaction.remarks.tags), key="tags"),
        Column("Transaction", lambda each: hash_cell(each.transaction.tx_hash), key="transaction"),
        Column("Ends", lambda each: _ends(each, now), key="ends"),
    )
    said = [each.transaction.remarks for each in entries]
    filled = {
        "label": any(each.label or each.note for each in said),
        "case": any(each.case_id for each in said),
        "owner": any(each.owner for each in said),
        "tags": any(each.tags for each in said),
    }
    return Listing("tracked", tuple(each for each in columns if filled.get(each.key, True)))


def _is_needed(entry: TrackedEntry, needs: Mapping[TxHash, Need], now: datetime) -> bool:
    """Whether it needs attention: it is in `needs`, or rejected or unanswered like those."""
    if not needs or entry.transaction.tx_hash in needs:
        return bool(needs)
    finding, ends_at = _first(entry), entry.transaction.ends_at
    if finding is None or ends_at is None or ends_at <= now:
        return False
    never = finding.evidence.last_answered_at is None
    since = entry.transaction.tracked_at if never else entry.since(finding)
    kind, is_old = finding.verdict.kind, since <= now - UNANSWERED_AFTER
    return kind is VerdictKind.REJECTED or (kind in UNANSWERED_KINDS and is_old)


def _verdict(entry: TrackedEntry, needs: Mapping[TxHash, Need], now: datetime) -> Markup:
    finding = _first(entry)
    if finding is None:
        return element("small", "No network to ask")
    where = ""
    if len(entry.transaction.network_ids) != 1 or len(entry.summary.findings) >= _SEVERAL:
        kind = finding.verdict.kind
        others = sum(each.verdict.kind is kind for each in entry.findings) - 1
        where = f"on {finding.profile.name}" + (f" and {others} more" if others else "")
    brief, why = "", finding.verdict.rests_on
    if finding.versions:
        reason = finding.reason_of(finding.versions[0])
        brief, why = in_brief(reason), reason_words(reason)
    elif finding.verdict.kind is VerdictKind.CANNOT_CHECK:
        brief = visible(why, _LONGEST)
    if needs.get(entry.transaction.tx_hash) is Need.ENDING and entry.transaction.ends_at:
        brief = f"asked about for {span(entry.transaction.ends_at - now)} more"
    return element(
        "span",
        verdict_badge(finding.verdict.kind),
        element("span", breakable(brief)) if brief else Markup(),
        element("small", where) if where else Markup(),
        class_="lw-tracked-verdict",
        title=visible(why, _LONGEST * 3),
    )


def _first(entry: TrackedEntry) -> NetworkFinding | None:
    return entry.findings[0] if entry.findings else None


def _since(entry: TrackedEntry, now: datetime) -> Markup:
    finding = _first(entry)
    at = entry.transaction.tracked_at if finding is None else entry.since(finding)
    return time_ago(at, now)


def _said(text: str, below: str = "") -> Markup:
    said = element("span", visible(text, _LONGEST)) if text else element("small", "–")
    if not below:
        return said
    note = element("small", visible(below, _LONGEST))
    return element("span", element("b", visible(text, _LONGEST)) if text else Markup(), " ", note)


def _ends(entry: TrackedEntry, now: datetime) -> Markup:
    ends_at = entry.transaction.ends_at
    if ends_at is None:
        return element("small", "not asked")
    if ends_at <= now:
        return element("small", "ended", title=moment(ends_at))
    return element("time", f"in {span(ends_at - now)}", title=moment(ends_at))


def need_buttons(counts: Mapping[Need, int], most: int, show: Callable[[Need], None]) -> None:
    """Offer each kind of need with its number; a click lists all of that kind."""
    with in_line("needs"):
        st.html(element("span", "Needs attention", class_="lw-quiet"))
        for need, count in counts.items():
            many = f"{most:,} or more" if count >= most else f"{count:,}"
            st.button(
                f"{need}: **{many}**",
                key=f"need-{need.name}",
                disabled=not count,
                help=_MEANINGS[need],
                on_click=show,
                args=(need,),
            )


_MEANINGS: Final = {
    Need.REJECTED: "Rejected, still asked about, and neither included nor replaced since",
    Need.UNANSWERED: "Asked about, but a network has not answered for ten minutes",
    Need.ENDING: "Less than a day left to ask, without a record or an inclusion",
}


def group_rows(groups: Sequence[TrackedGroup], show: Callable[[str], None], by: str) -> None:
    """Show groups, one button each; a click lists the transactions of the group."""
    with st.container(key="groups", horizontal=True, gap="small"):
        for place, group in enumerate(groups):
            count = f"{MOST_COUNTED:,} or more" if group.many > MOST_COUNTED else f"{group.many:,}"
            st.button(
                f"{plain_label(group.name, _LONGEST)}: **{count}**",
                key=f"group-{by}-{place}",
                on_click=show,
                args=(group.name,),
            )


MOST_SAVED: Final = 10_000
"""How many transactions one file may have."""

_ROUND: Final = "tracked_round"
"""Counts up with each change and selection of many, after which the boxes are new: the browser sets
boxes one by one, and a refresh meanwhile would send back what some of them were before."""

_CHOSEN: Final = "tracked_chosen"
"""What was selected when the page was last drawn, with which new boxes begin."""

_EMPTIED: Final = ("Label", "Note", "Case id", "Owner")


def choice_key(tx_hash: TxHash) -> str:
    return f"choose-{st.session_state.get(_ROUND, 0)}-{tx_hash}"


def is_chosen(tx_hash: TxHash) -> bool:
    is_at_first = tx_hash in st.session_state.get(_CHOSEN, ())
    return bool(st.session_state.get(choice_key(tx_hash), is_at_first))


def chosen_among(entries: Sequence[TrackedEntry]) -> list[TrackedEntry]:
    """Return the selected ones of a page; what is on no page any more is not selected."""
    chosen = [each for each in entries if is_chosen(each.transaction.tx_hash)]
    st.session_state[_CHOSEN] = frozenset(each.transaction.tx_hash for each in chosen)
    return chosen


def choose_only(hashes: Iterable[TxHash] = ()) -> None:
    """Select exactly these of the page."""
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    st.session_state[_CHOSEN] = frozenset(hashes)


def acts(
    queries: Application, entries: Sequence[TrackedEntry], wanted: TrackedFilter, total: int
) -> None:
    """Offer what can be done with the selection, or with everything that matches the filters."""
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
            help="Or choose one, then Shift-click another to choose all between.",
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
            elif can_act:
                _edit_many(queries, chosen)
        with st.popover(
            "Stop tracking", icon=":material/visibility_off:", disabled=not can_act, help=hint
        ):
            if can_act:
                _stop(queries, chosen, whom)
        files(queries, wanted)


def _key(act: str, chosen: Chosen) -> str:
    """Return the key of an act for these alone.

    Once it is done, nothing is chosen, and a second click would apply to all that match.
    """
    return f"{act}-all" if isinstance(chosen, TrackedFilter) else f"{act}-{hash(tuple(chosen))}"


def _edit_one(queries: Application, tracked: TrackedTransaction) -> None:
    said = tracked.remarks
    with st.form(f"edit-{tracked.tx_hash}", border=False):
        read = remark_inputs(said)
        is_saved = st.form_submit_button("Save", type="primary")
    if not is_saved:
        return
    with trouble_shown():
        remarks = read(queries.now())
        after = replace(remarks, tags=written_tags(remarks.all_tags))
        before = asdict(said)
        changed = {name: value for name, value in asdict(remarks).items() if value != before[name]}
        undo = partial(queries.tracked.take_back, (ChangedRemarks(tracked.tx_hash, said, after),))
        act(
            queries,
            partial(queries.tracked.edit, tracked.tx_hash, changed),
            lambda is_done: _done("changed", int(is_done), undo),
        )


def _edit_many(queries: Application, chosen: Chosen) -> None:
    """Change what is filled in, and leave the rest of each transaction as it is."""
    with st.form(_key("edit_many", chosen), border=False):
        left, right = st.columns(2)
        label = left.text_input("Label", max_chars=LONGEST_LABEL, placeholder="As it is")
        case_id = right.text_input("Case id", max_chars=LONGEST_CASE_ID, placeholder="As it is")
        owner = left.text_input("Owner", max_chars=LONGEST_OWNER, placeholder="As it is")
        note = right.text_input("Note", max_chars=LONGEST_NOTE, placeholder="As it is")
        added = left.text_input("Add tags", max_chars=LONGEST_TAGS, placeholder="e.g. vip payout")
        removed = right.text_input(
            "Remove tags",
            max_chars=LONGEST_TAGS,
            help="To remove a #tag, edit the label or note that has it.",
        )
        emptied = st.pills("Empty these", _EMPTIED, selection_mode="multi")
        is_saved = st.form_submit_button("Save", type="primary")
    if not is_saved:
        return

    def change(by: Actor) -> tuple[ChangedRemarks, ...]:
        wanted = BulkChange(
            _said_of_many(label, is_emptied="Label" in emptied),
            _said_of_many(note, is_emptied="Note" in emptied),
            _said_of_many(case_id, is_emptied="Case id" in emptied),
            _said_of_many(owner, is_emptied="Owner" in emptied),
            with_tags=typed_tags(added),
            without_tags=typed_tags(removed),
        )
        return queries.tracked.change(chosen, wanted, by)

    act(
        queries,
        change,
        lambda changed: _done("changed", len(changed), partial(queries.tracked.take_back, changed)),
    )


def _said_of_many(text: str, *, is_emptied: bool) -> str | None:
    if text.strip():
        return text.strip()
    return "" if is_emptied else None


def _stop(queries: Application, chosen: Chosen, whom: str) -> None:
    st.text(
        f"Stop tracking {whom}? Linewatch stops asking about them, and nobody is notified. "
        "Their rejections stay on record."
    )
    if st.button("Stop tracking", key=_key("stop-tracking", chosen), type="primary"):
        act(
            queries,
            partial(queries.tracked.stop, chosen),
            lambda many: _done("no longer tracked", many),
        )


def _done(what: str, many: int, undo: Callable[[Actor], object] | None = None) -> Done:
    choose_only()
    said = f"{counted(many, 'transaction is', 'transactions are')} {what}"
    return Done(said, undo if many else None)


def files(queries: Application, wanted: TrackedFilter) -> None:
    """Offer matches as files, which the form and `linewatch track --file` read again."""

    def found() -> list[TrackRequest]:
        return [each.filed for each in queries.tracked.export(wanted, MOST_SAVED)]

    note = f"All matches, at most {MOST_SAVED:,}; the file can be tracked again as it is."
    file_button(
        lambda: write_track_csv(found()), "tracked-transactions.csv", "tracked_csv", note=note
    )
    file_button(
        lambda: write_track_json(found()), "tracked-transactions.json", "tracked_json", note=note
    )
