"""The traffic runner: nothing that serve or the store refuses for a while is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio
import pytest
from structlog.testing import capture_logs

from dashboard.devnet.traffic import TrafficRunner
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectionReport, SaveStatus
from dashboard.errors import StoreUnavailable, UpstreamUnavailable
from tests.unit.devnet.small_devnet import Devnet, ManualClock


@dataclass
class Serve:
    """Takes reports, unless it is down or cannot stand one transaction."""

    is_down: bool = False
    hated: TxHash | None = None
    attempts: int = 0
    on_attempt: Callable[[], None] = lambda: None
    taken: list[RejectionReport] = field(default_factory=list)

    async def report(self, report: RejectionReport) -> SaveStatus:
        self.attempts += 1
        self.on_attempt()
        if self.is_down or report.transaction.tx_hash == self.hated:
            raise UpstreamUnavailable("devnet exclusion endpoint: does not answer")
        self.taken.append(report)
        return SaveStatus.SAVED


@dataclass
class Tracker:
    """Remembers what was tracked, unless its store is locked or it is broken."""

    error: Exception | None = None
    tracked: list[tuple[TxHash, datetime, str]] = field(default_factory=list)

    def __call__(self, tx_hash: TxHash, attempted_at: datetime, label: str) -> None:
        if self.error is not None:
            raise self.error
        self.tracked.append((tx_hash, attempted_at, label))


@dataclass
class Stage:
    """A traffic runner with everything around it in a test's hands."""

    devnet: Devnet
    serve: Serve = field(default_factory=Serve)
    tracker: Tracker = field(default_factory=Tracker)

    def __post_init__(self) -> None:
        self.clock: ManualClock = self.devnet.clock
        self.traffic_runner = TrafficRunner(self.devnet.chain, self.serve, self.tracker, self.clock)

    async def play(self, seconds: int, step: int = 1) -> None:
        for _ in range(0, seconds, step):
            self.clock.pass_by(step)
            await self.traffic_runner.step()


@pytest.fixture
def stage() -> Stage:
    return Stage(Devnet())


async def test_start_hands_in_the_last_minutes_at_once(stage: Stage) -> None:
    await stage.traffic_runner.step()

    assert len(stage.serve.taken) >= 12
    assert {label for _, _, label in stage.tracker.tracked} >= {"Simulated payment"}
    assert stage.traffic_runner.pending == 0


async def test_tracked_transaction_is_rejected_within_twenty_seconds(stage: Stage) -> None:
    await stage.traffic_runner.step()
    await stage.play(20)

    tracked = {tx_hash for tx_hash, _, _ in stage.tracker.tracked}
    rejected = {report.transaction.tx_hash for report in stage.serve.taken}
    assert tracked & rejected


async def test_everything_is_done_once(stage: Stage) -> None:
    await stage.play(600)

    reports = [(each.transaction.tx_hash, each.timestamp) for each in stage.serve.taken]
    hashes = [tx_hash for tx_hash, _, _ in stage.tracker.tracked]
    assert len(set(reports)) == len(reports)
    assert len(set(hashes)) == len(hashes)


async def test_reports_wait_while_serve_is_down_and_are_all_taken_later(stage: Stage) -> None:
    stage.serve.is_down = True
    await stage.play(600)
    missed = stage.traffic_runner.pending
    stage.serve.is_down = False
    await stage.play(61)

    assert missed >= 30
    assert stage.traffic_runner.pending <= 1
    assert len(stage.serve.taken) >= missed


async def test_serve_that_is_down_is_asked_once_in_a_step(stage: Stage) -> None:
    stage.serve.is_down = True

    await stage.play(60)

    assert stage.serve.attempts <= 60
    assert len(stage.tracker.tracked) >= 3


async def test_silent_serve_does_not_hold_up_what_is_tracked(stage: Stage) -> None:
    tracked_before_report: list[int] = []

    stage.serve.is_down = True
    stage.serve.on_attempt = lambda: tracked_before_report.append(len(stage.tracker.tracked))

    await stage.traffic_runner.step()

    assert tracked_before_report == [len(stage.tracker.tracked)]


async def test_one_report_that_is_never_taken_holds_no_other_up(stage: Stage) -> None:
    await stage.traffic_runner.step()
    stage.serve.hated = stage.serve.taken[-1].transaction.tx_hash
    stage.serve.taken.clear()
    restarted = Stage(stage.devnet, stage.serve, stage.tracker)

    await restarted.play(30)

    assert len(stage.serve.taken) >= 12
    assert restarted.traffic_runner.pending == 1
    assert stage.serve.hated not in {each.transaction.tx_hash for each in stage.serve.taken}


async def test_report_is_given_up_after_two_hours_as_nodes_do(stage: Stage) -> None:
    await stage.traffic_runner.step()
    stage.serve.hated = stage.serve.taken[-1].transaction.tx_hash
    restarted = Stage(stage.devnet, stage.serve, stage.tracker)
    await restarted.play(6_800, step=20)
    before = restarted.traffic_runner.pending
    await restarted.play(500, step=20)

    assert (before, restarted.traffic_runner.pending) == (1, 0)


async def test_tracking_is_tried_again_when_the_store_was_locked(stage: Stage) -> None:
    stage.tracker.error = StoreUnavailable("the store is locked")
    await stage.traffic_runner.step()
    pending = stage.traffic_runner.pending
    stage.tracker.error = None
    await stage.play(3)

    assert pending >= 3
    assert stage.traffic_runner.pending == 0
    assert len(stage.tracker.tracked) >= pending


async def test_fault_of_ours_in_one_action_does_not_end_the_others(stage: Stage) -> None:
    stage.tracker.error = ZeroDivisionError()

    with capture_logs() as logs:
        await stage.traffic_runner.step()

    assert {line["event"] for line in logs} == {"A simulated action failed unexpectedly"}
    assert len(stage.serve.taken) >= 12


async def test_clock_that_is_set_back_does_not_hold_reports_up(stage: Stage) -> None:
    stage.serve.is_down = True
    await stage.traffic_runner.step()
    pending = stage.traffic_runner.pending
    stage.serve.is_down = False
    stage.clock.pass_by(-timedelta(hours=5).total_seconds())
    await stage.traffic_runner.step()

    assert len(stage.serve.taken) == pending


async def test_long_sleep_of_the_machine_is_not_told_afterwards(stage: Stage) -> None:
    await stage.traffic_runner.step()
    stage.serve.taken.clear()
    stage.clock.pass_by(timedelta(days=1).total_seconds())

    await stage.traffic_runner.step()

    assert len(stage.serve.taken) < 40


async def test_run_steps_once_in_a_second_until_cancelled(stage: Stage) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        stage.clock.pass_by(seconds)
        if len(pauses) == 5:
            scope.cancel()
        await anyio.lowlevel.checkpoint()

    with anyio.CancelScope() as scope:
        await stage.traffic_runner.run(pause)

    assert pauses == [1.0] * 5
    assert len(stage.serve.taken) >= 12
