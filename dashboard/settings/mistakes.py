"""Read settings and find every mistake: which setting, where it stands, its value, the remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeGuard, get_args, get_origin, get_type_hints

import msgspec

from dashboard.domain.quantity import shorten
from dashboard.settings.locate import Path
from dashboard.settings.partly import assembled

Table = dict[str, Any]

_INDEX: Final = re.compile(r"(.*) - at `\$\[(\d+)\]`", re.DOTALL)
_HIDDEN: Final = frozenset({"url", "key", "secret", "password"})
_OWN: Final = frozenset({("networks",), ("serve", "keys")})


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings: its name in errors, the table it gives, and the lines in it."""

    source: str
    table: Table
    lines: Mapping[Path, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
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
    place: Place | None = None

    def __str__(self) -> str:
        known = self.place is None or self.place.source in self.setting
        return f"{self.setting}{'' if known else f' (in {self.place})'} {self.remark}"


def place_of(path: Path, layers: Sequence[Layer]) -> Place | None:
    """Return where the topmost layer that holds the path has it, or else what is around it."""
    for layer in reversed(layers):
        if _holds(layer.table, path):
            known = (path[:length] for length in range(len(path), 0, -1))
            return Place(
                layer.source, next((layer.lines[p] for p in known if p in layer.lines), None)
            )
    return None


def named(path: Iterable[str]) -> str:
    """Write a path as people do, whatever stands in it."""
    return ".".join(shorten(part).strip("'") for part in path) or "the configuration"


def kind_at(path: Path, kind: Any) -> Any:  # noqa: ANN401 - a type as typing writes it has no type of its own
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


def _may_be_secret(path: Path) -> bool:
    """Whether what stands at a path by mistake may hold a key.

    Whatever people put below a name of their own may be an address with its key, and so may
    anything that stands where a table belongs.
    """
    return bool(_HIDDEN & set(path)) or tuple(path[:1]) in _OWN or tuple(path[:2]) in _OWN


def not_a_setting(name: str, candidates: Iterable[str]) -> str:
    """Say that a name is no setting, with the nearest of the `candidates` as a hint."""
    near = difflib.get_close_matches(name, list(candidates), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"is not a setting of Linewatch{hint}"


@dataclass(frozen=True, slots=True)
class Inspector:
    """Reads a merged table as the schema has it; `decode` reads the kinds that are ours.

    `found` is what was wrong so far.
    """

    layers: Sequence[Layer]
    decode: Callable[[type, object], object]
    found: list[Mistake] = field(default_factory=list)

    def read(self, table: object, kind: Any, path: Path = ()) -> Any:  # noqa: ANN401 - a value of `kind`, which may be any
        """Return what stands at a path; a value that is wrong is UNSET, in its table unreadable."""
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

    def mistake(self, path: Path, remark: str) -> Mistake:
        """Say what is wrong with one setting."""
        return Mistake(named(path), remark, place_of(path, self.layers))

    def _fields(self, table: object, kind: type[msgspec.Struct], path: Path) -> Table:
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

    def _value(self, value: object, kind: Any, path: Path) -> object:  # noqa: ANN401 - msgspec converts to any type
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


def _holds(table: object, path: Path) -> bool:
    for step in path:
        if not isinstance(table, dict):
            return True
        if step not in table:
            return False
        table = table[step]
    return True


def _shown(value: object, path: Path) -> str:
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
