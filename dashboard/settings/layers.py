"""Layers of settings: what each source says, where it stands, and every mistake."""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    TypeAlias,
    TypeGuard,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET

from dashboard.domain.quantity import Wei, shorten
from dashboard.domain.secret import Secret, holds_login
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.wire.decoding import TooDeep, in_plain_words, read_toml

Table: TypeAlias = dict[str, Any]
SettingPath: TypeAlias = tuple[str, ...]
"""The names that lead to a setting, from the outermost table inwards."""

Remark: TypeAlias = tuple[SettingPath, str]
"""The path of a setting that is wrong, and what to say after its name."""

_LINE: Final = re.compile(r"\(at line (\d+), ")
_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|"(?:[^"\\]|\\.)*"'  # basic strings
    r"|'''.*?'{3,5}|'[^']*'"  # literal strings
    r"|#[^\n]*|[][{}\n]",
    re.DOTALL,
)
"""What a value may go on with on the next line, or what hides that, in valid TOML."""

_DEEPEST: Final = 20
_TOO_DEEP: Final = f"its tables or lists are more than {_DEEPEST} deep"
_LARGEST_NUMBER: Final = 256
"""Bits."""

_LONGEST_TEXT: Final = 4_000_000
"""Characters of a file that a person names; a device such as /dev/zero has no end."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings: its name in errors, the table it gives, and the text of a file.

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


@dataclass(frozen=True, slots=True)
class SettingLocation:
    """Where a setting stands; `line` is None where the source is no file, or lacks the setting."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong; `remark` goes on after the name of the setting."""

    setting: str
    remark: str
    location: SettingLocation | None = None

    def __str__(self) -> str:
        known = self.location is None or self.location.source in self.setting
        return f"{self.setting}{'' if known else f' (in {self.location})'} {self.remark}"


def location_of(path: SettingPath, layers: Sequence[Layer]) -> SettingLocation | None:
    """Return where the last layer that holds the path sets it, or else the table around it."""
    for layer in reversed(layers):
        if _holds(layer.table, path):
            return SettingLocation(layer.source, layer.line_of(path))
    return None


def named(path: Iterable[str]) -> str:
    """Write a path as section.key, whatever it holds."""
    return ".".join(shorten(part).strip("'") for part in path) or "the configuration"


class Unreadable(Exception):
    """A file cannot be read; `mistake` says why."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(str(mistake))
        self.mistake = mistake


def read_text(path: Path, most: int = _LONGEST_TEXT) -> str:
    """Return the UTF-8 text of a file; OSError where it has more than `most` characters."""
    with path.open(encoding="utf-8") as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} characters")
    return text


def read_file(path: Path) -> Layer:
    """Return the file's table; Unreadable where it cannot be read or is not TOML."""
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
    """Return the table of a file's text; Unreadable where it is not TOML.

    Nor can what no person writes be read: tables within tables within tables, and numbers of a
    thousand digits.
    """
    try:
        table = read_toml(text)
    except TooDeep:  # how much that is depends on the process; our own bound is lower
        raise _no_toml(source, ValueError(_TOO_DEEP)) from None
    except ValueError as error:  # besides what is no TOML: too many digits
        raise _no_toml(source, error) from error
    if trouble := _trouble_in(table):
        raise _no_toml(source, ValueError(trouble))
    return Layer(source, table, text)


def _trouble_in(table: Table) -> str:
    """Say what nobody can mean; empty where there is nothing of it."""
    level: list[object] = [table]
    for _ in range(_DEEPEST):
        if any(isinstance(each, int) and each.bit_length() > _LARGEST_NUMBER for each in level):
            return "it holds a number of more than 256 bits"
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return _TOO_DEEP if level else ""


def _no_toml(source: str, error: ValueError) -> Unreadable:
    location = SettingLocation(source, _line_of(error))
    return Unreadable(Mistake(source, f"is not valid TOML: {error}", location))


def _line_of(error: Exception) -> int | None:
    match = _LINE.search(str(error))
    return int(match[1]) if match else None


@lru_cache(maxsize=16)
def lines_of(text: str) -> Mapping[SettingPath, int]:
    """Return the line, counted from one, on which each table and key of valid TOML begins.

    A value that spans lines stands on the line of its key.
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
    """Cut the text into statements: a table's head, or a key with its whole value."""
    text = text.replace("\r\n", "\n") + "\n"
    line, begin, depth = 1, 0, 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "[{") - (token[0] in "]}")
        if token[0] == "\n" and depth == 0:
            statement = text[begin : token.start()]
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


FIXED: Final = "fixed"
"""The field of the settings that no file says: it follows from the others."""

OURS: Final = (timedelta, datetime, Wei, CoinPrice)
"""Types that msgspec knows too, and would read from something else than people write."""

_INDEX: Final = re.compile(r"(.*) - at `\$\[(\d+)\]`", re.DOTALL)
_HIDDEN: Final = frozenset({"url", "websocket_url", "key", "secret", "secrets", "password"})
_OWN: Final = frozenset({("networks",), ("channels",), ("serve", "keys")})


def kind_at(path: SettingPath, kind: Any) -> Any:  # noqa: ANN401 - a type as typing writes it has no type of its own
    """Return the type of the setting at a path below `kind`; None where no setting belongs."""
    for step in path:
        kind = _without_none(kind)
        if get_origin(kind) is dict:
            kind = get_args(kind)[1]
        elif _is_struct(kind):
            kind = get_type_hints(kind, include_extras=True).get(step)
        else:
            return None
    return _without_none(kind)


def holds_settings(kind: object) -> bool:
    """Whether a type is a table, so that no value may stand in its place."""
    return get_origin(kind) is dict or _is_struct(kind) or _is_list_of_tables(kind)


def _may_be_secret(path: SettingPath) -> bool:
    """Whether a value at a path may hold a key.

    Below a name that a user chose it may be an address with its key, and so may a value where
    a table belongs.
    """
    return bool(_HIDDEN & set(path)) or tuple(path[:1]) in _OWN or tuple(path[:2]) in _OWN


def not_a_setting(name: str, candidates: Iterable[str]) -> str:
    """Say that a name is no setting, with the nearest of the `candidates` as a hint."""
    if name.lower().endswith("shortest_interval"):
        return "is not a setting any more: remove it, and see poll.calls_per_transaction"
    near = difflib.get_close_matches(name, list(candidates), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"is not a setting of Linewatch{hint}"


@dataclass(frozen=True, slots=True)
class Inspector:
    """Reads the merged table by the schema; `decode` reads our own types of value.

    `found` is what was wrong so far. In place of a wrong value stands that of the lowest layer,
    or the field's default; a table that needs the value and has neither is in `left_out`.
    """

    layers: Sequence[Layer]
    decode: Callable[[Any, object], object]
    found: list[Mistake] = field(default_factory=list)
    left_out: list[SettingPath] = field(default_factory=list)

    def read(self, table: object, kind: Any, path: SettingPath = ()) -> Any:  # noqa: ANN401 - a value of `kind`, which may be any
        """Return the value at a path; UNSET where it is wrong and nothing stands in for it."""
        kind = _without_none(kind)
        if _is_struct(kind):
            return self._struct(table, kind, path)
        if isinstance(table, dict) and get_origin(kind) is dict:
            inner = get_args(kind)[1]
            read = {name: self.read(each, inner, (*path, name)) for name, each in table.items()}
            return {name: each for name, each in read.items() if each is not UNSET}
        if isinstance(table, list) and _is_list_of_tables(kind):
            inner = get_args(kind)[0]
            steps = enumerate(table)
            every = [self.read(each, inner, (*path, str(place))) for place, each in steps]
            return [each for each in every if each is not UNSET]
        return self._value(table, kind, path)

    def mistake(self, path: SettingPath, remark: str) -> Mistake:
        """Say what is wrong with one setting."""
        return Mistake(named(path), remark, location_of(path, self.layers))

    def _struct(self, table: object, kind: type[msgspec.Struct], path: SettingPath) -> object:
        if not isinstance(table, dict):
            self._value(table, kind, path)
            self.left_out.append(path)
            return self._below(kind, path)
        fields = {each.name: each for each in msgspec.structs.fields(kind) if each.name != FIXED}
        hints, read = get_type_hints(kind, include_extras=True), {}
        for key, value in table.items():
            if key in fields:
                read[key] = self.read(value, hints[key], (*path, key))
            else:
                known = [name for name in fields if name != "home"]
                self.found.append(self.mistake((*path, key), not_a_setting(key, known)))
        for name, each in fields.items():
            if each.required and name not in table:
                self.found.append(self.mistake(path, f"lacks {name}; add it"))
            if read.get(name, UNSET) is UNSET:
                read[name] = self._below(hints[name], (*path, name))
        given = {name: value for name, value in read.items() if value is not UNSET}
        if all(name in given for name, each in fields.items() if each.required):
            return kind(**given)
        self.left_out.append(path)
        return UNSET

    def _below(self, kind: Any, path: SettingPath) -> object:  # noqa: ANN401 - a type as typing writes it has no type of its own
        """Return what the lowest layer says at a path; UNSET where it says nothing."""
        value: Any = self.layers[0].table
        for step in path:
            value = value.get(step, UNSET) if isinstance(value, dict) else UNSET
        lowest = Inspector(self.layers[:1], self.decode)
        return UNSET if value is UNSET else lowest.read(value, kind, path)

    def _value(self, value: object, kind: Any, path: SettingPath) -> object:  # noqa: ANN401 - msgspec converts to any type
        try:
            if kind in OURS:
                return self.decode(kind, value)
            converted: object = msgspec.convert(value, kind, strict=False, dec_hook=self.decode)
        except (msgspec.ValidationError, ValueError) as error:
            what = str(error)
            if match := _INDEX.fullmatch(what):
                what, path = match[1], (*path, match[2])
                value = value[int(match[2])] if isinstance(value, list) else value
            remark = f"is {_shown(value, path, kind)}: {in_plain_words(what, kind, 'a table')}"
            self.found.append(self.mistake(path, remark))
            return UNSET
        return converted


def _shown(value: object, path: SettingPath, kind: object) -> str:
    """Quote the offending value; one that may be a secret stays hidden."""
    is_number = isinstance(value, int | float) and not _HIDDEN & set(path)
    is_hidden = kind is Secret or Secret in get_args(kind) or _may_be_secret(path) > is_number
    return "not usable" if is_hidden else quoted(str(value))


def quoted(text: str) -> str:
    """Quote a text of the settings, unless it may hold a password."""
    return "an address with a login" if holds_login(text) else shorten(text)


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - a type as typing writes it has no type of its own
    if isinstance(kind, UnionType):
        return next(part for part in get_args(kind) if part is not NoneType)
    return kind


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_list_of_tables(kind: Any) -> bool:  # noqa: ANN401 - a type as typing writes it has no type of its own
    return get_origin(kind) is list and _is_struct(get_args(kind)[0])
