"""What goes on beside delivery: when it is due, one at a time, and no failure ends it."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from dashboard.alert.message import MaySend, always
from dashboard.alert.side_tasks import SideTask, SideTasks
from dashboard.errors import DeliveryBlocked
from tests.builders import seconds
from tests.fake_clock import FakeClock
from tests.waiting import PATIENCE

SOON = timedelta(seconds=PATIENCE)


class CountingWork:
    """Counts its rounds; each waits for `let_go`, then fails as told."""

    def __init__(self, error: Exception | None = None) -> None:
        """Have done nothing yet."""
        self.rounds = 0
        self.let_go = threading.Event()
        self._error = error

    def __call__(self, _may_send: MaySend) -> None:
        """Do one round."""
        self.rounds += 1
        assert self.let_go.wait(PATIENCE)
        if self._error is not None:
            raise self._error


def test_task_is_done_at_once_and_then_every_period(fake_clock: FakeClock) -> None:
    work = CountingWork()
    work.let_go.set()
    tasks = SideTasks([SideTask("work", seconds(60), work)], fake_clock.elapsed)

    for wait in (0, 59, 1, 60):
        fake_clock.wait(seconds(wait))
        tasks.start_due(always)
        tasks.wait(SOON)

    assert work.rounds == 3


def test_task_that_hangs_is_not_started_twice_and_holds_up_no_other(fake_clock: FakeClock) -> None:
    hanging, other = CountingWork(), CountingWork()
    other.let_go.set()
    tasks = SideTasks(
        [SideTask("hanging", seconds(1), hanging), SideTask("other", seconds(1), other)],
        fake_clock.elapsed,
    )

    for _ in range(3):
        tasks.start_due(always)
        while other.rounds == 0:
            pass
        fake_clock.wait(seconds(1))
    hanging.let_go.set()
    tasks.wait(SOON)

    assert hanging.rounds == 1
    assert other.rounds >= 1


@pytest.mark.parametrize("error", [DeliveryBlocked("gone"), ValueError("a bug")])
def test_task_that_fails_is_done_again(fake_clock: FakeClock, error: Exception) -> None:
    work = CountingWork(error)
    work.let_go.set()
    tasks = SideTasks([SideTask("work", seconds(1), work)], fake_clock.elapsed)

    for _ in range(2):
        tasks.start_due(always)
        tasks.wait(SOON)
        fake_clock.wait(seconds(1))

    assert work.rounds == 2
