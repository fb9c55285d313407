"""Where each setting stands in a file of TOML: the line of every path, which tomllib forgets."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]
"""The names that lead to a setting, from the outermost table inwards."""


def lines_of(text: str) -> dict[Path, int]:
    """Return the line, counted from one, on which each table and key of valid TOML begins.

    A value that spans lines stands on the line of its key.
    """
    found: dict[Path, int] = {}
    table: Path = ()
    for line, statement in _statements(text):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = max(paths, key=len, default=())
            paths = [table]
        else:
            paths = [(*table, *path) for path in paths]
        for path in paths:
            for length in range(1, len(path) + 1):
                found.setdefault(path[:length], line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Cut the text into what stands for itself: a table's head, or a key with its whole value."""
    begun: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        begun.append(line)
        statement = "\n".join(begun)
        if _is_whole(statement):
            yield number - len(begun) + 1, statement
            begun = []


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _paths(table: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for key, value in table.items():
        path = (*above, key)
        yield path
        if isinstance(value, dict):
            yield from _paths(value, path)
