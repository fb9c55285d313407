"""Tables for spreadsheets: CSV whose cells are text or numbers and never formulas."""

from __future__ import annotations

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Final

from dashboard.domain.foreign_text import visible
from dashboard.errors import InputError

_LONGEST_CELL: Final = 32_000
"""Characters; the usual spreadsheets take 32,767."""

_FORMULA: Final = re.compile(r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20|%]")
"""What spreadsheets, or the programs they hand a cell to, may take for the start of a formula."""


def read_spreadsheet(octets: bytes) -> str:
    """Read text as spreadsheets save it, in UTF-8 or UTF-16; InputError for any other."""
    try:
        return octets.decode(_encoding(octets))
    except UnicodeDecodeError as error:
        raise InputError(
            "it is text neither in UTF-8 nor in UTF-16: save it as “CSV UTF-8” and give it again"
        ) from error


def _encoding(octets: bytes) -> str:
    """Detect UTF-16 by its mark, or by the zero beside a first ASCII character."""
    if octets[:2] in {BOM_UTF16_LE, BOM_UTF16_BE}:
        return "utf-16"
    if octets[:2].count(0) == 1:
        return "utf-16-be" if octets[0] == 0 else "utf-16-le"
    return "utf-8-sig"


def cell(text: str) -> str:
    """Make foreign text a cell that stays text: an apostrophe in front of what could compute.

    Unseen characters, line ends included, show as codes; a spreadsheet hides the apostrophe.
    """
    shown = visible(text, _LONGEST_CELL)
    return f"'{shown}" if _FORMULA.match(shown) else shown


def without_mark(text: str) -> str:
    """Take the apostrophe away that `cell` put in front of what could compute."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text


def write_csv(header: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    """Write a table as RFC 4180 asks; None is an empty cell, numbers stay numbers."""
    written = StringIO()
    table = csv.writer(written)
    table.writerow(header)
    table.writerows([cell(each) if isinstance(each, str) else each for each in row] for row in rows)
    return written.getvalue()
