"""Tables for spreadsheets: CSV whose cells are text or numbers and never formulas."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Final

from dashboard.domain.foreign import visible

_LONGEST_CELL: Final = 32_000
"""Characters; the usual spreadsheets take 32,767."""

_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20|%]")
"""What spreadsheets, or the programs they hand a cell to, may take for the start of a formula."""


def cell(text: str) -> str:
    """Make foreign text a cell that stays text: an apostrophe in front of what could compute.

    Unseen characters, line ends included, show as codes; a reader takes the apostrophe away.
    """
    shown = visible(text, _LONGEST_CELL)
    return f"'{shown}" if _FORMULA.match(shown) else shown


def write_csv(header: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    """Write a table as RFC 4180 asks; None is an empty cell, numbers stay numbers."""
    written = StringIO()
    table = csv.writer(written)
    table.writerow(header)
    table.writerows([cell(each) if isinstance(each, str) else each for each in row] for row in rows)
    return written.getvalue()
