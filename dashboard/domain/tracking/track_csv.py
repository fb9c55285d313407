"""CSV of transactions to track, with the time of each attempt; or any pasted text."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum, auto
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.csv_tables import without_mark
from dashboard.domain.markup import visible
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.hashes_in_text import Paste, WrongText, read_paste
from dashboard.domain.tracking.remarks import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_OWNER,
    MOST_TAGS,
    NO_REMARKS,
    TAGS_LEFT_OUT,
    Remarks,
    typed_tags,
    written_tags,
)
from dashboard.domain.tracking.written_dates import read_attempt
from dashboard.errors import InputError

_COLUMNS: Final = {
    "tx_hash": (
        *("tx_hash", "txhash", "transaction_hash", "txn_hash", "hash", "tx", "transaction"),
        *("transactionhash", "txid"),
    ),
    "attempted_at": (
        *("attempted_at", "datetime_(utc)", "datetime", "timestamp", "time", "date"),
        *("unixtimestamp", "unix_timestamp"),
    ),
    "label": ("label",),
    "note": ("note", "notes"),
    "case_id": ("case_id", "case", "case_number", "ticket", "ticket_id"),
    "owner": ("owner", "assignee"),
    "tags": ("tags", "tag"),
    "networks": ("networks", "network_id", "chain_id"),
}
"""The names that each column may have in a header; blanks and hyphens count as underscores."""

KNOWN_COLUMNS: Final = tuple(_COLUMNS)
_SEPARATOR: Final = re.compile(r'"?sep=.?"?', re.IGNORECASE)
"""The line that spreadsheets write above a header to name the delimiter."""

_LINES_TO_HEADER: Final = 5
"""How many lines the search for a header covers: titles and empty lines may stand above it."""

_LONGEST_HEADER: Final = 10_000
"""Characters of a header."""

_LONGEST_ROW: Final = 20
"""Lines of one row, if a quoted field contains line ends."""

_DELIMITERS: Final = (",", ";", "\t")
_SEPARATORS: Final = " ,;\t"
_QUOTED: Final = 40
_MOST_NAMED: Final = 10
_CHAIN_ID: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
_TEXTS: Final = {
    "label": ("label", LONGEST_LABEL),
    "note": ("note", LONGEST_NOTE),
    "case_id": ("case id", LONGEST_CASE_ID),
    "owner": ("owner", LONGEST_OWNER),
}


class ListedTransaction(Struct, frozen=True):
    """One transaction of a list; `line` counts from 1.

    `network_ids` say where to watch it, if its line says so. `remark` says which part of its line
    could not be used, including foreign text; empty if everything was.
    """

    line: int
    tx_hash: TxHash
    remarks: Remarks = NO_REMARKS
    network_ids: tuple[NetworkId, ...] = ()
    remark: str = ""

    def with_common(self, common: Remarks) -> ListedTransaction:
        """Fill in what its own line leaves empty, and add the common tags."""
        return _with_few_tags(replace(self, remarks=self.remarks.completed_by(common)))

    def where_known(self, known: Collection[NetworkId]) -> ListedTransaction:
        """Leave out networks that have no exclusion endpoint here; the remark names one."""
        unknown = [each for each in self.network_ids if each not in known]
        if not unknown:
            return self
        remark = f"without the network {unknown[0]}, which has no exclusion endpoint here"
        left = tuple(each for each in self.network_ids if each in known)
        return replace(self, network_ids=left, remark=_joined(self.remark, remark))


class UnusedColumns(Struct, frozen=True):
    """The names of columns in a header that have no meaning here, or repeat another column."""

    names: tuple[str, ...]


class TrackList(Struct, frozen=True):
    """The content of a list: each hash once, repeated hashes, and mistakes.

    `unused_columns` are names in its header; if a list is read in parts, only the first part has
    them.
    """

    transactions: tuple[ListedTransaction, ...]
    repeated: tuple[ListedTransaction, ...]
    wrong: tuple[WrongText, ...]
    unused_columns: tuple[str, ...] = ()

    def with_common(self, common: Remarks) -> TrackList:
        """Fill in what the lines of transactions leave empty, and add the common tags."""
        completed = (each.with_common(common) for each in self.transactions)
        return replace(self, transactions=tuple(completed))

    def where_known(self, known: Collection[NetworkId]) -> TrackList:
        """Leave out networks that have no exclusion endpoint here; remarks name them."""
        return replace(
            self, transactions=tuple(each.where_known(known) for each in self.transactions)
        )


_Read: TypeAlias = ListedTransaction | WrongText | UnusedColumns


def track_lists(text: str, now: datetime, most: int | None) -> Iterator[TrackList]:
    """Parse CSV if a header above all hashes names their column, otherwise any text with hashes.

    The list is read in parts of at most `most` transactions or mistakes; a hash of an earlier part
    counts as repeated. A line that cannot be used does not affect other lines, even if a quote
    never ends.
    """
    return in_parts(_read_items(_lines(text.removeprefix("\ufeff")), now), most)


def in_parts(read: Iterator[_Read], most: int | None) -> Iterator[TrackList]:
    """Return the list in parts of at most `most` items; there is at least one part."""
    seen: set[TxHash] = set()
    part = list(islice(read, most))
    yield _listed(part, seen)
    while part and (part := list(islice(read, most))):
        yield _listed(part, seen)


def _listed(part: Iterable[_Read], seen: set[TxHash]) -> TrackList:
    found: list[ListedTransaction] = []
    repeated: list[ListedTransaction] = []
    wrong: list[WrongText] = []
    unused: tuple[str, ...] = ()
    for each in part:
        if isinstance(each, UnusedColumns):
            unused = each.names
        elif isinstance(each, WrongText):
            wrong.append(each)
        elif each.tx_hash in seen:
            repeated.append(each)
        else:
            seen.add(each.tx_hash)
            found.append(each)
    return TrackList(tuple(found), tuple(repeated), tuple(wrong), unused)


def _lines(text: str) -> Iterator[str]:
    """Split lines one by one: splitting a long list at once would double its memory."""
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin) + 1 or len(text)
        yield from text[begin:end].splitlines()
        begin = end


_Numbered: TypeAlias = tuple[int, str]


def _read_items(lines: Iterator[str], now: datetime) -> Iterator[_Read]:
    numbered = enumerate(lines, start=1)
    above = list(islice(numbered, _LINES_TO_HEADER))
    place = _place_of_header([line for _, line in above])
    if place is None:
        yield from _read_text(chain(above, numbered))
        return
    title = [each for each in above[:place] if not _SEPARATOR.fullmatch(each[1].strip())]
    yield from _read_text(title)
    header = above[place][1]
    delimiter = _delimiter(header)
    names = _fields(header, delimiter)
    columns = _columns(names)
    used = set(columns.values())
    unused = [name for at, name in enumerate(names) if name and at not in used]
    if unused:
        yield UnusedColumns(tuple(unused))
    for number, row in _rows(chain(above[place + 1 :], numbered)):
        if not row.strip(_SEPARATORS):
            continue
        fields = _fields(row, delimiter)
        if any(fields):
            named = {name: fields[at] if at < len(fields) else "" for name, at in columns.items()}
            yield _read_row(number, named, now)
        elif not fields and row:
            yield _read_refused(number, row)


def _place_of_header(lines: Sequence[str]) -> int | None:
    """Return the index of the header with a column of hashes; None if a hash comes first."""
    for place, line in enumerate(lines):
        if len(line) > _LONGEST_HEADER:
            return None
        if "tx_hash" in _columns(_fields(line, _delimiter(line))):
            return place
        if read_paste(line).hashes:
            return None
    return None


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _rows(lines: Iterator[_Numbered]) -> Iterator[_Numbered]:
    """Join the lines of a row whose quoted field contains line ends, which become blanks.

    Lines are joined only if that ends the quote and gives a row with one hash, so that a forgotten
    quote does not swallow other rows.
    """
    waiting: deque[_Numbered] = deque()
    while first := waiting.popleft() if waiting else next(lines, None):
        number, row = first
        if row.count('"') % 2:
            waiting.extend(islice(lines, _LONGEST_ROW - len(waiting)))
            following = _lines_to_end_of_quote([line for _, line in waiting])
            joined = " ".join([row, *(waiting[at][1] for at in range(following))])
            if following and len(read_paste(joined).hashes) == 1:
                row = joined
                for _ in range(following):
                    waiting.popleft()
        yield number, row


def _lines_to_end_of_quote(lines: Sequence[str]) -> int:
    """Return after how many lines an open quote ends; 0 if it does not."""
    return next((count for count, line in enumerate(lines, start=1) if line.count('"') % 2), 0)


def _read_text(lines: Iterable[_Numbered]) -> Iterator[ListedTransaction | WrongText]:
    for number, line in lines:
        paste = read_paste(line)
        yield from (ListedTransaction(number, tx_hash) for tx_hash in paste.hashes)
        yield from (replace(each, line=number) for each in paste.wrong)


def _fields(line: str, delimiter: str) -> list[str]:
    """Split a line of CSV; empty if the reader cannot parse it."""
    try:
        fields = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        fields = []
    return [field.strip() for field in fields]


def in_words(unused_columns: Sequence[str]) -> str:
    """List columns without a meaning, up to a readable number."""
    named = ", ".join(f"“{visible(name, _QUOTED)}”" for name in unused_columns[:_MOST_NAMED])
    more = len(unused_columns) - _MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Return the index of each known column; a date column counts only beside a time of day."""
    names = [re.sub(r"[ -]", "_", name.lower()) for name in header]
    found = {
        ours: [names.index(theirs) for theirs in words if theirs in names]
        for ours, words in _COLUMNS.items()
    }
    columns = {ours: places[0] for ours, places in found.items() if places}
    if "date" in names and names[columns["attempted_at"]] == "time":
        columns["date"] = names.index("date")
    return columns


def _read_row(
    number: int, fields: Mapping[str, str], now: datetime
) -> ListedTransaction | WrongText:
    text = fields["tx_hash"]
    paste = read_paste(text)
    if len(paste.hashes) != 1 or paste.wrong:
        return WrongText(number, text, _why_not_one(paste))
    date, time = fields.get("date", ""), fields.get("attempted_at", "")
    is_whole = isinstance(read_attempt(time, now), datetime)
    written = time if is_whole else f"{date} {time}".strip()
    listed = with_attempt(ListedTransaction(number, paste.hashes[0]), written, now)
    return with_texts(listed, {name: without_mark(text) for name, text in fields.items()})


def _read_refused(number: int, row: str) -> ListedTransaction | WrongText:
    """Find the hash in a row whose cells cannot be separated."""
    paste = read_paste(row)
    if len(paste.hashes) != 1:
        return WrongText(number, row, _why_not_one(paste))
    longest = csv.field_size_limit()
    remark = f"without its other columns, since a cell has more than {longest:,} characters"
    return ListedTransaction(number, paste.hashes[0], remark=remark)


def _why_not_one(paste: Paste) -> str:
    if paste.wrong:
        return paste.wrong[0].why
    return "names several transactions" if paste.hashes else "holds no transaction hash"


def with_attempt(listed: ListedTransaction, text: str, now: datetime) -> ListedTransaction:
    """Add when a transaction was sent; if the text is not a usable time, the remark says so."""
    moment = read_attempt(text, now) if text else None
    if not isinstance(moment, str):
        return replace(listed, remarks=replace(listed.remarks, attempted_at=moment))
    remark = f"without a time, since “{visible(text, _QUOTED)}” {moment}"
    return replace(listed, remark=_joined(listed.remark, remark))


def with_texts(listed: ListedTransaction, texts: Mapping[str, str]) -> ListedTransaction:
    """Add the remarks on a line; what cannot be used is named in `remark`."""
    remarks = [listed.remark]
    kept: dict[str, str] = {}
    for name, (what, most) in _TEXTS.items():
        kept[name], remark = _cut(what, texts.get(name, "").strip(), most)
        remarks.append(remark)
    tags = frozenset[str]()
    try:
        tags = typed_tags(texts.get("tags", ""))
    except InputError as mistake:
        remarks.append(f"without its tags, since {mistake}")
    network_ids, of_networks = _networks(texts.get("networks", ""))
    remark = _joined(*remarks, of_networks)
    said = Remarks(listed.remarks.attempted_at, **kept, tags=written_tags(tags))
    return _with_few_tags(ListedTransaction(listed.line, listed.tx_hash, said, network_ids, remark))


def _networks(text: str) -> tuple[tuple[NetworkId, ...], str]:
    """Parse chain ids, because two installations may name a network differently."""
    words = text.replace(",", " ").split()
    wrong = [each for each in words if not _CHAIN_ID.fullmatch(each)]
    remark = f"its network “{visible(wrong[0], _QUOTED)}” is not a chain id" if wrong else ""
    return (() if wrong else tuple(NetworkId(int(each)) for each in words)), remark


def _cut(what: str, text: str, most: int) -> tuple[str, str]:
    if len(text) <= most:
        return text, ""
    return text[:most], f"its {what} has {len(text):,} characters, of which {most} are kept"


def _with_few_tags(listed: ListedTransaction) -> ListedTransaction:
    """Leave the tags out if there are too many with those of the label and the note."""
    if len(listed.remarks.all_tags) <= MOST_TAGS:
        return listed
    without = replace(listed.remarks, tags="")
    return replace(listed, remarks=without, remark=_joined(listed.remark, TAGS_LEFT_OUT))


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


class TrackResult(Enum):
    """The result of a request. FILLED_IN: the hash was tracked, and a missing remark was added.

    WITHOUT_TAGS: the hash is tracked, but without the new tags, which would be too many.
    """

    NEW = auto()
    FILLED_IN = auto()
    KNOWN = auto()
    WITHOUT_TAGS = auto()
