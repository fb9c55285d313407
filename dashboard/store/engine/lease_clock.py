"""The clock of leases: a boot and the time since then, unaffected when the time is set."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class BootMoment(Struct, frozen=True):
    """A moment of one machine: nanoseconds since the boot that `boot_id` names."""

    boot_id: str
    nanoseconds: int


BootClock: TypeAlias = Callable[[], BootMoment]
"""Returns the present moment of this machine; comparable between its processes."""


def boot_clock() -> BootMoment:
    """Read the machine's own clock, which keeps running while the machine sleeps.

    If the system has no boot id (macOS), the clock alone has to do.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return BootMoment(_boot_id(), time.clock_gettime_ns(clock))


@cache
def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return "unknown"
