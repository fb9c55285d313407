"""Tracked transactions as files that another installation reads without loss: CSV and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Final

from msgspec import Struct

from dashboard.domain.csv_tables import write_csv
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.hashes_in_text import (
    MOST_PIECES,
    WrongText,
    read_paste,
    too_many_pieces,
)
from dashboard.domain.tracking.remarks import NO_REMARKS, Remarks
from dashboard.domain.tracking.track_csv import (
    ListedTransaction,
    TrackList,
    in_parts,
    track_lists,
    with_attempt,
    with_texts,
)
from dashboard.errors import InputError

_COLUMNS: Final = {
    "tx_hash": "txHash",
    "networks": "networks",
    "attempted_at": "attemptedAt",
    "label": "label",
    "case_id": "caseId",
    "owner": "owner",
    "tags": "tags",
    "note": "note",
}
"""The name of each column in CSV, and of each member in JSON."""

_BEGINNING: Final = re.compile(r"\s*(?:\{|\[\s*[{\]])")
_EXAMPLE: Final = '{"txHash": "0x…", "label": "Case 17"}'
_NO_OBJECT: Final = f"is not a JSON object of texts: write such as {_EXAMPLE}"
_TEXT: Final = r'"(?:[^"\\\n]|\\[^\n])*+"'
_PLAIN: Final = r'[^"{}\[\]\\]'
_VALUES: Final = rf"(?:{_PLAIN}|{_TEXT})*+"
_FLAT: Final = re.compile(rf"\{{(?:{_PLAIN}|{_TEXT}|\[{_VALUES}\])*+\}}")
"""An object of plain values and lists of these, without nesting, matched without backtracking. As
in JSON, a text ends on its line, and backslashes occur only in texts. Otherwise a hostile file
could make the search run to its end at every brace."""

_LONGEST_QUOTED: Final = 200


class TrackRequest(Struct, frozen=True):
    """A request, by a person or a file, to watch a hash on some networks."""

    tx_hash: TxHash
    network_ids: tuple[NetworkId, ...]
    remarks: Remarks = NO_REMARKS


def write_track_csv(transactions: Iterable[TrackRequest]) -> str:
    """Write a file for `linewatch track --file`, for the page and for spreadsheets.

    Invisible characters are written as codes; JSON keeps them.
    """
    return write_csv(tuple(_COLUMNS), (_row(each) for each in transactions))


def write_track_json(transactions: Iterable[TrackRequest]) -> str:
    """Write the same as JSON, one transaction a line."""
    objects = ",\n".join(json.dumps(_object(each)) for each in transactions)
    return f"[\n{objects}\n]\n"


def read_track_file(text: str, now: datetime) -> TrackList:
    """Parse JSON if the text begins like it, otherwise any other list; see `track_lists`.

    InputError if it holds more than `MOST_PIECES`.
    """
    first, *more = islice(track_files(text, now, MOST_PIECES), 2)
    if more:
        raise InputError(too_many_pieces())
    return first


def track_files(text: str, now: datetime, most: int | None) -> Iterator[TrackList]:
    """Parse such a text in parts, as `track_lists` does."""
    bare = text.removeprefix("\ufeff")
    if _BEGINNING.match(bare):
        return in_parts(_read_objects(bare, now), most)
    return track_lists(text, now, most)


def _row(each: TrackRequest) -> tuple[str | None, ...]:
    said, at = each.remarks, each.remarks.attempted_at
    return (
        str(each.tx_hash),
        " ".join(map(str, each.network_ids)),
        None if at is None else f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z",
        said.label,
        said.case_id,
        said.owner,
        said.tags,
        said.note,
    )


def _object(each: TrackRequest) -> dict[str, object]:
    values: dict[str, object] = dict(zip(_COLUMNS.values(), _row(each), strict=True))
    values["networks"] = list(each.network_ids)
    values["tags"] = each.remarks.tags.replace("#", "").split()
    return {name: value for name, value in values.items() if value}


def _read_objects(text: str, now: datetime) -> Iterator[ListedTransaction | WrongText]:
    """Parse one object after the other; a broken object only loses its own line."""
    place = text.find("{")
    line, counted = 1, 0
    while place >= 0:
        line, counted = line + text.count("\n", counted, place), place
        found = _FLAT.match(text, place)
        end = text.find("\n", place) % (len(text) + 1) if found is None else found.end()
        try:
            values = json.loads(text[place:end])
        except (ValueError, RecursionError):
            yield WrongText(line, text[place:end][:_LONGEST_QUOTED], _NO_OBJECT)
        else:
            yield _read_object(line, values, now)
        place = text.find("{", end)


def _read_object(
    line: int, found: Mapping[str, object], now: datetime
) -> ListedTransaction | WrongText:
    texts = {ours: _text(found.get(theirs, found.get(ours))) for ours, theirs in _COLUMNS.items()}
    paste = read_paste(texts["tx_hash"])
    if len(paste.hashes) != 1 or paste.wrong:
        why = f"names no transaction as txHash: write such as {_EXAMPLE}"
        return WrongText(line, json.dumps(found)[:_LONGEST_QUOTED], why)
    unknown = [each for each in found if each not in {*_COLUMNS, *_COLUMNS.values()}]
    remark = f"its “{unknown[0][:40]}” means nothing here" if unknown else ""
    listed = ListedTransaction(line, paste.hashes[0], remark=remark)
    return with_texts(with_attempt(listed, texts["attempted_at"], now), texts)


def _text(value: object) -> str:
    """Return a text unchanged, and a list of texts or numbers as words."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value is None else str(value)
