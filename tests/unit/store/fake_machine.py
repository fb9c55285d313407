"""A machine that boots and whose time passes only when it is told to."""

from __future__ import annotations

from datetime import timedelta

from dashboard.store.engine.lease_clock import BootMoment


class Machine:
    """Its `clock` stands in for that of the real one."""

    def __init__(self) -> None:
        self._boots = 1
        self._nanoseconds = 60 * 10**9

    def clock(self) -> BootMoment:
        """Tell the moment of this machine."""
        return BootMoment(f"boot {self._boots}", self._nanoseconds)

    def wait(self, duration: timedelta) -> None:
        self._nanoseconds += duration // timedelta(microseconds=1) * 1000

    def boot(self) -> None:
        """Start anew, with the time since the boot at a second."""
        self._boots += 1
        self._nanoseconds = 10**9
