"""Tables of plain values as text that other programs read: CSV without formulas, and TOML."""

from __future__ import annotations

import csv
import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Final

from dashboard.domain.markup import visible
from dashboard.errors import InputError

_LONGEST_CELL: Final = 32_000
"""Characters; the usual spreadsheets take 32,767."""

_CELL_BEGINS: Final = r"(^|[;,|])"
_FORMULA: Final = r"(?=['\"\s]*[=+\-@\uff1d\uff0b\uff0d\uff20|%])"
"""What spreadsheets, or the programs they hand a cell to, may take for the start of a formula."""

_COMPUTED: Final = re.compile(_CELL_BEGINS + _FORMULA)
_MARKED: Final = re.compile(f"{_CELL_BEGINS}'{_FORMULA}")


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

    Where another character than the comma separates cells, a part of the text becomes a cell. So
    one stands behind each separator too. Unseen characters, tabs and line ends included, show as
    codes.
    """
    return _COMPUTED.sub(r"\1'", visible(text, _LONGEST_CELL))


def without_mark(text: str) -> str:
    """Take each apostrophe away that `cell` put in front of what could compute."""
    return _MARKED.sub(r"\1", text)


def write_csv(header: Sequence[str], rows: Iterable[Sequence[str | int | None]]) -> str:
    """Write a table as RFC 4180 asks; None is an empty cell, numbers stay numbers."""
    written = StringIO()
    table = csv.writer(written)
    table.writerow(header)
    table.writerows([cell(each) if isinstance(each, str) else each for each in row] for row in rows)
    return written.getvalue()


_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LARGEST_SHORT: Final = 0xFFFF


def write_toml(above: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write each table as ``[above.NAME]``; values are text, numbers, booleans, lists of these."""
    return write_nested_toml({above: tables})


def write_nested_toml(table: Mapping[str, Any]) -> str:
    """Write a table with the tables in it, each below a head of its own."""
    return "\n".join("\n".join([*lines, ""]) for lines in _tables(table, ()))


def _tables(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the lines of each table; one that holds nothing but tables needs no head."""
    own = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    if own or not table:
        head = [f"[{'.'.join(map(_key, above))}]"] if above else []
        yield [*head, *(f"{_key(key)} = {_value(value)}" for key, value in own.items())]
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _tables(value, (*above, key))


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    if isinstance(value, str):
        return _lines_of(value) if "\n" in value else _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _lines_of(text: str) -> str:
    """Quote a text of several lines, each on its own."""
    lines = (_text(each)[1:-1] for each in text.split("\n"))
    return '"""\n' + "\n".join(lines) + '"""'


def _text(text: str) -> str:
    """Quote a text; what cannot be seen is written as a code."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else _escape(each) for each in quoted)


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= _LARGEST_SHORT else f"\\U{number:08x}"
