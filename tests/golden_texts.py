"""Texts that people read and review as a whole: tests/golden, and how a test compares with them.

`python -m pytest --rewrite-golden PATHS` writes anew what the tests of these paths compare. Read
the difference as what users will see: it is the review.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct
from msgspec.structs import asdict

GOLDEN: Final = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class GoldenTexts:
    """Compares texts with a file of tests/golden, or writes it."""

    is_rewritten: bool

    def check(self, name: str, texts: Mapping[str, object]) -> None:
        """Fail unless the file called `name` holds these texts, each under its title."""
        file = GOLDEN / f"{name}.txt"
        written = "\n".join(f"══ {title}\n{as_lines(text)}" for title, text in texts.items())
        if self.is_rewritten:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(written, encoding="utf-8")
        kept = file.read_text(encoding="utf-8") if file.exists() else ""
        if kept != written:
            before, now = (each.splitlines(keepends=True) for each in (kept, written))
            changed = "".join(unified_diff(before, now, f"golden/{file.name}", "now"))
            pytest.fail(
                f"{changed}\nIf it reads well: python -m pytest --rewrite-golden", pytrace=False
            )


def as_lines(text: object) -> str:
    """Return lines of a text, of rows, or of a record's fields that differ from their defaults."""
    return "".join(f"{line.rstrip()}\n" for line in _lines_of(text))


def _lines_of(text: object) -> list[str]:
    if isinstance(text, Struct):
        last_first = zip(
            reversed(text.__struct_fields__), reversed(text.__struct_defaults__), strict=False
        )
        defaults = dict(last_first)
        named = {
            name: value
            for name, value in asdict(text).items()
            if name not in defaults or value != defaults[name]
        }
        return [line for name, value in named.items() for line in _lines_of_field(name, value)]
    if isinstance(text, tuple | list):
        return [_cells(each) for each in text] or ["(nothing)"]
    return str(text).split("\n")


def _lines_of_field(name: str, value: object) -> list[str]:
    """Return a field with its name."""
    if isinstance(value, tuple | list):
        return [f"{name}:", *(f"    {_cells(each)}" for each in value)]
    return [f"{name}: {'…' if isinstance(value, bytes) else value}"]


def _cells(row: object) -> str:
    return " | ".join(map(str, row)) if isinstance(row, tuple | list) else str(row)
