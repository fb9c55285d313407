"""Tables of plain values as TOML text that a person can edit and any reader of TOML reads back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LARGEST_SHORT: Final = 0xFFFF


def write_toml(above: str, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Write each table as ``[above.NAME]``; values are text, numbers, booleans, lists of these."""
    return "\n".join(
        "\n".join([f"[{above}.{_key(name)}]", *_lines(table), ""]) for name, table in tables.items()
    )


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in table.items()]


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _text(text: str) -> str:
    """Quote a text; what cannot be seen is written as a code."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else _escape(each) for each in quoted)


def _escape(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= _LARGEST_SHORT else f"\\U{number:08x}"
