"""Lists of transactions to track: any pasted text, or CSV with the time of each attempt."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Final

from dashboard.domain.paste import Paste, WrongText, read_paste
from dashboard.domain.quantity import TxHash, shorten
from dashboard.errors import InputError

_COLUMNS: Final = {
    "tx_hash": ("tx_hash", "txhash", "transaction_hash", "hash"),
    "attempted_at": ("attempted_at", "datetime_(utc)", "timestamp", "time"),
    "label": ("label",),
    "note": ("note", "notes"),
}
"""What each column may be called in a header; blanks and hyphens stand for underscores."""

_DELIMITERS: Final = (",", ";", "\t")
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class ListedTransaction:
    """One transaction of a list; `line` counts from 1, label and note are foreign text."""

    line: int
    tx_hash: TxHash
    attempted_at: datetime | None = None
    label: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class TrackList:
    """What a list holds: each hash where it came first, those that came again, what is wrong."""

    transactions: tuple[ListedTransaction, ...]
    repeated: tuple[ListedTransaction, ...]
    wrong: tuple[WrongText, ...]

    def with_common(self, attempted_at: datetime | None, label: str, note: str) -> TrackList:
        """Say of every transaction what its own line leaves open."""
        common = (
            replace(
                each,
                attempted_at=each.attempted_at or attempted_at,
                label=each.label or label,
                note=each.note or note,
            )
            for each in self.transactions
        )
        return replace(self, transactions=tuple(common))


def read_track_list(text: str, now: datetime) -> TrackList:
    """Read CSV where the first line names a column of hashes, else any text with hashes in it.

    A line that cannot be used is told and costs no other line; a field of CSV ends with its line.
    """
    return next(track_lists(text, now, None))


def track_lists(text: str, now: datetime, most: int | None) -> Iterator[TrackList]:
    """Read a list in parts of at most `most` transactions or complaints; there is at least one.

    A hash that stood in an earlier part is a repeated one.
    """
    seen: set[TxHash] = set()
    read = _read(_lines(text.removeprefix("\ufeff")), now)
    part = list(islice(read, most))
    yield _listed(part, seen)
    while part and (part := list(islice(read, most))):
        yield _listed(part, seen)


def _listed(part: Iterable[ListedTransaction | WrongText], seen: set[TxHash]) -> TrackList:
    found: list[ListedTransaction] = []
    repeated: list[ListedTransaction] = []
    wrong: list[WrongText] = []
    for each in part:
        if isinstance(each, WrongText):
            wrong.append(each)
        elif each.tx_hash in seen:
            repeated.append(each)
        else:
            seen.add(each.tx_hash)
            found.append(each)
    return TrackList(tuple(found), tuple(repeated), tuple(wrong))


def parse_attempt(text: str, now: datetime) -> datetime:
    """Read when a transaction was sent; without a zone it is UTC.

    InputError where it is no such time, or lies in the future.
    """
    moment = _attempt(text, now)
    if isinstance(moment, str):
        raise InputError(f"{shorten(text)} {moment}")
    return moment


def _lines(text: str) -> Iterator[str]:
    """Split lines one by one: all of a long list at once take as much memory again."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield from text[begin:end].splitlines()
        begin = end


def _read(lines: Iterator[str], now: datetime) -> Iterator[ListedTransaction | WrongText]:
    header = next(lines, "")
    delimiter = max(_DELIMITERS, key=header.count)
    columns = _columns(_fields(header, delimiter))
    if "tx_hash" not in columns:
        yield from _read_text(chain([header], lines))
        return
    for number, line in enumerate(lines, start=2):
        fields = _fields(line, delimiter)
        if any(fields):
            named = {
                name: fields[place] if place < len(fields) else ""
                for name, place in columns.items()
            }
            yield _read_row(number, named, now)


def _read_text(lines: Iterable[str]) -> Iterator[ListedTransaction | WrongText]:
    for number, line in enumerate(lines, start=1):
        paste = read_paste(line)
        yield from (ListedTransaction(number, tx_hash) for tx_hash in paste.hashes)
        yield from (replace(each, line=number) for each in paste.wrong)


def _fields(line: str, delimiter: str) -> list[str]:
    """Split a line of CSV; what even the most patient reader refuses is one field."""
    try:
        fields = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        fields = [line]
    return [field.strip() for field in fields]


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Return where each known column stands."""
    names = [re.sub(r"[ -]", "_", name.lower()) for name in header]
    found = {
        ours: [names.index(theirs) for theirs in words if theirs in names]
        for ours, words in _COLUMNS.items()
    }
    return {ours: places[0] for ours, places in found.items() if places}


def _read_row(
    number: int, fields: Mapping[str, str], now: datetime
) -> ListedTransaction | WrongText:
    text = fields["tx_hash"]
    paste = read_paste(text)
    if len(paste.hashes) != 1 or paste.wrong:
        return WrongText(number, text, _why_not_one(paste))
    attempted_at = fields.get("attempted_at", "")
    moment = _attempt(attempted_at, now) if attempted_at else None
    if isinstance(moment, str):
        return WrongText(number, attempted_at, moment)
    label, note = fields.get("label", ""), fields.get("note", "")
    return ListedTransaction(number, paste.hashes[0], moment, label, note)


def _why_not_one(paste: Paste) -> str:
    if paste.wrong:
        return paste.wrong[0].why
    return "names several transactions" if paste.hashes else "holds no transaction hash"


def _attempt(text: str, now: datetime) -> datetime | str:
    """Return the moment in UTC, or why it cannot be used."""
    try:
        moment = datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
        if moment is not None:
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        moment = None
    if moment is None:
        return "is no time; write it as 2026-11-20T12:00:00Z"
    return "lies in the future; give the time of the attempt" if moment > now else moment
