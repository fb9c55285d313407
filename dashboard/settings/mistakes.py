"""Turn a validation error into a sentence: which setting, from where, its value, the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import msgspec

from dashboard.domain.quantity import shorten
from dashboard.settings.schema import Settings

Table = dict[str, Any]

_HIDDEN: Final = frozenset({"url", "key", "secret", "password"})
_OWN: Final = frozenset({("networks",), ("serve", "keys")})
_UNKNOWN_FIELD: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING_FIELD: Final = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_STEP: Final = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings: what it is called in errors, and the table it gives."""

    source: str
    table: Table


def describe_mistake(
    error: msgspec.ValidationError, prefix: tuple[str, ...], merged: Table, layers: Sequence[Layer]
) -> str:
    """Say which setting below `prefix` the validation refused, and what would be accepted."""
    what, path = _split(str(error))
    path = (*prefix, *path)
    if match := _UNKNOWN_FIELD.fullmatch(what):
        path = (*path, match[1])
        return unknown_name(
            f"{_named(path)}{_origin(path, layers)}", match[1], _fields_at(path[:-1])
        )
    if match := _MISSING_FIELD.fullmatch(what):
        return f"{_named(path)}{_origin(path, layers)} lacks {match[1]}; add it"
    choices = _choices(path)
    expected = f"choose one of {', '.join(choices)}" if choices else what[:1].lower() + what[1:]
    return f"{_named(path)}{_origin(path, layers)} is {_shown(merged, path)}: {expected}"


def unknown_name(subject: str, name: str, candidates: Iterable[str]) -> str:
    """Say that `subject` is no setting, with the nearest of the `candidates` as a hint."""
    near = difflib.get_close_matches(name, list(candidates), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{subject} is not a setting of Linewatch{hint}"


def _split(message: str) -> tuple[str, tuple[str, ...]]:
    """Split a message of the validator into its sentence and the path that it names."""
    what, _, where = message.rpartition(" - at `$")
    if not what:
        return message, ()
    steps = (name or index for name, index in _STEP.findall(where.removesuffix("`")))
    return what, tuple(steps)


def _named(path: Sequence[str]) -> str:
    return ".".join(shorten(part).strip("'") for part in path) or "the configuration"


def _origin(path: Sequence[str], layers: Sequence[Layer]) -> str:
    """Name the topmost layer that holds the path; its first two steps tell a variable's layer."""
    source = next((layer.source for layer in reversed(layers) if _holds(layer.table, path)), None)
    return f" (in {source})" if source else ""


def _holds(table: object, path: Sequence[str]) -> bool:
    for step in path:
        if not isinstance(table, dict):
            return True
        if step not in table:
            return False
        table = table[step]
    return True


def _shown(merged: Table, path: Sequence[str]) -> str:
    """Quote the offending value; one that may hold a secret stays hidden.

    Whatever people put below a name of their own may be an address with its key, and so may
    anything that stands where a table belongs.
    """
    if _HIDDEN & set(path) or tuple(path[:1]) in _OWN or tuple(path[:2]) in _OWN:
        return "not usable"
    value: object = merged
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit():
            value = value[int(step)]
    return shorten(str(value))


def _kind_at(path: Sequence[str]) -> object:
    """Return the type of the setting at a path, or None beyond the schema."""
    kind: object = Settings
    for step in path:
        if get_origin(kind) is dict:
            kind = get_args(kind)[1]
        elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kind = get_type_hints(kind).get(step)
        else:
            return None
        kind = _without_none(kind)
    return kind


def _without_none(kind: object) -> object:
    if isinstance(kind, UnionType):
        return next(part for part in get_args(kind) if part is not NoneType)
    return kind


def _fields_at(path: Sequence[str]) -> tuple[str, ...]:
    kind = _kind_at(path)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return tuple(field for field in kind.__struct_fields__ if field != "home")
    return ()


def _choices(path: Sequence[str]) -> tuple[str, ...]:
    kind = _kind_at(path)
    return get_args(kind) if get_origin(kind) is Literal else ()
