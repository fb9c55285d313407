"""Settings of which some values cannot be read: the others can still be held against each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import msgspec
from msgspec import UNSET, Struct

_Arguments = ParamSpec("_Arguments")
_Finding = TypeVar("_Finding")


class NotReadable(Exception):
    """A setting was asked for whose value cannot be read; the mistake is named elsewhere."""


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
