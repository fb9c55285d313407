"""Portions: as many values as one statement can name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_AT_ONCE: Final = 500


def portions(values: Sequence[T], size: int = _AT_ONCE) -> Iterator[Sequence[T]]:
    """Cut a sequence so that a statement can name all values of a portion."""
    return (values[start : start + size] for start in range(0, len(values), size))
