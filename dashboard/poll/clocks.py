"""The two clocks of polling: the time of day for what is stored, and one that never jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.domain.clock import Clock


@dataclass(frozen=True, slots=True)
class Clocks:
    """`now` is the time of day, which people and time servers set; `elapsed` only goes on.

    Everything that waits, waits by `elapsed`, so that a clock set wrong strands nothing.
    """

    now: Clock
    elapsed: Callable[[], timedelta]

    def elapsed_at(self, moment: datetime) -> timedelta:
        """Return what `elapsed` said, or will say, at a time of day, as both clocks stand now."""
        return self.elapsed() - (self.now() - moment)
