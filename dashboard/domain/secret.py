"""Secrets that cannot be printed by accident, and how to find them in foreign text."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from typing import Final

MASK: Final = "•••"

_SHORTEST: Final = 6
"""Shorter secrets are not searched for, since they could be words such as v1."""

_TELLING: Final = 12
"""This many consecutive characters give away a longer secret."""


class Secret:
    """Text that is never printed: `str`, `repr` and `format` give a mask."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text itself, for the one place that must send it."""
        return self._text

    def __str__(self) -> str:
        return MASK

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        msg = "a Secret is not pickled: it would be written in clear text"
        raise TypeError(msg)


_PERCENT: Final = re.compile(rb"%([0-9A-Fa-f]{2})")


def holds_login(text: str) -> bool:
    """Whether a text contains a URL or an address that may include a password."""
    return any(":" in word.rpartition("@")[0] for word in text.split())


def quotes(text: str, secrets: Iterable[str]) -> bool:
    """Whether a foreign text repeats a secret, or a piece of it that gives it away.

    A server may echo what it was sent: as it was, percent-encoded, in base64, or truncated.
    """
    shown = {text, _unquoted(text)}
    pieces = {piece for each in secrets for form in _forms(each) for piece in _pieces(form)}
    return any(piece in each for piece in pieces for each in shown)


def _unquoted(text: str) -> str:
    """Decode percent-encoding."""
    plain = _PERCENT.sub(
        lambda found: bytes.fromhex(found[1].decode()), text.encode("utf-8", "replace")
    )
    return plain.decode("utf-8", "replace")


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret in plain text, and its base64 at every offset within a longer text."""
    for form in {secret, _unquoted(secret)}:
        if len(form) < _SHORTEST:
            continue
        yield form
        for before in range(3):
            whole = bytes(before) + form.encode("utf-8", "replace")
            inner = slice(-(-before * 8 // 6), len(whole) * 8 // 6)
            yield b64encode(whole)[inner].decode()
            yield urlsafe_b64encode(whole)[inner].decode()


def _pieces(form: str) -> Iterator[str]:
    for begin in range(max(1, len(form) - _TELLING + 1)):
        yield form[begin : begin + _TELLING]
