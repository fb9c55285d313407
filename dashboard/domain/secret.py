"""Secrets that cannot be printed by accident."""

from __future__ import annotations

from typing import Final

MASK: Final = "•••"


class Secret:
    """Text that is never printed: `str`, `repr` and `format` give a mask, `reveal` the text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Hide `text`."""
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
