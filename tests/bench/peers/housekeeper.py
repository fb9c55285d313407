"""A worker's housekeeping on a store: forgets fees and rejections until it is ended.

Of each step it writes a line: what it forgot, how many rows, and for how many seconds nobody else
could write, by the clock and of CPU time.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.engine.engine import open_store
from dashboard.store.retention.apply import apply_retention

RESTS = 3
"""Times as long as a step took it is followed by rest, as in the worker."""


class Watch:
    """A clock that remembers how much CPU time there was between its last two readings."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self.read_at = self.spent = 0.0

    def __call__(self) -> float:
        """Return seconds."""
        now = time.process_time()
        self.read_at, self.spent = now, now - self.read_at
        return time.perf_counter()


def forget(url: str, before: datetime, told: Path) -> None:
    """Take steps, with rests in between, while something is old."""
    watch, pause = Watch(), threading.Event()
    with open_store(url) as store, told.open("w", encoding="utf-8", buffering=1) as lines:
        began = time.perf_counter()
        for step in apply_retention(
            store, {"fees": before, "rejections": before}, AdaptiveBatches(watch)
        ):
            lines.write(json.dumps([step.kind, step.rows, step.took, watch.spent]) + "\n")
            pause.wait(RESTS * (time.perf_counter() - began))
            began = time.perf_counter()


if __name__ == "__main__":
    forget(sys.argv[1], datetime.fromisoformat(sys.argv[2]), Path(sys.argv[3]))
