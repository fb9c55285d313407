"""How commands answer: aligned plain tables for people, JSON with fixed keys for programs.

Whatever is printed here is inert: foreign text reaches no terminal as control or direction codes.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Final, TypeAlias

import click

from dashboard.domain.foreign_text import visible
from dashboard.wire.timestamp import format_timestamp

Json: TypeAlias = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
"""What JSON can say."""

FOUND: Final = 3
"""The status with --exit-code where something was found."""

WRONG_INPUT: Final = 2
"""The status where an argument, an option or a setting cannot be used."""

FAILED: Final = 1
"""The status where what was asked for could not be done."""

_GAP: Final = "  "
_WIDE: Final = frozenset("WF")


def say(text: str) -> None:
    """Print one line."""
    click.echo(visible(text))


def warn(text: str) -> None:
    """Print one line to standard error, so that an answer stays what it is."""
    click.echo(f"linewatch: {visible(text)}", err=True)


def print_json(value: Json) -> None:
    """Print a value as indented ASCII, which holds neither control nor direction codes."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their columns; nothing is cut off, since a program may read it."""
    print_rows([columns, *rows])


def print_rows(rows: Sequence[Sequence[str]], widths: Sequence[int] = ()) -> Sequence[int]:
    """Print further rows of a table whose columns had these `widths`; return what they have."""
    cells = [[visible(cell, len(cell)) for cell in row] for row in rows]
    taken = [[_width(cell) for cell in line] for line in cells]
    needed = [max(column) for column in zip(*taken, strict=True)]
    widths = [max(pair) for pair in zip_longest(needed, widths, fillvalue=0)]
    lines = [
        _GAP.join(
            cell + " " * (width - has)
            for cell, width, has in zip(line, widths, of_line, strict=True)
        ).rstrip()
        for line, of_line in zip(cells, taken, strict=True)
    ]
    if lines:
        click.echo("\n".join(lines))  # one call: a call for each line doubles the time
    return widths


def instant(at: datetime | None) -> str | None:
    """Write a moment for programs, as both APIs do."""
    return None if at is None else format_timestamp(at)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in _WIDE)
        for each in text
    )
