"""Whole workers over one real store: one works, the other stands by and takes over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

from msgspec.structs import replace
from structlog.testing import capture_logs
from structlog.typing import EventDict

from dashboard.alert.channels.smtp import Security, SmtpChannel, SmtpServer
from dashboard.alert.deliver import Sending
from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.fees.busy_spells import HoldPeriods
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreUnavailable
from dashboard.poll.jobs import WatchedNetwork
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import Holder, acquire, holder, release
from dashboard.store.fees.latest import latest_gas
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
)
from tests.delivery_checks import reject
from tests.flaky_store import FlakyStore
from tests.integration.whole_workers import (
    CLOCKS,
    GAS_PERIODS,
    PERIODS,
    SOON,
    a_notifier,
    a_post_office,
    a_watcher,
    working,
)
from tests.mail_server import Inbox, mail_server
from tests.one_by_one import recent_notifications
from tests.received_mail import mails_of
from tests.recording_channel import SENDER, message_about
from tests.routes import alone
from tests.scripted_upstreams import MovingGas, ScriptedExclusion, ScriptedGas, SilentExclusion
from tests.waiting import eventually_async

BRISK = GasPeriods(timedelta(milliseconds=500), timedelta(minutes=10), timedelta(seconds=1))


def follow(store: Store, number: int = 1, network_id: NetworkId = A_NETWORK) -> None:
    with store.write() as connection:
        request = TrackRequest(a_hash(number), (network_id,))
        track(connection, request, CLOCKS.now())


def current_holder(store: Store) -> Holder | None:
    with store.read() as connection:
        return holder(connection, "worker")


def holds(store: Store, name: str) -> bool:
    found = current_holder(store)
    return found is not None and found.name == name


def sent(store: Store) -> int:
    with store.read() as connection:
        notifications = recent_notifications(connection, 100)
    return sum(notification.state is NotificationState.SENT for notification in notifications)


async def test_mail_is_marked_when_the_answer_of_its_server_comes(store: Store) -> None:
    inbox = Inbox()
    inbox.takes = 2.0  # long enough for a machine that others keep busy
    lags: list[float] = []
    for number in range(1, 4):
        reject(store, number)

    def note_marks() -> bool:
        lags.extend(monotonic() - each for each in inbox.arrived_at[len(lags) : sent(store)])
        return len(lags) == 3

    with mail_server(inbox) as port:
        channel = SmtpChannel(SmtpServer("127.0.0.1", port, Security.NONE), SENDER)
        notifier = a_notifier(store, Sending({"mail": channel}, message_about))
        notifier = dataclasses.replace(notifier, routes=alone)
        once = replace(PERIODS, delivery=timedelta(minutes=1))
        async with working(replace(a_watcher(store, notifier), periods=once)):
            await eventually_async(note_marks, what="the marks")

    assert max(lags) < 1.5, "a mark waited for more than its answer"


async def test_rejection_of_a_tracked_hash_becomes_a_mail(store: Store, tmp_path: Path) -> None:
    upstream = ScriptedExclusion()
    upstream.reject(a_record())
    notifier = a_post_office(store, tmp_path / "mail")

    async with working(
        a_watcher(store, notifier, WatchedNetwork(A_NETWORK, GAS_PERIODS, exclusion=upstream))
    ):
        follow(store)
        await eventually_async(lambda: sent(store) == 1, what="the mail")

    [mail] = mails_of(tmp_path / "mail")
    assert mail["Subject"] == "ADD over limit 1.14 × · 0x00000000…000001 · devnet (simulated data)"


async def test_busy_and_calm_are_two_mails_in_one_thread(store: Store, tmp_path: Path) -> None:
    upstream = MovingGas()
    notifier = dataclasses.replace(a_post_office(store, tmp_path / "mail"), routes=None)
    worker = replace(
        a_watcher(store, notifier, WatchedNetwork(A_NETWORK, BRISK, gas=upstream)),
        periods=replace(PERIODS, conditions=SOON),
        rules=ConditionRules(HoldPeriods(SOON, SOON)),
    )
    async with working(worker):
        await eventually_async(lambda: upstream.asked[Operation.SUGGESTED_GAS_FEES] > 1)
        upstream.gwei = 23
        await eventually_async(lambda: sent(store) == 1, what="the mail of busy")
        upstream.gwei = 10
        await eventually_async(lambda: sent(store) == 2, what="the mail of calm")

    busy, calm = sorted(mails_of(tmp_path / "mail"), key=lambda mail: "In-Reply-To" in mail)
    assert "devnet is busy: 23 gwei, threshold 20 (simulated data)" in busy["Subject"]
    assert "devnet is calm again: 10 gwei, threshold 20 (simulated data)" in calm["Subject"]
    assert calm["In-Reply-To"] == calm["References"] == busy["Message-ID"]


async def test_gas_of_every_network_is_kept(store: Store, tmp_path: Path) -> None:
    networks = [
        WatchedNetwork(each, GAS_PERIODS, gas=ScriptedGas())
        for each in (A_NETWORK, ANOTHER_NETWORK)
    ]

    async with working(a_watcher(store, a_post_office(store, tmp_path), *networks)):
        await eventually_async(lambda: is_known(store, A_NETWORK))
        await eventually_async(lambda: is_known(store, ANOTHER_NETWORK))


def is_known(store: Store, network_id: NetworkId) -> bool:
    with store.read() as connection:
        return latest_gas(connection, network_id, datetime.now(UTC)).suggested_gas_fees is not None


async def test_trouble_of_one_network_never_touches_another(store: Store, tmp_path: Path) -> None:
    good = ScriptedExclusion()
    good.reject(a_record(tx_hash=a_hash(2)))
    networks = (
        WatchedNetwork(ANOTHER_NETWORK, GAS_PERIODS, exclusion=SilentExclusion()),
        WatchedNetwork(A_NETWORK, GAS_PERIODS, exclusion=good),
    )
    follow(store, 1, ANOTHER_NETWORK)
    follow(store, 2, A_NETWORK)

    async with working(a_watcher(store, a_post_office(store, tmp_path / "mail"), *networks)):
        await eventually_async(lambda: sent(store) == 1, what="the mail of the good network")


async def test_second_worker_asks_nothing_while_the_first_is_in_office(
    store: Store, tmp_path: Path
) -> None:
    first, second = ScriptedExclusion(), ScriptedExclusion()
    notifier = a_post_office(store, tmp_path)

    async with working(
        a_watcher(store, notifier, WatchedNetwork(A_NETWORK, GAS_PERIODS, exclusion=first))
    ):
        await eventually_async(lambda: holds(store, "worker 1"))
        standby = a_watcher(
            store,
            notifier,
            WatchedNetwork(A_NETWORK, GAS_PERIODS, exclusion=second),
            name="worker 2",
        )
        async with working(standby):
            follow(store)
            await eventually_async(lambda: len(first.asked) > 3, what="questions of the first")

    assert second.asked == []


async def test_standby_says_who_works_and_when_it_takes_over(store: Store, tmp_path: Path) -> None:
    notifier = a_post_office(store, tmp_path)
    with capture_logs() as lines:
        async with working(a_watcher(store, notifier)):
            await eventually_async(lambda: holds(store, "worker 1"))
            second = working(a_watcher(store, notifier, name="worker 2"))
            await second.__aenter__()
            await eventually_async(lambda: standby_lines(lines) != [], what="a word")
        await eventually_async(lambda: holds(store, "worker 2"), what="the takeover")
        await second.__aexit__(None, None, None)

    [said] = standby_lines(lines)
    assert said["at_work"] == "worker 1"
    assert "as soon as that one stops" in said["takes_over"]
    assert "2 s after its last renewal" in said["takes_over"]


def standby_lines(lines: list[EventDict]) -> list[EventDict]:
    return [line for line in lines if line["event"].startswith("this worker stands by")]


async def test_standby_takes_over_when_the_first_worker_stops(store: Store, tmp_path: Path) -> None:
    notifier = a_post_office(store, tmp_path)
    standby = a_watcher(store, notifier, name="worker 2")

    async with working(a_watcher(store, notifier)):
        await eventually_async(lambda: holds(store, "worker 1"))
        second = working(standby)
        await second.__aenter__()

    await eventually_async(lambda: holds(store, "worker 2"), what="the takeover")
    await second.__aexit__(None, None, None)


async def test_worker_whose_lease_was_taken_stands_by_and_comes_back(
    store: Store, tmp_path: Path
) -> None:
    async with working(a_watcher(store, a_post_office(store, tmp_path))):
        await eventually_async(lambda: holds(store, "worker 1"))
        usurp(store)
        await eventually_async(lambda: holds(store, "worker 1"), what="the return")


def usurp(store: Store) -> None:
    """Take the lease away from whoever has it, and hold it for a moment."""
    found = current_holder(store)
    assert found is not None
    with store.write() as connection:
        release(connection, "worker", found.token)
        assert acquire(connection, "worker", "usurper", timedelta(seconds=1)) is not None


async def test_stopped_worker_gives_its_lease_back(store: Store, tmp_path: Path) -> None:
    async with working(a_watcher(store, a_post_office(store, tmp_path))):
        await eventually_async(lambda: current_holder(store) is not None)

    assert current_holder(store) is None


async def test_worker_stops_though_an_upstream_hangs_for_ever(store: Store, tmp_path: Path) -> None:
    hanging = WatchedNetwork(A_NETWORK, GAS_PERIODS, exclusion=SilentExclusion())
    follow(store)

    async with working(a_watcher(store, a_post_office(store, tmp_path), hanging)):
        await eventually_async(lambda: current_holder(store) is not None)

    assert current_holder(store) is None


async def test_store_that_refuses_ends_no_worker(store: Store, tmp_path: Path) -> None:
    flaky_store = FlakyStore(store)
    flaky_store.fail_after(writes=0)

    async with working(a_watcher(flaky_store, a_post_office(store, tmp_path))):
        await eventually_async(lambda: current_holder(store) is not None)
        flaky_store.fail_after(writes=0)
        await eventually_async(lambda: flaky_store.is_calm)

    assert current_holder(store) is None


async def test_lease_that_could_not_be_given_back_is_no_trouble(
    store: Store,
) -> None:
    async with working(a_watcher(store, StubbornDelivery())):
        await eventually_async(lambda: current_holder(store) is not None)

    assert current_holder(store) is not None


class StubbornDelivery:
    """Delivers nothing, and cannot write down that it did."""

    def run(self, _token: int, _may_send: Callable[[], bool]) -> bool:
        """Do nothing."""
        return False

    def finish(self, within: timedelta) -> None:
        """Meet a full disk."""
        raise StoreUnavailable(f"the disk is full, within {within}")
