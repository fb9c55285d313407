"""The forms that track transactions, one or many, and the result of each line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Final, NamedTuple

import streamlit as st
from msgspec import Struct

from dashboard.application.application import Application
from dashboard.application.listing import Column, Listing
from dashboard.domain.csv_tables import read_spreadsheet
from dashboard.domain.formatting import counted
from dashboard.domain.markup import visible
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.hashes_in_text import Paste
from dashboard.domain.tracking.remarks import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_OWNER,
    LONGEST_TAGS,
    NO_REMARKS,
    TAGS_LEFT_OUT,
    Remarks,
    tidy_tags,
    written_tags,
)
from dashboard.domain.tracking.track_csv import (
    KNOWN_COLUMNS,
    ListedTransaction,
    TrackList,
    TrackResult,
    in_words,
)
from dashboard.domain.tracking.track_file import read_track_file
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import known_actor, trouble_shown
from dashboard.show.parts.frame import section
from dashboard.show.parts.list_page import file_button
from dashboard.show.parts.notices import notice, unusable_texts
from dashboard.show.parts.table import list_table, lookup_link

MOST_AT_ONCE: Final = 10_000
"""How many transactions one list may have."""

MOST_SHOWN: Final = 100
_LARGEST_FILE: Final = 4
"""Megabytes."""

_LONGEST_TEXT: Final = 120
_REPORT: Final = "track_report"
_EXAMPLE: Final = (
    "tx_hash,attempted_at,label,case_id,owner,tags,note\r\n"
    f"0x{'12' * 32},2026-11-20T09:30:00Z,Acme,1742,Ada,vip payout,Sent twice by the wallet\r\n"
)

_RESULTS: Final = {
    TrackResult.NEW: "newly tracked",
    TrackResult.FILLED_IN: "was tracked already; missing values were filled in",
    TrackResult.KNOWN: "was tracked already",
    TrackResult.WITHOUT_TAGS: f"was tracked already, {TAGS_LEFT_OUT}",
}


class _Line(NamedTuple):
    """A line of a list by its number: its transaction or text, and the result."""

    number: int
    what: ListedTransaction | str
    result: str

    def text(self) -> str:
        """Return its text, the usable part."""
        return self.what if isinstance(self.what, str) else str(self.what.tx_hash)

    def shown(self) -> str:
        if isinstance(self.what, str):
            return visible(self.what, _LONGEST_TEXT)
        return lookup_link(self.what.tx_hash)


_LINES: Final[Listing[_Line]] = Listing(
    "lines",
    (
        Column("line", lambda each: each.number, is_number=True),
        Column("text", _Line.text),
        Column("result", lambda each: each.result),
    ),
)


class TrackReport(Struct, frozen=True):
    """A submitted list, and the result of each of its transactions."""

    listed: TrackList
    results: tuple[TrackResult, ...]

    def lines(self) -> list[_Line]:
        taken = [
            _Line(each.line, each, ", ".join(filter(None, (_RESULTS[result], each.remark))))
            for each, result in zip(self.listed.transactions, self.results, strict=True)
        ]
        again = [
            _Line(each.line, each, "is on an earlier line too") for each in self.listed.repeated
        ]
        wrong = [_Line(each.line, each.text, each.why) for each in self.listed.wrong]
        return sorted([*taken, *again, *wrong], key=attrgetter("number"))


def track_list_form(queries: Application, network_ids: Sequence[NetworkId]) -> None:
    """Show both forms, and below them the report of the last list."""
    pasted, filed = st.tabs(["Paste", "File"])
    with pasted, st.form("track_paste", border=False, clear_on_submit=False):
        text = st.text_area(
            "Transaction hashes or explorer links",
            height=132,
            key="track_text",
            placeholder="0x… one or many; commas, blanks, lines and links are fine",
        )
        said_of_all = remark_inputs()
        if st.form_submit_button("Track", type="primary"):
            with trouble_shown("Nothing was tracked."):
                _track_text(queries, text, network_ids, said_of_all(queries.now()))
    with filed:
        _file_form(queries, network_ids)
    report = st.session_state.get(_REPORT)
    if isinstance(report, TrackReport):
        show_track_report(report)


def remark_inputs(said: Remarks = NO_REMARKS) -> Callable[[datetime], Remarks]:
    """Ask for remarks on transactions; return a reader of them, which raises InputError."""
    left, right = st.columns(2)
    label = left.text_input(
        "Label", said.label, max_chars=LONGEST_LABEL, placeholder="e.g. Customer"
    )
    case_id = right.text_input("Case id", said.case_id, max_chars=LONGEST_CASE_ID)
    owner = left.text_input("Owner", said.owner, max_chars=LONGEST_OWNER)
    own = written_tags(said.own_tags)
    most = max(LONGEST_TAGS, len(own))
    tags = right.text_input("Tags", own, max_chars=most, placeholder="e.g. vip payout")
    note = st.text_input("Note", said.note, max_chars=LONGEST_NOTE)
    attempted_at = _attempt_input(said.attempted_at)

    def read(now: datetime) -> Remarks:
        texts = (label.strip(), note.strip(), case_id.strip(), owner.strip())
        tagged = tidy_tags(tags)
        return Remarks(_past(attempted_at, now), *texts, tags=tagged)

    return read


def _file_form(queries: Application, network_ids: Sequence[NetworkId]) -> None:
    with st.form("track_file", border=False):
        upload = st.file_uploader(
            "CSV with a column tx_hash, or JSON; the other columns are optional",
            ["csv", "txt", "json"],
            max_upload_size=_LARGEST_FILE,
            key="track_csv",
        )
        if st.form_submit_button("Track", type="primary"):
            st.session_state.pop(_REPORT, None)
            if upload is None:
                notice(
                    "busy", "No file was chosen.", "Choose a CSV or JSON file, then press Track."
                )
            else:
                _track_file(queries, upload.getvalue(), network_ids)
    st.download_button(
        "Example",
        _EXAMPLE,
        "transactions-to-track.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
        type="tertiary",
    )


def _track_file(queries: Application, octets: bytes, network_ids: Sequence[NetworkId]) -> None:
    with trouble_shown("The file cannot be used."):
        text = read_spreadsheet(octets)
        if not text.strip():
            notice("busy", "The file is empty.", "Choose one that holds transaction hashes.")
            return
        _track_text(queries, text, network_ids)


def _track_text(
    queries: Application,
    text: str,
    network_ids: Sequence[NetworkId],
    common: Remarks | None = None,
) -> None:
    """Read the submitted text and track it; `common` are remarks on all its transactions."""
    st.session_state.pop(_REPORT, None)
    listed = read_track_file(text, queries.now())
    _track_list(queries, listed if common is None else listed.with_common(common), network_ids)


def _track_list(queries: Application, listed: TrackList, network_ids: Sequence[NetworkId]) -> None:
    if len(listed.transactions) > MOST_AT_ONCE:
        text = f"It holds {len(listed.transactions):,}; give at most {MOST_AT_ONCE:,} at once."
        notice("bad", "The list is too long.", text)
        return
    if not (listed.transactions or listed.wrong):
        notice("busy", "Nothing to track.", "Give at least one transaction hash.")
        return
    known = {each.network_id for each in queries.networks if each.has_exclusion}
    listed = listed.where_known(known)
    try:
        results = queries.tracked.track(listed.transactions, network_ids, known_actor(queries))
    except StoreError as trouble:
        notice("bad", "Not everything was tracked.", f"{trouble} Give the same list again.")
        return
    st.session_state[_REPORT] = TrackReport(listed, results)


def show_track_report(report: TrackReport) -> None:
    """Show how much is tracked, name what is wrong, and offer the result of every line."""
    if report.results:
        tracking_result_notice(report.results)
    else:
        notice("bad", "Nothing was tracked.", "No line holds a transaction hash that can be used.")
    _partly_taken_notices(report.listed)
    hashes = tuple(each.tx_hash for each in report.listed.transactions)
    unusable_texts(Paste(hashes, len(report.listed.repeated), report.listed.wrong))
    lines = report.lines()
    with st.expander("Result of each line"):
        drawn = {"text": _Line.shown}
        st.html(list_table(_LINES, lines[:MOST_SHOWN], "Result of each line", drawn))
        file_button(
            lambda: _LINES.csv(lines),
            "tracking-report.csv",
            "track_report_csv",
            label=f"All {len(lines):,} lines" if len(lines) > MOST_SHOWN else "CSV",
        )


def _partly_taken_notices(listed: TrackList) -> None:
    """Name what in the list was left out although its transactions are tracked."""
    if listed.unused_columns:
        text = f"{in_words(listed.unused_columns)}. Known are {', '.join(KNOWN_COLUMNS)}."
        notice("busy", "Unknown columns:", text)
    remarks = [each for each in listed.transactions if each.remark]
    if remarks:
        first = remarks[0]
        count = counted(len(remarks), "line was", "lines were")
        text = f"Line {first.line}: {first.remark}."
        notice("busy", f"{count} read only in part.", text)


def track_form(queries: Application, hashes: Sequence[TxHash], case_id: str) -> None:
    """Offer to track the hashes, with a label, a case id and the time of the attempt."""
    count = "this transaction" if len(hashes) == 1 else f"these {len(hashes):,} transactions"
    with st.form("track", border=False):
        section(f"Track {count}")
        label = st.text_input(
            "Label (optional)", max_chars=LONGEST_LABEL, placeholder="e.g. Customer"
        )
        case_id = st.text_input("Case id (optional)", case_id, max_chars=LONGEST_CASE_ID)
        attempted_at = _attempt_input(None)
        if st.form_submit_button("Track", type="primary"):
            with trouble_shown("Nothing was tracked."):
                at = _past(attempted_at, queries.now())
                said = Remarks(at, label.strip(), case_id=case_id.strip())
                tracking_result_notice(queries.track(hashes, said, known_actor(queries)))


def _attempt_input(value: datetime | None) -> datetime | None:
    """Ask when a transaction was sent; a time without a zone is UTC."""
    naive = None if value is None else value.astimezone(UTC).replace(tzinfo=None)
    typed = st.datetime_input(
        "Attempted at, in UTC (optional)", naive, step=timedelta(minutes=1), format="YYYY-MM-DD"
    )
    return None if typed is None else typed.replace(tzinfo=UTC)


def _past(attempted_at: datetime | None, now: datetime) -> datetime | None:
    """Return the time of an attempt; InputError if it is in the future."""
    if attempted_at is not None and attempted_at > now:
        raise InputError("that time is in the future: give the time of the attempt in UTC")
    return attempted_at


def tracking_result_notice(results: Sequence[TrackResult]) -> None:
    """Say how many are newly tracked, and how many were tracked before."""
    new, filled = results.count(TrackResult.NEW), results.count(TrackResult.FILLED_IN)
    known = len(results) - new
    also = f" Missing values of {filled:,} were filled in." if filled else ""
    if full := results.count(TrackResult.WITHOUT_TAGS):
        also += f" {full:,} taken {TAGS_LEFT_OUT}."
    if not new:
        each = "it was" if known == 1 else f"all {known:,} were"
        notice("calm", "Nothing new:", f"{each} tracked already.{also}")
        return
    already = f" {known:,} tracked already." if known else ""
    rejection = "Rejections appear here; the rules say who is notified."
    notice("calm", f"{new:,} newly tracked.", f"{rejection}{already}{also}")
