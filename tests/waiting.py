"""Waiting for what another process does: look again and again, and fail after our patience."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final

import anyio

PATIENCE: Final = 300.0
"""Seconds after which anything that a test waits for does not happen any more.

There is no other limit: a wait ends as soon as its condition holds, so this one costs nothing, and
a machine that others keep busy needs it. What is quick enough is measured by `make bench`.
"""

_PAUSES: Final = (0.02, 0.1)
"""Seconds between two looks, at first and at last: what takes long is looked at less often."""


def eventually(
    condition: Callable[[], bool], what: str = "it", *, within: float = PATIENCE
) -> None:
    """Return as soon as the condition holds; AssertionError names `what` where it never does.

    `within` is for what takes longer than our patience by its nature.
    """
    deadline = time.monotonic() + within
    idle = threading.Event()
    pause, longest = _PAUSES
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {within:g} s"
        idle.wait(pause)
        pause = min(pause * 1.2, longest)


def pause(seconds: float) -> None:
    """Let a moment pass, which is the moment of a fault."""
    threading.Event().wait(seconds)


async def eventually_async(condition: Callable[[], bool], what: str = "it") -> None:
    """Do the same while the tasks of this loop go on."""
    idle = anyio.Event()
    deadline = anyio.current_time() + PATIENCE
    while not condition():
        assert anyio.current_time() < deadline, f"{what} did not happen within {PATIENCE:g} s"
        with contextlib.suppress(TimeoutError), anyio.fail_after(_PAUSES[0]):
            await idle.wait()
