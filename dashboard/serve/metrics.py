"""How often each method was called, and how it went."""

from __future__ import annotations

from collections import Counter
from typing import Final

UNSERVED: Final = "unserved"
"""Counts calls of methods that nobody serves: their names are the callers' own."""


class Counters:
    """Plain numbers, cheap enough for every request; only the event loop's thread counts."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.limited = 0

    def called(self, method: str, calls: int, faults: int) -> None:
        """Count calls of a served method, by its full name, and how many of them failed."""
        self.calls[method] += calls
        self.faults[method] += faults

    def refused_for_rate(self, calls: int) -> None:
        """Count calls that came faster than their key allows."""
        self.limited += calls
