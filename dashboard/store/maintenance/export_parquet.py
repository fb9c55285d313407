"""Exported rows as Parquet: typed columns, a row group for each batch, texts whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyarrow import parquet

from dashboard.store.maintenance.export_csv import each_once, json_text
from dashboard.store.maintenance.export_formats import Column, Field, Form
from dashboard.store.schema.columns import unescape

_GROUP: Final = 100_000
"""Rows of one group: what a reader takes at once."""

_TYPES: Final[dict[Form, Any]] = {
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
    schema = pa.schema([(each.name, _TYPES.get(each.form, pa.string())) for each in fields])
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
        pa.array(_VALUES.get(each.form, list)(column), kind.type)
        for each, column, kind in zip(fields, columns, schema, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)


def _each(read: Callable[[Any], object]) -> Callable[[Column], list[object]]:
    return lambda column: [None if value is None else read(value) for value in column]


def _whole_text(text: str) -> str:
    """Return all of a foreign text; halves of characters, which no file may hold, as codes."""
    told = unescape(text)
    return told if told.isascii() else told.encode("utf-8", "backslashreplace").decode()


_VALUES: Final[dict[Form, Callable[[Column], list[object]]]] = {
    Form.UNSIGNED: _each(lambda octets: int.from_bytes(octets, "big")),
    Form.LARGE: _each(lambda octets: Decimal(int.from_bytes(octets, "big"))),
    Form.HEX: _each(lambda octets: f"0x{octets.hex()}"),
    Form.TEXT: each_once(_whole_text),
    Form.JSON: each_once(json_text),
    Form.ID: _each(str),
}
