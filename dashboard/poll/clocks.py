"""The two clocks of polling: the time of day for what is stored, and one that never jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from dashboard.domain.clock import Clock

LARGEST_DRIFT: Final = timedelta(seconds=2)
"""Between two looks; more is a clock that was set, not one that is being corrected."""


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

    @property
    def offset(self) -> timedelta:
        """How far the time of day is ahead of what `elapsed` says."""
        return self.now() - datetime.fromtimestamp(0, UTC) - self.elapsed()


@dataclass(slots=True)
class SetClock:
    """Notices that the time of day was set: what seems to last since before may not.

    `since` is when that was noticed last, or when this began while `was_set` is off.
    """

    clocks: Clocks
    since: datetime = field(init=False)
    was_set: bool = field(init=False, default=False)
    _offset: timedelta = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the clock as it stands."""
        self._offset, self.since = self.clocks.offset, self.clocks.now()

    def look(self) -> timedelta:
        """Return by how much the clock was set since the last look, zero where it was not."""
        before, self._offset = self._offset, self.clocks.offset
        if abs(self._offset - before) <= LARGEST_DRIFT:
            return timedelta()
        self.was_set, self.since = True, self.clocks.now()
        return self._offset - before

    def trusted(self, moment: datetime) -> datetime:
        """Return a moment of the past, but none from before the clock was set."""
        return max(moment, self.since) if self.was_set else moment
