"""Credits: what the upstream charges for calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls, and the credits that they cost together; none where calls are free."""

    calls: int = 0
    credits: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.credits + other.credits)
