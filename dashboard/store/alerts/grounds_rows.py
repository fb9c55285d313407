"""Grounds as they are kept: plain values, with the kind under a key of its own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

import msgspec

from dashboard.domain.grounds import AgeGrounds, FeeGrounds, Grounds, SilenceGrounds, SpaceGrounds

_KINDS: Final = {
    "fee": FeeGrounds,
    "silence": SilenceGrounds,
    "age": AgeGrounds,
    "space": SpaceGrounds,
}
_NAMES: Final = {kind: name for name, kind in _KINDS.items()}


def row_of_grounds(grounds: Grounds | None) -> dict[str, Any] | None:
    """Write grounds as plain values."""
    if grounds is None:
        return None
    plain = msgspec.to_builtins(grounds, enc_hook=_plain)
    return {"kind": _NAMES[type(grounds)], **plain}


def grounds_of_row(row: dict[str, Any] | None) -> Grounds | None:
    """Read what `row_of_grounds` wrote."""
    if row is None:
        return None
    fields = {name: value for name, value in row.items() if name != "kind"}
    return msgspec.convert(fields, _KINDS[row["kind"]])


def _plain(value: object) -> timedelta | int:
    """Take lengths of time and sizes for what they are: settings have classes of their own."""
    if isinstance(value, timedelta):
        return timedelta() + value
    if isinstance(value, int):
        return int(value)
    raise TypeError(f"{type(value).__name__} is no part of grounds")
