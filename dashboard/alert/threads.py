"""A few threads that carry letters of one channel side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

Task: TypeAlias = Callable[[], None]


class Threads:
    """Runs tasks in at most `count` threads, which start when they are first needed.

    They are daemons: a letter that a silent server never takes must not keep the process from
    ending. It stays pending.
    """

    def __init__(self, name: str, count: int) -> None:
        """Start no thread yet."""
        self._name = name
        self._count = count
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._started = 0

    def submit(self, task: Task) -> None:
        """Run a task that never raises as soon as a thread is free; called from one thread only."""
        self._tasks.put(task)
        if self._started < self._count:
            self._started += 1
            name = f"{self._name} {self._started}"
            threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while True:
            self._tasks.get()()
