"""Tables as CSV in which no cell is a formula, and text that spreadsheets saved."""

from __future__ import annotations

import csv
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Final

from dashboard.domain.markup import visible
from dashboard.errors import InputError

_LONGEST_CELL: Final = 32_000
"""Characters; common spreadsheets accept 32,767."""

_CELL_BEGINS: Final = r"(^|[;,|])"
_FORMULA: Final = r"(?=['\"\s]*[=+\-@\uff1d\uff0b\uff0d\uff20|%])"
"""What a spreadsheet, or a program that it passes a cell to, may take for the start of a formula.
"""

_COMPUTED: Final = re.compile(_CELL_BEGINS + _FORMULA)
_MARKED: Final = re.compile(f"{_CELL_BEGINS}'{_FORMULA}")


def read_spreadsheet(octets: bytes) -> str:
    """Decode text that a spreadsheet saved in UTF-8 or UTF-16; InputError for anything else."""
    try:
        return octets.decode(_encoding(octets))
    except UnicodeDecodeError as error:
        raise InputError(
            "it is text neither in UTF-8 nor in UTF-16: save it as “CSV UTF-8” and give it again"
        ) from error


def _encoding(octets: bytes) -> str:
    """Detect UTF-16 by its byte order mark, or by the zero byte beside a first ASCII character."""
    if octets[:2] in {BOM_UTF16_LE, BOM_UTF16_BE}:
        return "utf-16"
    if octets[:2].count(0) == 1:
        return "utf-16-be" if octets[0] == 0 else "utf-16-le"
    return "utf-8-sig"


def cell(text: str) -> str:
    """Put an apostrophe before foreign text that a spreadsheet could take for a formula.

    If a program separates cells by another character than the comma, part of the text becomes a
    cell, so an apostrophe follows each such separator too. Invisible characters, including tabs and
    line ends, are shown as codes.
    """
    return _COMPUTED.sub(r"\1'", visible(text, _LONGEST_CELL))


def without_mark(text: str) -> str:
    """Remove the apostrophes that `cell` added."""
    return _MARKED.sub(r"\1", text)


def write_csv(header: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    """Format a table as in RFC 4180; None is an empty cell, numbers stay numbers."""
    written = StringIO()
    table = csv.writer(written)
    table.writerow(header)
    table.writerows([cell(each) if isinstance(each, str) else each for each in row] for row in rows)
    return written.getvalue()
