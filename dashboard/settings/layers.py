"""Layers of settings: what each source says, and on which line."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct

from dashboard.domain.quantity import shorten
from dashboard.wire.decoding import read_toml

Table: TypeAlias = dict[str, Any]
SettingPath: TypeAlias = tuple[str, ...]
"""The names that lead to a setting, from the outermost table inwards."""

Remark: TypeAlias = tuple[SettingPath, str]
"""The path of a wrong setting, and the rest of the sentence after its name."""

_LINE: Final = re.compile(r"\(at line (\d+), ")
_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\]|\\.)*"'  # basic strings
    r"|'''.*?'{3,5}|'[^']*'"  # literal strings
    r"|#[^\n]*|[][{}\n]",
    re.DOTALL,
)
"""What may continue a value on the next line, or hide that, in valid TOML."""

_LONGEST_TEXT: Final = 4_000_000
"""How many characters of a file are read; a device such as /dev/zero has no end."""


class Layer(Struct, frozen=True):
    """One source of settings: its name in errors, its table, and the text of a file.

    The file is one of the table `above`.
    """

    source: str
    table: Table
    text: str = ""
    above: SettingPath = ()

    def line_of(self, path: SettingPath) -> int | None:
        """Return the line on which a setting begins, or else the table around it."""
        lines, inner = lines_of(self.text), path[len(self.above) :]
        around = (inner[:length] for length in range(len(inner), 0, -1))
        return next((lines[each] for each in around if each in lines), None)


class SettingLocation(Struct, frozen=True):
    """Where a setting is set; `line` is None if the source is not a file, or lacks the setting."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}, line {self.line}"


class Mistake(Struct, frozen=True):
    """One mistake; `remark` is the rest of the sentence after the name of the setting."""

    setting: str
    remark: str
    location: SettingLocation | None = None

    def __str__(self) -> str:
        known = self.location is None or self.location.source in self.setting
        return f"{self.setting}{'' if known else f' (in {self.location})'} {self.remark}"


def location_of(path: SettingPath, layers: Sequence[Layer]) -> SettingLocation | None:
    """Return where the last layer with this path sets it, or else the table around it."""
    for layer in reversed(layers):
        if _holds(layer.table, path):
            return SettingLocation(layer.source, layer.line_of(path))
    return None


def named(path: Iterable[str]) -> str:
    """Format a path as section.key, whatever it contains."""
    return ".".join(shorten(part).strip("'") for part in path) or "the configuration"


class Unreadable(Exception):
    """A file cannot be read; `mistake` says why."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def read_text(path: Path, most: int = _LONGEST_TEXT) -> str:
    """Return the UTF-8 text of a file; OSError if it has more than `most` characters.

    The mark at its beginning, by which some editors say that it is UTF-8, is left out.
    """
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} characters")
    return text


def read_file(path: Path) -> Layer:
    """Return the file's table; Unreadable if it cannot be read or is not TOML."""
    try:
        text = read_text(path)
    except OSError as error:
        remark = f"cannot be read: {error.strerror}"
        raise Unreadable(
            Mistake(f"the configuration file {path}", remark, SettingLocation(str(path)))
        ) from error
    except UnicodeDecodeError as error:
        raise _no_toml(str(path), error) from error
    return layer_of(str(path), text)


def layer_of(source: str, text: str) -> Layer:
    """Return the table of a file's text; Unreadable if it is not TOML."""
    try:
        return Layer(source, read_toml(text), text)
    except ValueError as error:  # besides text that is not TOML: too many digits
        raise _no_toml(source, error) from error


def _no_toml(source: str, error: ValueError) -> Unreadable:
    location = SettingLocation(source, _line_of(error))
    return Unreadable(Mistake(source, f"is not valid TOML: {error}", location))


def _line_of(error: Exception) -> int | None:
    match = _LINE.search(str(error))
    return int(match[1]) if match else None


@lru_cache(maxsize=16)
def lines_of(text: str) -> Mapping[SettingPath, int]:
    """Return the line, counted from one, on which each table and key of valid TOML begins.

    A value that spans lines counts as on the line of its key.
    """
    found: dict[SettingPath, int] = {}
    table: SettingPath = ()
    for line, statement in _statements(text):
        paths = list(_paths(read_toml(statement)))
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
    """Split the text into statements: a table's head, or a key with its whole value."""
    text = text.replace("\r\n", "\n") + "\n"
    line, begin, depth = 1, 0, 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if token[0] == "\n" and depth == 0:
            statement = text[begin : token.start()]
            if statement.lstrip()[:1] not in {"", "#"}:
                yield line, statement
            line, begin = line + statement.count("\n") + 1, token.end()


def _paths(table: Mapping[str, Any], above: SettingPath = ()) -> Iterator[SettingPath]:
    for key, value in table.items():
        path = (*above, key)
        yield path
        if isinstance(value, dict):
            yield from _paths(value, path)


def _holds(table: object, path: SettingPath) -> bool:
    for step in path:
        if not isinstance(table, dict):
            return True
        if step not in table:
            return False
        table = table[step]
    return True
