"""Tables of plain values as text for other programs: CSV without formulas, and TOML."""

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


_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LARGEST_SHORT: Final = 0xFFFF


def write_toml(above: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Format each table as ``[above.NAME]``; values are text, numbers, booleans, lists of these."""
    return write_nested_toml({above: tables})


def write_nested_toml(table: Mapping[str, Any]) -> str:
    """Format a table and the tables in it, each with a header of its own."""
    return "\n".join("\n".join([*lines, ""]) for lines in _tables(table, ()))


def _tables(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the lines of each table; one that contains nothing but tables needs no header."""
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
    """Quote a text of several lines, line by line."""
    lines = (_text(each)[1:-1] for each in text.split("\n"))
    return '"""\n' + "\n".join(lines) + '"""'


def _text(text: str) -> str:
    """Quote a text and escape invisible characters."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else _escape(each) for each in quoted)


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= _LARGEST_SHORT else f"\\U{number:08x}"
