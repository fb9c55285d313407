"""Errors of the gas REST API, and of the gateways that stand before it."""

from __future__ import annotations

from typing import Final

import msgspec

from dashboard.wire.decoding import UNREADABLE

_LONGEST: Final = 160
_MARKS: Final = (b"<", b"{", b"[")


class _OurError(msgspec.Struct, rename="camel"):
    status_code: int
    message: str


class _Fault(msgspec.Struct):
    message: str | None = None


class _AnyError(msgspec.Struct):
    message: str | None = None
    error: str | _Fault | None = None


_ANY_ERROR: Final[msgspec.json.Decoder[_AnyError | str | None]] = msgspec.json.Decoder(
    _AnyError | str | None
)


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
    except msgspec.ValidationError:
        return None
    except UNREADABLE:
        text = _plain_line(body)
    if text is None:
        return None
    return _printable(text) or None


def _json_message(answer: _AnyError | str | None) -> str | None:
    if not isinstance(answer, _AnyError):
        return answer
    if isinstance(answer.error, _Fault):
        return answer.error.message
    return answer.error or answer.message


def _plain_line(body: bytes) -> str | None:
    """Return the body where it is one short line that is neither markup nor JSON."""
    if len(body) > _LONGEST or b"\n" in body.strip() or body.lstrip().startswith(_MARKS):
        return None
    return body.decode(errors="replace")


def _printable(text: str) -> str:
    head = " ".join(text[: _LONGEST * 2].split())[:_LONGEST]
    return "".join(each if " " <= each <= "~" else "?" for each in head)
