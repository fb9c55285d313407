"""Files of exported rows: CSV (RFC 4180) or Parquet, with exact numbers and times in UTC.

No cell of a CSV file is a formula for a spreadsheet; Parquet has typed columns and whole texts.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

import numpy as np
import pyarrow as pa
from msgspec import Struct
from pyarrow import parquet
from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Float,
    Integer,
    LargeBinary,
    String,
    Text,
    Uuid,
    cast,
    type_coerce,
)

from dashboard.domain.csv_tables import cell
from dashboard.store.schema.columns import Duration, Exact, ForeignText, Moment, Unsigned, unescape
from dashboard.store.schema.fees import Total

Column: TypeAlias = Sequence[Any]
"""The values of one column of a batch, as the database returns them; None if there is none."""


class Form(Enum):
    """The form of a value, independent of the file."""

    WHOLE = auto()  # a number within 64 bits: counts, ids, milliseconds, wei
    UNSIGNED = auto()  # octets of a number without sign, up to 64 bits
    LARGE = auto()  # octets of a number beyond 64 bits
    MOMENT = auto()  # milliseconds since the epoch
    HEX = auto()  # octets
    WORD = auto()  # text of our own, in which nothing foreign stands
    TEXT = auto()  # foreign text, escaped
    JSON = auto()
    FLAG = auto()
    NUMBER = auto()
    ID = auto()


class Field(Struct, frozen=True):
    """One column of a file."""

    name: str
    value: ColumnElement[Any]
    form: Form


_EXACT: Final = {
    Moment: Form.MOMENT,
    ForeignText: Form.TEXT,
    Unsigned: Form.UNSIGNED,
    Total: Form.LARGE,
    Duration: Form.WHOLE,
}
_PLAIN: Final = (
    (Uuid, Form.ID),
    (Boolean, Form.FLAG),
    (Integer, Form.WHOLE),
    (Float, Form.NUMBER),
    (JSON, Form.JSON),
    (String, Form.WORD),
    (LargeBinary, Form.HEX),
)


def field(name: str, value: ColumnElement[Any], form: Form | None = None) -> Field:
    """Export a column by its type, or as `form`.

    Values come as the driver returns them: domain objects would take most of the time.
    """
    kind = value.type
    if isinstance(kind, Exact):
        form = form or _EXACT.get(kind, Form.HEX)
        value = type_coerce(value, kind.storage)
    elif isinstance(kind, JSON):
        form, value = form or Form.JSON, cast(value, Text)
    return Field(
        name, value, form or next(form for plain, form in _PLAIN if isinstance(kind, plain))
    )


def moment_field(name: str, milliseconds: ColumnElement[Any]) -> Field:
    """Export a column of plain milliseconds as moments."""
    return Field(name, milliseconds, Form.MOMENT)


def write_csv_rows(
    file: TextIO, fields: Sequence[Field], batches: Iterable[Sequence[Column]]
) -> int:
    """Write a header and all rows, a batch at a time; return how many rows. None is empty."""
    table = csv.writer(file)
    table.writerow([each.name for each in fields])
    writers = [_CSV_WRITERS[each.form] for each in fields]
    rows = 0
    for columns in batches:
        rows += len(columns[0])
        written = (write(column) for write, column in zip(writers, columns, strict=True))
        table.writerows(zip(*written, strict=True))
    return rows


def _each(write: Callable[[Any], object]) -> Callable[[Column], list[object]]:
    return lambda column: [None if value is None else write(value) for value in column]


def _each_once(write: Callable[[Any], object]) -> Callable[[Column], list[object]]:
    """Format a value once for all rows of a batch that have it: most texts repeat."""

    def written(column: Column) -> list[object]:
        once = {value: None if value is None else write(value) for value in set(column)}
        return list(map(once.__getitem__, column))

    return written


def _moments(column: Column) -> list[object]:
    """Format as 2026-11-20T12:00:00.000Z, a batch at once: one by one takes ten times as long."""
    known = np.array([0 if value is None else value for value in column], "datetime64[ms]")
    texts: list[object] = np.datetime_as_string(known, unit="ms", timezone="UTC").tolist()
    if None in column:
        return [None if value is None else text for value, text in zip(column, texts, strict=True)]
    return texts


def _json_cell(text: str) -> str:
    """Format JSON that stays one cell: it begins with a bracket and contains no separator.

    It contains commas, but CSV puts quotation marks around it.
    """
    return _json_text(text).replace(";", "\\u003b").replace("|", "\\u007c")


@lru_cache(1000)
def _json_text(text: str) -> str:
    """Format JSON from the database in one canonical form, in ASCII."""
    return json.dumps(json.loads(text))


_CSV_WRITERS: Final[dict[Form, Callable[[Column], Iterable[object]]]] = {
    Form.WHOLE: lambda column: column,
    Form.NUMBER: lambda column: column,
    Form.UNSIGNED: _each(lambda octets: int.from_bytes(octets, "big")),
    Form.LARGE: _each(lambda octets: int.from_bytes(octets, "big")),
    Form.MOMENT: _moments,
    Form.HEX: _each(lambda octets: f"0x{octets.hex()}"),
    Form.WORD: lambda column: column,
    Form.TEXT: _each_once(lambda text: cell(unescape(text))),
    Form.JSON: _each_once(_json_cell),
    Form.FLAG: _each(lambda flag: "true" if flag else "false"),
    Form.ID: _each(str),
}


_GROUP: Final = 100_000
"""Rows of one group: what a reader loads at once."""

_PARQUET_TYPES: Final[dict[Form, Any]] = {
    Form.WHOLE: pa.int64(),
    Form.NUMBER: pa.float64(),
    Form.UNSIGNED: pa.uint64(),
    Form.LARGE: pa.decimal128(38, 0),
    Form.MOMENT: pa.timestamp("ms", tz="UTC"),
    Form.FLAG: pa.bool_(),
}
"""All others are texts."""


def write_parquet_rows(
    path: Path, fields: Sequence[Field], batches: Iterable[Sequence[Column]]
) -> int:
    """Write all rows into a new file; return how many."""
    schema = pa.schema([(each.name, _PARQUET_TYPES.get(each.form, pa.string())) for each in fields])
    rows = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        group: list[Any] = []
        for columns in batches:
            rows += len(columns[0])
            group.append(_batch(schema, fields, columns))
            if sum(each.num_rows for each in group) >= _GROUP:
                file.write_table(pa.Table.from_batches(group, schema))
                group.clear()
        file.write_table(pa.Table.from_batches(group, schema))
    return rows


def _batch(schema: Any, fields: Sequence[Field], columns: Sequence[Column]) -> Any:  # noqa: ANN401 - pyarrow has no types
    arrays = [
        pa.array(_PARQUET_VALUES.get(each.form, list)(column), kind.type)
        for each, column, kind in zip(fields, columns, schema, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)


def _whole_text(text: str) -> str:
    """Return all of a foreign text; halves of characters, which no file may contain, as codes."""
    written = unescape(text)
    return written if written.isascii() else written.encode("utf-8", "backslashreplace").decode()


_PARQUET_VALUES: Final[dict[Form, Callable[[Column], list[object]]]] = {
    Form.UNSIGNED: _each(lambda octets: int.from_bytes(octets, "big")),
    Form.LARGE: _each(lambda octets: Decimal(int.from_bytes(octets, "big"))),
    Form.HEX: _each(lambda octets: f"0x{octets.hex()}"),
    Form.TEXT: _each_once(_whole_text),
    Form.JSON: _each_once(_json_text),
    Form.ID: _each(str),
}
