"""Read the merged table by the schema: unknown keys with their nearest name, and wrong values."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeGuard, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Struct, field

from dashboard.domain.quantity import Wei, shorten
from dashboard.domain.secret import Secret, holds_login
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.settings.layers import Layer, Mistake, SettingPath, location_of, named
from dashboard.wire.decoding import in_plain_words

FIXED: Final = "fixed"
"""The field of the settings that no file sets: it follows from the others."""

OURS: Final = (timedelta, datetime, Wei, CoinPrice)
"""Types that msgspec knows too, but would read from another form than people write."""

_INDEX: Final = re.compile(r"(.*) - at `\$\[(\d+)\]`", re.DOTALL)
_HIDDEN: Final = frozenset({"url", "websocket_url", "key", "secret", "secrets", "password"})
_OWN: Final = frozenset({("networks",), ("channels",), ("serve", "keys")})


def kind_at(path: SettingPath, kind: Any) -> Any:  # noqa: ANN401 - a type as typing writes it has no type of its own
    """Return the type of the setting at a path below `kind`; None if there is no such setting."""
    for step in path:
        kind = _without_none(kind)
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        if get_origin(kind) is dict:
            kind = get_args(kind)[1]
        elif _is_struct(kind):
            kind = get_type_hints(kind, include_extras=True).get(step)
        else:
            return None
    return _without_none(kind)


def holds_settings(kind: object) -> bool:
    """Whether a type is a table, so that no value may be in its place."""
    return get_origin(kind) is dict or _is_struct(kind) or _is_list_of_tables(kind)


def _may_be_secret(path: SettingPath) -> bool:
    """Whether a value at a path may contain a key.

    Below a name that a user chose it may be an address with its key, and so may a value in the
    place of a table.
    """
    return bool(_HIDDEN & set(path)) or tuple(path[:1]) in _OWN or tuple(path[:2]) in _OWN


def not_a_setting(name: str, candidates: Iterable[str]) -> str:
    """Say that a name is not a setting, with the nearest of the `candidates` as a hint."""
    if name.lower().endswith("shortest_interval"):
        return "is not a setting any more: remove it, and see poll.calls_per_transaction"
    near = difflib.get_close_matches(name, list(candidates), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"is not a setting of Linewatch{hint}"


class Inspector(Struct, frozen=True):
    """Reads the merged table by the schema; `decode` reads our own types of value.

    `found` has the mistakes so far. A wrong value is replaced by that of the lowest layer, or by
    the field's default; a table that needs the value and has neither is in `left_out`.
    """

    layers: Sequence[Layer]
    decode: Callable[[Any, object], object]
    found: list[Mistake] = field(default_factory=list)
    left_out: list[SettingPath] = field(default_factory=list)

    def read(self, table: object, kind: Any, path: SettingPath = ()) -> Any:  # noqa: ANN401 - a value of `kind`, which may be any
        """Return the value at a path; UNSET if it is wrong and there is no replacement."""
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
        """Record what is wrong with one setting."""
        return Mistake(named(path), remark, location_of(path, self.layers))

    def _struct(self, table: object, kind: type[Struct], path: SettingPath) -> object:
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
        """Return the value of the lowest layer at a path; UNSET if it has none."""
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


def _is_struct(kind: object) -> TypeGuard[type[Struct]]:
    return isinstance(kind, type) and issubclass(kind, Struct) and kind not in OURS


def _is_list_of_tables(kind: Any) -> bool:  # noqa: ANN401 - a type as typing writes it has no type of its own
    return get_origin(kind) is list and _is_struct(get_args(kind)[0])
