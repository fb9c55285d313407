"""Which of many ways of reading have their turn: a few after each step, all of them at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Turn:
    """One of every so many in turn; all where `number` is None."""

    number: int | None

    def some_of(self, ways: Sequence[T]) -> Sequence[T]:
        """Return those whose turn it is."""
        return ways if self.number is None else [ways[self.number % len(ways)]]


EVERY: Turn = Turn(None)
