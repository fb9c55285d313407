"""Params as the exclusion API takes them: lists of one argument, and generous hexadecimal text."""

from __future__ import annotations

import re
from typing import Any, Final

from dashboard.errors import WireError

_NOT_HEX: Final = re.compile(r"[^0-9a-fA-F]")


def one_argument(params: list[Any]) -> object:
    """Return the only element of `params`."""
    if len(params) != 1:
        raise WireError("The given request params list should have one argument")
    argument: object = params[0]
    return argument


def scalar_text(value: object) -> str:
    """Return a text as it is, any other scalar as JSON writes it."""
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
    """Read hexadecimal in either case, ``0x`` optional; an odd length is told before all else."""
    digits = text[2:] if text[:2] in {"0x", "0X"} else text
    if len(digits) % 2:
        raise WireError("Must have an even length")
    if wrong := _NOT_HEX.search(digits):
        place = wrong.start() + len(text) - len(digits)
        raise WireError(f"{wrong[0]!a} at index {place} is not a hexadecimal digit")
    return bytes.fromhex(digits)
