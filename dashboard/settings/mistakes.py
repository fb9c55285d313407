"""Read settings by their schema and find every mistake: setting, place, value and remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    ParamSpec,
    TypeGuard,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Struct

from dashboard.domain.quantity import shorten
from dashboard.settings.layers import (
    Layer,
    Mistake,
    SettingPath,
    Table,
    location_of,
    named,
)

_Arguments = ParamSpec("_Arguments")
_Finding = TypeVar("_Finding")

_INDEX: Final = re.compile(r"(.*) - at `\$\[(\d+)\]`", re.DOTALL)
_HIDDEN: Final = frozenset({"url", "key", "secret", "secrets", "password"})
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
    near = difflib.get_close_matches(name, list(candidates), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"is not a setting of Linewatch{hint}"


@dataclass(frozen=True, slots=True)
class Inspector:
    """Reads the merged table by the schema; `decode` reads our own types of value.

    `found` is what was wrong so far.
    """

    layers: Sequence[Layer]
    decode: Callable[[type, object], object]
    found: list[Mistake] = field(default_factory=list)

    def read(self, table: object, kind: Any, path: SettingPath = ()) -> Any:  # noqa: ANN401 - a value of `kind`, which may be any
        """Return the value at a path; one that is wrong becomes UNSET in its table."""
        kind = _without_none(kind)
        if _is_struct(kind):
            return assembled(kind, self._fields(table, kind, path))
        if isinstance(table, dict) and get_origin(kind) is dict:
            inner = get_args(kind)[1]
            return {name: self.read(each, inner, (*path, name)) for name, each in table.items()}
        if isinstance(table, list) and _is_list_of_tables(kind):
            inner = get_args(kind)[0]
            steps = enumerate(table)
            return [self.read(each, inner, (*path, str(place))) for place, each in steps]
        return self._value(table, kind, path)

    def mistake(self, path: SettingPath, remark: str) -> Mistake:
        """Say what is wrong with one setting."""
        return Mistake(named(path), remark, location_of(path, self.layers))

    def _fields(self, table: object, kind: type[msgspec.Struct], path: SettingPath) -> Table:
        fields = {each.name: each for each in msgspec.structs.fields(kind)}
        if not isinstance(table, dict):
            self._value(table, kind, path)
            return dict.fromkeys(fields, msgspec.UNSET)
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
                read[name] = msgspec.UNSET
        return read

    def _value(self, value: object, kind: Any, path: SettingPath) -> object:  # noqa: ANN401 - msgspec converts to any type
        try:
            converted: object = msgspec.convert(value, kind, strict=False, dec_hook=self.decode)
        except msgspec.ValidationError as error:
            what = str(error)
            if match := _INDEX.fullmatch(what):
                what, path = match[1], (*path, match[2])
                value = value[int(match[2])] if isinstance(value, list) else value
            remark = f"is {_shown(value, path)}: {_expected(what, kind)}"
            self.found.append(self.mistake(path, remark))
            return msgspec.UNSET
        return converted


def _shown(value: object, path: SettingPath) -> str:
    """Quote the offending value; one that may be a secret stays hidden."""
    return "not usable" if _may_be_secret(path) else shorten(str(value))


def _expected(what: str, kind: object) -> str:
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(kind) is Literal:
        return f"choose one of {', '.join(get_args(kind))}"
    return what[:1].lower() + what[1:]


def _without_none(kind: Any) -> Any:  # noqa: ANN401 - a type as typing writes it has no type of its own
    if isinstance(kind, UnionType):
        return next(part for part in get_args(kind) if part is not NoneType)
    return kind


def _is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _is_list_of_tables(kind: Any) -> bool:  # noqa: ANN401 - a type as typing writes it has no type of its own
    return get_origin(kind) is list and _is_struct(get_args(kind)[0])


class NotReadable(Exception):
    """A check asked for a setting that cannot be read; that mistake is reported already."""


def assembled(kind: type[Struct], values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an instance of `kind`, and typing has no word for that
    """Build a table of settings; to ask for one whose value is UNSET raises NotReadable."""
    if any(value is UNSET for value in values.values()):
        refusing = {"__getattribute__": _refuse_unset}
        kind = msgspec.defstruct(kind.__name__, (), bases=(kind,), namespace=refusing, frozen=True)
    return kind(**values)


def as_far_as_readable(
    check: Callable[_Arguments, Iterator[_Finding]],
) -> Callable[_Arguments, Iterator[_Finding]]:
    """Let a check end, with what it has found, where it asks for a value that cannot be read."""

    @wraps(check)
    def checked(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Iterator[_Finding]:
        with suppress(NotReadable):
            yield from check(*args, **kwargs)

    return checked


def _refuse_unset(table: Struct, name: str) -> object:
    value: object = object.__getattribute__(table, name)
    if value is UNSET:
        raise NotReadable(name)
    return value
