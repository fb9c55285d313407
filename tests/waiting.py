"""Waiting for what another process does: look again and again until a deadline, then fail."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import anyio

_PAUSE = 0.02


def eventually(condition: Callable[[], bool], within: float = 30.0, what: str = "it") -> None:
    """Return as soon as the condition holds; AssertionError names `what` after `within` seconds."""
    deadline = time.monotonic() + within
    idle = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {within:g} s"
        idle.wait(_PAUSE)


async def eventually_async(
    condition: Callable[[], bool], within: float = 30.0, what: str = "it"
) -> None:
    """Do the same while the tasks of this loop go on."""
    idle = anyio.Event()
    deadline = anyio.current_time() + within
    while not condition():
        assert anyio.current_time() < deadline, f"{what} did not happen within {within:g} s"
        with contextlib.suppress(TimeoutError), anyio.fail_after(_PAUSE):
            await idle.wait()
