"""Time for tests: it passes when it is told to, and its time of day can be set wrong."""

from __future__ import annotations

from datetime import datetime, timedelta

from dashboard.poll.lease import Clocks
from dashboard.store.engine.lease_clock import BootMoment
from tests.builders import A_MOMENT


class FakeClock:
    """The time of day, the time since boot, and the clocks of polling, all agreeing."""

    def __init__(self) -> None:
        """Begin at `A_MOMENT`, an hour after boot."""
        self._elapsed = timedelta(hours=1)
        self._booted_at = A_MOMENT - self._elapsed

    @property
    def clocks(self) -> Clocks:
        """What a poll works with."""
        return Clocks(self.now, self.elapsed)

    def now(self) -> datetime:
        """Tell the time of day."""
        return self._booted_at + self._elapsed

    def elapsed(self) -> timedelta:
        """Tell the time that never jumps."""
        return self._elapsed

    def boot_clock(self) -> BootMoment:
        """Tell the same to the store."""
        return BootMoment("boot", self._elapsed // timedelta(microseconds=1) * 1000)

    def wait(self, duration: timedelta) -> None:
        self._elapsed += duration

    def set_clock(self, by: timedelta) -> None:
        """Set the time of day, forwards or backwards; no time passes."""
        self._booted_at += by
