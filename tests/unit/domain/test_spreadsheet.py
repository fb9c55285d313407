"""CSV for spreadsheets: foreign text stays text."""

from __future__ import annotations

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.domain.foreign_text import visible
from dashboard.domain.tables import cell, read_spreadsheet, without_mark, write_csv
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


_TEXTS = st.text(st.sampled_from("ab =+-@;,|\t\n\"'%") | st.characters(), max_size=30)


@given(st.lists(_TEXTS, min_size=2, max_size=2))
def test_text_becomes_no_other_cell_and_is_read_again(texts: list[str]) -> None:
    rows = list(csv.reader(StringIO(write_csv(["a", "b"], [texts]), newline="")))

    assert rows[1] == [cell(text) for text in texts]
    assert [without_mark(each) for each in rows[1]] == [visible(text) for text in texts]


@given(st.lists(_TEXTS, min_size=2, max_size=2), st.sampled_from(",;|\t"), st.booleans())
@example(["pay;@SUM(1)", 'a;"=1+1"'], ";", False)  # noqa: FBT003 - each value is named below
def test_no_part_of_a_text_becomes_a_formula_whatever_separates_cells(
    texts: list[str],
    separator: str,
    is_skipping_blanks: bool,  # noqa: FBT001 - the case
) -> None:
    written = write_csv(["a", "b"], [texts])
    read = csv.reader(
        StringIO(written, newline=""), delimiter=separator, skipinitialspace=is_skipping_blanks
    )

    cells = [each.lstrip(' "') for row in read for each in row]

    assert [each for each in cells if each.startswith(("=", "+", "-", "@"))] == []
