"""Files that are exported read back as they were written, whatever stands in them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from sqlalchemy import literal

from dashboard.domain.markup import visible
from dashboard.store.maintenance.export_files import Field, Form, write_csv_rows, write_parquet_rows
from dashboard.store.schema.columns import escape, milliseconds_of


def octets(number: Any, length: int = 8) -> bytes:  # noqa: ANN401 - a number, or text of one
    """Return a number as the store keeps it."""
    return int(number).to_bytes(length, "big")


def unhex(text: str) -> bytes:
    """Read octets in hex."""
    assert text.startswith("0x")
    return bytes.fromhex(text[2:])


FORMS: dict[Form, tuple[st.SearchStrategy[Any], Callable[[str], Any], Callable[[Any], Any]]] = {
    Form.WHOLE: (st.integers(-(2**63), 2**63 - 1), int, int),
    Form.UNSIGNED: (st.binary(min_size=8, max_size=8), lambda text: octets(text, 8), octets),
    Form.LARGE: (
        st.integers(0, 10**38 - 1).map(lambda number: number.to_bytes(16, "big")),
        lambda text: octets(text, 16),
        lambda number: octets(number, 16),
    ),
    Form.MOMENT: (
        st.integers(-62_135_596_800_000, 253_402_300_799_999),
        lambda text: milliseconds_of(datetime.fromisoformat(text)),
        milliseconds_of,
    ),
    Form.HEX: (st.binary(max_size=40), unhex, unhex),
    Form.TEXT: (st.text(max_size=50).map(escape), str, escape),
    Form.JSON: (
        st.lists(st.text(max_size=5)).map(json.dumps),
        lambda text: json.dumps(json.loads(text)),
        str,
    ),
    Form.FLAG: (st.booleans(), lambda text: text == "true", bool),
    Form.NUMBER: (st.floats(allow_nan=False), float, float),
    Form.ID: (st.uuids(), UUID, UUID),
}
"""Of each form its values, and how they are read out of CSV and out of Parquet."""

FIELDS = [Field(form.name, literal(1), form) for form in FORMS]
ROWS = st.lists(st.tuples(*(st.none() | values for values, _, _ in FORMS.values())), max_size=4)
HOSTILE = ("=1+1", "@SUM(A1)", 'a\r\nb,"c"', "\x1b[2J\u202e", "\ud800", "\0", "x" * 40_000, "|x")


def batches(rows: list[tuple[Any, ...]], size: int = 2) -> list[list[tuple[Any, ...]]]:
    """Cut rows into batches, each column by column."""
    cuts = (rows[start : start + size] for start in range(0, len(rows), size))
    return [list(zip(*some, strict=True)) for some in cuts]


def csv_of(rows: list[tuple[Any, ...]]) -> list[dict[str, str]]:
    """Write rows as CSV and read them as any reader of CSV does."""
    file = io.StringIO(newline="")
    assert write_csv_rows(file, FIELDS, batches(rows)) == len(rows)
    return list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))


@settings(max_examples=30)
@given(rows=ROWS)
def test_csv_reads_back_exactly_and_computes_nothing(rows: list[tuple[Any, ...]]) -> None:
    found = csv_of(rows)

    for row, read in zip(rows, found, strict=True):
        for (form, (_, read_csv, _)), value in zip(FORMS.items(), row, strict=True):
            text = read[form.name]
            assert text.lstrip()[:1] not in {"=", "+", "@", "|", "%"}
            assert text == visible(text, 40_000)
            if form is not Form.TEXT:
                assert (read_csv(text) if text else None) == value


@settings(max_examples=30)
@given(rows=ROWS)
def test_parquet_reads_back_exactly(rows: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "it.parquet"
        assert write_parquet_rows(path, FIELDS, batches(rows)) == len(rows)
        found = parquet.read_table(path).to_pylist()

    for row, read in zip(rows, found, strict=True):
        for (form, (_, _, read_parquet)), value in zip(FORMS.items(), row, strict=True):
            told = read[form.name]
            assert (None if told is None else read_parquet(told)) == value


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert_in_csv_and_whole_in_parquet(tmp_path: Path, text: str) -> None:
    fields = [Field("reason", literal(1), Form.TEXT)]
    file = io.StringIO(newline="")

    write_csv_rows(file, fields, [[(escape(text),)]])
    write_parquet_rows(tmp_path / "it.parquet", fields, [[(escape(text),)]])

    [header, line, end] = file.getvalue().split("\r\n")
    assert (header, end) == ("reason", "")
    assert len(line) < 33_000
    assert line.isprintable()
    assert line.lstrip('"')[:1] not in {"=", "@", "|"}
    [whole] = parquet.read_table(tmp_path / "it.parquet").column("reason").to_pylist()
    assert whole == text.replace("\ud800", "\\ud800")


def test_pandas_reads_typed_columns_in_groups(tmp_path: Path) -> None:
    fields = [Field("at", literal(1), Form.MOMENT), Field("fee", literal(1), Form.WHOLE)]
    rows = [[tuple(range(60_000)), tuple(range(2**62, 2**62 + 60_000))]] * 3

    write_parquet_rows(tmp_path / "it.parquet", fields, rows)

    frame = pd.read_parquet(tmp_path / "it.parquet")
    assert str(frame["at"].dtype) == "datetime64[ms, UTC]"
    assert int(frame["fee"].iloc[-1]) == 2**62 + 59_999
    assert frame["at"].iloc[1] == datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)
    assert parquet.ParquetFile(tmp_path / "it.parquet").num_row_groups == 2
