"""Errors of the gas REST API, and of the gateways that stand before it."""

from __future__ import annotations

from typing import Final

import msgspec

from dashboard.wire.decoding import UNREADABLE

_LONGEST: Final = 160


class _OurError(msgspec.Struct, rename="camel"):
    status_code: int
    message: str


class _Fault(msgspec.Struct):
    message: str | None = None


class _AnyError(msgspec.Struct):
    message: str | None = None
    error: str | _Fault | None = None


_ANY_ERROR: Final[msgspec.json.Decoder[_AnyError | str]] = msgspec.json.Decoder(_AnyError | str)


def encode_error(status: int, message: str) -> bytes:
    """Write an error as the gas API does: ``{"statusCode": N, "message": "…"}``."""
    return msgspec.json.encode(_OurError(status, message))


def decode_error(body: bytes) -> str | None:
    """Find what an error body says, in any form that gateways send; None where it says nothing.

    Forms: ``{"statusCode", "message"}``, ``{"error": {"message"}}``, ``{"error": "…"}`` and
    one plain line of text. The answer is one line of printable ASCII of at most 160
    characters. It is upstream's own text: a key that it repeats is for the caller to remove.
    """
    try:
        text = _json_message(_ANY_ERROR.decode(body))
    except UNREADABLE:
        text = _plain_line(body)
    if text is None:
        return None
    return _printable(text) or None


def _json_message(answer: _AnyError | str) -> str | None:
    if isinstance(answer, str):
        return answer
    if isinstance(answer.error, _Fault):
        return answer.error.message
    return answer.error or answer.message


def _plain_line(body: bytes) -> str | None:
    """Return the body where it is one short line that is neither markup nor JSON."""
    line = body[: _LONGEST + 1].decode(errors="replace").strip()
    is_plain = len(line) <= _LONGEST and "\n" not in line and not line.startswith(("<", "{", "["))
    return line if is_plain else None


def _printable(text: str) -> str:
    head = " ".join(text[: _LONGEST * 2].split())[:_LONGEST]
    return "".join(each if " " <= each <= "~" else "?" for each in head)
