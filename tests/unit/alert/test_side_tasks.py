"""What a worker does beside delivery: tasks that may fail, and a sign of life."""

from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest

from dashboard.alert.channels.alertmanager import AlertmanagerChannel
from dashboard.alert.channels.http_to_public_addresses import HttpRules, parse_target
from dashboard.alert.compose import Links
from dashboard.alert.message import MaySend, always
from dashboard.alert.side_tasks import AlertRepeater, Heartbeat, SideTask, SideTasks
from dashboard.domain.alerts.condition import State
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, DeliveryWithheld
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.monitoring.upkeep import LastHeartbeat, last_heartbeat
from tests.alert_watch import PLAIN, Watch
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, seconds
from tests.fake_clock import FakeClock
from tests.recording_channel import ONCALL
from tests.waiting import PATIENCE
from tests.webhook_server import Receiver, http_receiver

SOON = timedelta(seconds=PATIENCE)
RULES = HttpRules(SOON, allow_private=True)


class CountingWork:
    """Counts its rounds; each waits for `let_go`, then fails as told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.rounds = 0
        self.let_go = threading.Event()
        self._error = error

    def __call__(self, _may_send: MaySend) -> None:
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


def test_open_alert_is_pushed_again_until_it_is_over(watch: Watch) -> None:
    receiver = Receiver(200)
    with http_receiver(receiver) as port:
        target = parse_target(Secret(f"http://127.0.0.1:{port}/"))
        channel = AlertmanagerChannel(target, watch.clock.now, RULES)
        repeater = AlertRepeater(watch.store, ONCALL, channel, {}, Links(), watch.clock.now)
        watch.begin(PLAIN)
        repeater.work(always)
        watch.wait(seconds(60))
        watch.turn(2, State.BUSY, State.CALM)
        for _ in range(2):
            repeater.work(always)

    ends = [json.loads(each.body)[0]["endsAt"] for each in receiver.requests]
    assert ends == ["2026-11-20T12:05:01Z", "2026-11-20T12:01:01Z"]


def answer(store: Store, silence: Gap | None = None) -> None:
    held = Covered(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT, silence)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, ()))


def heartbeat(store: Store, clock: FakeClock, port: int = 9) -> Heartbeat:
    target = parse_target(Secret(f"http://127.0.0.1:{port}/ping/canary-key"))
    return Heartbeat(store, {(A_NETWORK, Watched.FEES)}, target, RULES, clock.now)


def test_heartbeat_is_sent_while_networks_are_answered_by_a_worker_with_its_lease(
    store: Store, fake_clock: FakeClock
) -> None:
    answer(store)
    receiver = Receiver(200)

    with http_receiver(receiver) as port:
        beat = heartbeat(store, fake_clock, port)
        with pytest.raises(DeliveryWithheld):
            beat.work(lambda: False)
        assert receiver.requests == []
        beat.work(always)

    [request] = receiver.requests
    assert (request.method, request.path) == ("GET", "/ping/canary-key")
    assert request.headers["Host"] == f"127.0.0.1:{port}"


def test_heartbeat_is_withheld_while_nobody_asks_or_answers(
    store: Store, fake_clock: FakeClock
) -> None:
    beat = heartbeat(store, fake_clock)
    before = beat.why_withheld()
    answer(store)
    fake_clock.wait(seconds(120))
    lately = beat.why_withheld()
    fake_clock.wait(seconds(1))

    assert before == "network 424242 was never watched"
    assert lately == ""
    assert beat.why_withheld() == "no worker asks about fees of network 424242"


def test_heartbeat_does_not_wait_for_what_the_settings_name_no_longer(
    store: Store, fake_clock: FakeClock
) -> None:
    fake_clock.wait(seconds(300))
    fees = Covered(A_NETWORK, Watched.FEES, A_MOMENT, fake_clock.now())
    rejections = Covered(A_NETWORK, Watched.REJECTIONS, A_MOMENT, A_MOMENT)
    with store.write() as connection:
        for each in (fees, rejections):
            save_coverage(connection, None, CoverageChange(each))

    assert heartbeat(store, fake_clock).why_withheld() == ""


def test_heartbeat_is_withheld_in_a_gap_and_does_not_ask(
    store: Store, fake_clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    gap = Gap(A_NETWORK, Watched.FEES, A_MOMENT, None, GapCause.NOT_ANSWERED, "503")
    answer(store, gap)
    receiver = Receiver(200)

    with http_receiver(receiver) as port:
        heartbeat(store, fake_clock, port).work(always)

    assert receiver.requests == []
    assert "questions about fees of network 424242 are not answered" in capsys.readouterr().out


def test_network_that_is_not_watched_here_withholds_nothing(
    store: Store, fake_clock: FakeClock
) -> None:
    answer(store)
    other = Covered(ANOTHER_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT - seconds(9999), None)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(other, ()))

    assert heartbeat(store, fake_clock).why_withheld() == ""


def test_page_learns_when_the_heartbeat_was_taken_and_what_kept_the_latest(
    store: Store, fake_clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    def last() -> LastHeartbeat:
        with store.read() as connection:
            return last_heartbeat(connection)

    heartbeat(store, fake_clock).work(always)
    never = last()
    answer(store)
    with http_receiver(Receiver(200)) as port:
        heartbeat(store, fake_clock, port).work(always)
    taken = last()
    with http_receiver(Receiver(404, body=b"no /ping/canary-key")) as port:
        heartbeat(store, fake_clock, port).work(always)

    logged = capsys.readouterr().out
    assert never == LastHeartbeat(None, "withheld: network 424242 was never watched")
    assert taken == LastHeartbeat(fake_clock.now())
    assert (last().accepted_at, last().trouble[:13]) == (fake_clock.now(), "not accepted:")
    assert "it answered 404 Not Found" in logged
    assert "canary" not in logged
