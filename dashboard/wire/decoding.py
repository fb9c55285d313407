"""Typed reading of JSON text: whatever is wrong with it becomes one WireError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from dashboard.errors import WireError

T = TypeVar("T")
Given = TypeVar("Given")

UNREADABLE: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
"""All that msgspec raises for hostile text: bad JSON or types, deep nesting, bad UTF-8."""


def read(decoder: msgspec.json.Decoder[T], text: bytes | msgspec.Raw, subject: str) -> T:
    """Decode `text`, or raise a WireError that begins with `subject`.

    The rest of the message names the place and the type found there, never the value. Of
    members with the same name the last one counts.
    """
    try:
        return decoder.decode(text)
    except UNREADABLE as error:
        raise WireError(f"{subject}: {error}") from error


def named(subject: str, decode: Callable[[Given], T], given: Given) -> T:
    """Decode `given`; a WireError's message then begins with `subject`."""
    try:
        return decode(given)
    except WireError as error:
        raise WireError(f"{subject}: {error}") from error
