"""Arguments of our own methods: by position or by name, as OpenRPC has it, and nothing besides."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from dashboard.domain.quantity import shorten
from dashboard.errors import WireError


def arguments_of(
    params: object, names: Sequence[str], required: Sequence[str] = ()
) -> dict[str, object]:
    """Return the arguments by their names; those that are null count as left out.

    The message of a WireError is that of the -32602 reply.
    """
    match params:
        case dict():
            given = params
        case list():
            if len(params) > len(names):
                raise WireError(f"params should hold at most {len(names)} items: {_all(names)}")
            given = dict(zip(names, params, strict=False))
        case _ if params is UNSET:
            given = {}
        case _:
            raise WireError("params should be either an object or a list")
    return members_of(given, "params", names, required)


def members_of(
    value: object, subject: str, names: Sequence[str], required: Sequence[str] = ()
) -> dict[str, object]:
    """Return the members of an object that are not null; refuses those that nobody knows."""
    if not isinstance(value, dict):
        raise WireError(f"{subject} should be an object")
    unknown = sorted(value.keys() - set(names))
    if unknown:
        raise WireError(
            f"Unknown key {shorten(unknown[0])} in {subject}, which knows {_all(names)}"
        )
    members = {name: member for name, member in value.items() if member is not None}
    missing = [name for name in required if name not in members]
    if missing:
        raise WireError(f"Missing [{','.join(missing)}] from the given request {subject}")
    return members


def text_of(value: object) -> str:
    """Return a text, which no other scalar may stand for."""
    if not isinstance(value, str):
        raise WireError("should be a text")
    return value


def whole_number(value: object, largest: int) -> int:
    """Return a whole number of 1 to `largest`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise WireError(f"should be a whole number of 1 to {largest}")
    return value


def _all(names: Sequence[str]) -> str:
    return ", ".join(names)
