"""Whole workers over one real store: one works, the other stands by and takes over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from uuid import uuid4

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.compose import Links, NetworkName, compose
from dashboard.alert.deliver import Deliverer
from dashboard.alert.post import PostOffice
from dashboard.alert.stationery import load_stationery
from dashboard.domain.notice import NoticeState
from dashboard.domain.quantity import NetworkId
from dashboard.errors import StoreUnavailable
from dashboard.poll.cadence import CadencePolicy
from dashboard.poll.clocks import Clocks
from dashboard.poll.gas import GasPeriods
from dashboard.poll.jobs import Delivery, Periods, WatchedNetwork, Watcher
from dashboard.poll.lease import Lease
from dashboard.poll.watch import run_watch
from dashboard.store.engine import Store, open_store
from dashboard.store.leases import Holder, acquire, holder, release
from dashboard.store.migrate import migrate
from dashboard.store.observations import latest_gas
from dashboard.store.outbox import recent_notices
from dashboard.store.transactions import TrackRequest, track
from tests.askers import ScriptedExclusion, ScriptedGas, SilentExclusion
from tests.builders import A_NETWORK, ANOTHER_NETWORK, a_hash, a_record
from tests.letters import ONCALL, SENDER
from tests.moody_store import MoodyStore
from tests.waiting import eventually_async

pytestmark = pytest.mark.anyio

SOON = timedelta(milliseconds=20)
PERIODS = Periods(
    gas=GasPeriods(SOON, timedelta(minutes=10), timedelta(minutes=1)),
    exclusion=SOON,
    delivery=SOON,
)
CLOCKS = Clocks(lambda: datetime.now(UTC), lambda: timedelta(seconds=monotonic()))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path}/linewatch.db"
    migrate(url)
    with open_store(url) as opened:
        yield opened


def a_post_office(store: Store, maildir: Path) -> PostOffice:
    stationery = load_stationery({A_NETWORK: NetworkName("devnet", is_simulated=True)}, Links())
    channels = {"mail": MaildirChannel(maildir, SENDER)}
    deliverer = Deliverer(store, channels, lambda each: compose(each, stationery), CLOCKS.now)
    return PostOffice(store, [ONCALL], deliverer, CLOCKS.now)


def a_watcher(
    store: Store, post_office: Delivery, *networks: WatchedNetwork, name: str = "worker 1"
) -> Watcher:
    return Watcher(
        store=store,
        lease=Lease(store, "worker", name, timedelta(seconds=2)),
        networks=networks,
        delivery=post_office,
        periods=PERIODS,
        cadence=CadencePolicy(shortest_interval=SOON),
        clocks=CLOCKS,
        new_id=uuid4,
    )


@asynccontextmanager
async def working(watcher: Watcher) -> AsyncIterator[None]:
    """Run a worker, and stop it as a signal does."""
    stop = asyncio.Event()
    worker = asyncio.create_task(run_watch(watcher, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(worker, 30)


def follow(store: Store, number: int = 1, network_id: NetworkId = A_NETWORK) -> None:
    with store.write() as connection:
        request = TrackRequest(a_hash(number), (network_id,), None, "")
        track(connection, request, CLOCKS.now())


def in_office(store: Store) -> Holder | None:
    with store.read() as connection:
        return holder(connection, "worker")


def holds(store: Store, name: str) -> bool:
    found = in_office(store)
    return found is not None and found.name == name


def sent(store: Store) -> int:
    with store.read() as connection:
        notices = recent_notices(connection, 100)
    return sum(notice.state is NoticeState.SENT for notice in notices)


async def test_rejection_of_a_tracked_hash_becomes_a_mail(store: Store, tmp_path: Path) -> None:
    upstream = ScriptedExclusion()
    upstream.reject(a_record())
    office = a_post_office(store, tmp_path / "mail")

    async with working(a_watcher(store, office, WatchedNetwork(A_NETWORK, exclusion=upstream))):
        follow(store)
        await eventually_async(lambda: sent(store) == 1, what="the mail")

    [mail] = (tmp_path / "mail" / "new").iterdir()
    assert b"Rejected on devnet (simulated data): ADD over" in mail.read_bytes()


async def test_gas_of_every_network_is_kept(store: Store, tmp_path: Path) -> None:
    networks = [WatchedNetwork(each, gas=ScriptedGas()) for each in (A_NETWORK, ANOTHER_NETWORK)]

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
        WatchedNetwork(ANOTHER_NETWORK, exclusion=SilentExclusion()),
        WatchedNetwork(A_NETWORK, exclusion=good),
    )
    follow(store, 1, ANOTHER_NETWORK)
    follow(store, 2, A_NETWORK)

    async with working(a_watcher(store, a_post_office(store, tmp_path / "mail"), *networks)):
        await eventually_async(lambda: sent(store) == 1, what="the mail of the good network")


async def test_second_worker_asks_nothing_while_the_first_is_in_office(
    store: Store, tmp_path: Path
) -> None:
    first, second = ScriptedExclusion(), ScriptedExclusion()
    office = a_post_office(store, tmp_path)

    async with working(a_watcher(store, office, WatchedNetwork(A_NETWORK, exclusion=first))):
        await eventually_async(lambda: holds(store, "worker 1"))
        standby = a_watcher(
            store, office, WatchedNetwork(A_NETWORK, exclusion=second), name="worker 2"
        )
        async with working(standby):
            follow(store)
            await eventually_async(lambda: len(first.asked) > 3, what="questions of the first")

    assert second.asked == []


async def test_standby_says_who_works_and_when_it_takes_over(store: Store, tmp_path: Path) -> None:
    office = a_post_office(store, tmp_path)
    with capture_logs() as lines:
        async with working(a_watcher(store, office)):
            await eventually_async(lambda: holds(store, "worker 1"))
            second = working(a_watcher(store, office, name="worker 2"))
            await second.__aenter__()
            await eventually_async(lambda: standby_lines(lines) != [], what="a word")
        await eventually_async(lambda: holds(store, "worker 2"), what="the takeover")
        await second.__aexit__(None, None, None)

    [said] = standby_lines(lines)
    assert said["at_work"] == "worker 1"
    assert "as soon as that one stops" in said["takes_over"]
    assert "2 s after its last sign of life" in said["takes_over"]


def standby_lines(lines: list[EventDict]) -> list[EventDict]:
    return [line for line in lines if line["event"].startswith("this worker stands by")]


async def test_standby_takes_over_when_the_first_worker_stops(store: Store, tmp_path: Path) -> None:
    office = a_post_office(store, tmp_path)
    standby = a_watcher(store, office, name="worker 2")

    async with working(a_watcher(store, office)):
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
    found = in_office(store)
    assert found is not None
    with store.write() as connection:
        release(connection, "worker", found.token)
        assert acquire(connection, "worker", "usurper", timedelta(seconds=1)) is not None


async def test_stopped_worker_gives_its_lease_back(store: Store, tmp_path: Path) -> None:
    async with working(a_watcher(store, a_post_office(store, tmp_path))):
        await eventually_async(lambda: in_office(store) is not None)

    assert in_office(store) is None


async def test_worker_stops_in_time_though_an_upstream_hangs(store: Store, tmp_path: Path) -> None:
    hanging = WatchedNetwork(A_NETWORK, exclusion=SilentExclusion())
    follow(store)

    async with working(a_watcher(store, a_post_office(store, tmp_path), hanging)):
        await eventually_async(lambda: in_office(store) is not None)
        started = monotonic()

    assert monotonic() - started < 8


async def test_store_that_refuses_ends_no_worker(store: Store, tmp_path: Path) -> None:
    moody = MoodyStore(store)
    moody.fail_after(writes=0)

    async with working(a_watcher(moody, a_post_office(store, tmp_path))):
        await eventually_async(lambda: in_office(store) is not None)
        moody.fail_after(writes=0)
        await eventually_async(lambda: moody.is_calm)

    assert in_office(store) is None


async def test_lease_that_could_not_be_given_back_is_no_trouble(
    store: Store,
) -> None:
    async with working(a_watcher(store, StubbornDelivery())):
        await eventually_async(lambda: in_office(store) is not None)

    assert in_office(store) is not None


class StubbornDelivery:
    """Delivers nothing, and cannot write down that it did."""

    def run(self, holder_token: int) -> None:
        """Do nothing."""

    def finish(self, within: timedelta) -> None:
        """Meet a full disk."""
        raise StoreUnavailable(f"the disk is full, within {within}")
