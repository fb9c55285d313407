"""Params of calls, by name or position, and the methods that API keys can be limited to."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

from msgspec import UNSET

from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import shorten
from dashboard.errors import WireError

_NOT_HEX: Final = re.compile(r"[^0-9a-fA-F]")


def named_arguments(
    params: object, names: Sequence[str], required: Sequence[str] = ()
) -> dict[str, object]:
    """Return the arguments by name; null counts as missing.

    A WireError's message is that of the -32602 reply.
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
    return object_members(given, "params", names, required)


def object_members(
    value: object, subject: str, names: Sequence[str], required: Sequence[str] = ()
) -> dict[str, object]:
    """Return the members of an object that are not null; WireError for unknown ones."""
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


def require_text(value: object) -> str:
    """Return a text; WireError for any other value."""
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


def one_argument(params: list[Any]) -> object:
    """Return the only element of `params`."""
    if len(params) != 1:
        raise WireError("The given request params list should have one argument")
    argument: object = params[0]
    return argument


def scalar_text(value: object) -> str:
    """Return a text unchanged, and any other scalar as JSON."""
    match value:
        case str():
            return value
        case list() | dict():
            raise WireError("a list or an object stands where a text belongs")
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case _:
            return str(value)


def hex_bytes(text: str) -> bytes:
    """Parse hex digits in either case, ``0x`` optional; an odd length is reported first."""
    digits = text[2:] if text[:2] in {"0x", "0X"} else text
    if len(digits) % 2:
        raise WireError("Must have an even length")
    if wrong := _NOT_HEX.search(digits):
        place = wrong.start() + len(text) - len(digits)
        raise WireError(f"{wrong[0]!a} at index {place} is not a hexadecimal digit")
    return bytes.fromhex(digits)


GET_STATUS: Final = "getTransactionExclusionStatusV1"
SAVE_REJECTED: Final = "saveRejectedTransactionV1"

METHODS: Final = (
    GET_STATUS,
    SAVE_REJECTED,
    "listRejectionsV1",
    "getRejectionVersionsV1",
    "countRejectionsV1",
    "subscribe",
    Operation.SUGGESTED_GAS_FEES.value,
    Operation.BASE_FEE_HISTORY.value,
    Operation.BASE_FEE_PERCENTILE.value,
    Operation.BUSY_THRESHOLD.value,
)
"""Every method that a key can be limited to."""

FREE: Final = frozenset({"rpc.discover", "unsubscribe"})
"""Methods that every key may call."""


def method_mistake(methods: Collection[str] | None, *, may_report: bool) -> str | None:
    """Return why a key cannot be limited to these methods, None if it can.

    The text follows the name of the setting or option that holds the methods.
    """
    if methods is None:
        return None
    if not methods:
        return "is empty, so the key could call nothing: name a method, or leave it out for all"
    for each in methods:
        if each not in METHODS:
            known = ", ".join(METHODS)
            return f"holds {shorten(each)}, which is not a method: choose from {known}"
    if may_report and SAVE_REJECTED not in methods:
        return f"leaves out {SAVE_REJECTED}, yet the key may report: add it, or forbid reporting"
    if not may_report and SAVE_REJECTED in methods:
        return f"holds {SAVE_REJECTED}, yet the key may not report: allow it, or leave that out"
    return None
