"""What goes on beside delivery while a worker holds the lease: each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from dashboard.alert.delivery_retry import Elapsed
from dashboard.alert.message import MaySend
from dashboard.alert.notify import Notifier
from dashboard.errors import LinewatchError
from dashboard.logs import get_logger

_log = get_logger("delivery")


@dataclass(frozen=True, slots=True)
class SideTask:
    """Work that is done every `period`, never twice at once; it may block, as on a silent server.

    `work` gets what says whether this worker still holds the lease.
    """

    name: str
    period: timedelta
    work: Callable[[MaySend], None]


class SideTasks:
    """Starts each task when it is due; its methods are called from one thread at a time."""

    def __init__(self, tasks: Sequence[SideTask], elapsed: Elapsed) -> None:
        """Start nothing yet; all are due at once."""
        self._tasks = tasks
        self._elapsed = elapsed
        self._due_at: dict[str, timedelta] = {}
        self._running: dict[str, threading.Thread] = {}

    def start_due(self, may_send: MaySend) -> None:
        """Start what is due, unless it is still running since last time."""
        now = self._elapsed()
        for task in self._tasks:
            if now >= self._due_at.get(task.name, now) and not self._is_running(task):
                self._due_at[task.name] = now + task.period
                thread = threading.Thread(
                    target=_work, args=(task, may_send), name=task.name, daemon=True
                )
                self._running[task.name] = thread
                thread.start()

    def wait(self, within: timedelta) -> None:
        """Wait for what is running."""
        for thread in self._running.values():
            thread.join(within.total_seconds())

    def _is_running(self, task: SideTask) -> bool:
        thread = self._running.get(task.name)
        return thread is not None and thread.is_alive()


@dataclass(frozen=True, slots=True)
class DeliveryRounds:
    """The rounds of a worker: notifications first, and beside them what else is due."""

    notifier: Notifier
    beside: SideTasks

    def has_changes(self) -> bool:
        """Whether changes wait for a round; raises StoreError."""
        return self.notifier.has_changes()

    def run(self, holder_token: int, may_send: MaySend) -> bool:
        """Do one round; raises StoreError. Whether the next is to follow at once."""
        self.beside.start_due(may_send)
        return self.notifier.run(holder_token, may_send)

    def finish(self, within: timedelta) -> object:
        """Start nothing more and wait for the attempts that are running; raises StoreError."""
        return self.notifier.finish(within)


def _work(task: SideTask, may_send: MaySend) -> None:
    try:
        task.work(may_send)
    except LinewatchError as error:
        _log.warning("a task beside delivery failed", task=task.name, why=str(error))
    except Exception:  # noqa: BLE001 - the top of a thread: the next time it may do
        _log.exception("a task beside delivery failed", task=task.name)
