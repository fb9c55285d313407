"""Settings and rules written as TOML, each table with a header of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

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
