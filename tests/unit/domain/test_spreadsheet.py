"""CSV for spreadsheets: foreign text stays text."""

from __future__ import annotations

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.spreadsheet import cell, read_spreadsheet, write_csv
from dashboard.errors import InputError

_TEXT = "hash;Zürich\r\n"


@pytest.mark.parametrize(
    "octets",
    [
        _TEXT.encode(),
        _TEXT.encode("utf-8-sig"),
        BOM_UTF16_LE + _TEXT.encode("utf-16-le"),
        BOM_UTF16_BE + _TEXT.encode("utf-16-be"),
        _TEXT.encode("utf-16-le"),
        _TEXT.encode("utf-16-be"),
    ],
)
def test_text_is_read_as_spreadsheets_save_it(octets: bytes) -> None:
    assert read_spreadsheet(octets) == _TEXT


@pytest.mark.parametrize("octets", ["Zürich".encode("cp1252"), BOM_UTF16_LE + b"x"])
def test_text_in_another_encoding_is_refused_with_the_remedy(octets: bytes) -> None:
    with pytest.raises(InputError, match="save it as “CSV UTF-8”"):
        read_spreadsheet(octets)


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "  =1",
        "\uff1d1+1",
        "|cmd",
        "%0A=1",
        '=HYPERLINK("https://outside.invalid")',
    ],
)
def test_cell_that_could_compute_is_marked_as_text(text: str) -> None:
    assert cell(text)[0] in "'\\"


@pytest.mark.parametrize("text", ["", "HUB", "0x12", "a = b", "2026-11-20"])
def test_cell_that_cannot_compute_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_line_end_in_a_cell_begins_no_new_row() -> None:
    written = write_csv(["reason"], [["ADD\r\n=1+1\n@x"]])

    assert written == "reason\r\nADD\\u000d\\u000a=1+1\\u000a@x\r\n"


def test_numbers_stay_numbers_and_nothing_stays_empty() -> None:
    assert write_csv(["a", "b", "c"], [[-5, None, 'say "x", y']]) == (
        'a,b,c\r\n-5,,"say ""x"", y"\r\n'
    )


@given(st.lists(st.text(), min_size=2, max_size=2))
def test_no_text_becomes_a_formula_or_another_cell(texts: list[str]) -> None:
    rows = list(csv.reader(StringIO(write_csv(["a", "b"], [texts]), newline="")))

    assert rows[1] == [cell(text) for text in texts]
    assert not any(text.lstrip().startswith(("=", "+", "-", "@")) for text in rows[1])
