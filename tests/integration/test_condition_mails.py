"""A whole worker over a real store: what a network goes through becomes mails, in one thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from itertools import count
from pathlib import Path
from time import monotonic
from uuid import uuid4

import pytest

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import Notifier
from dashboard.detect.condition_start_end import ConditionRules
from dashboard.domain.fees.gas import SuggestedGasFees
from dashboard.domain.fees.spells import HoldPeriods
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamUnavailable
from dashboard.poll.cadence import CadencePolicy, GasPeriods
from dashboard.poll.jobs import Periods, PollingWorker, WatchedNetwork, run_polling_worker
from dashboard.poll.lease import Clocks, Lease
from dashboard.store.engine.engine import Store, open_store
from tests.builders import A_NETWORK, GWEI, suggested_gas_fees
from tests.databases import new_sqlite_store
from tests.received_mail import mails_of
from tests.recording_channel import ONCALL, SENDER
from tests.scripted_upstreams import ScriptedGas
from tests.waiting import PATIENCE, eventually_async

pytestmark = pytest.mark.anyio

SOON = timedelta(milliseconds=50)
CLOCKS = Clocks(lambda: datetime.now(UTC), lambda: timedelta(seconds=monotonic()))
PERIODS = Periods(
    gas=GasPeriods(timedelta(milliseconds=500), timedelta(minutes=10), timedelta(seconds=1)),
    exclusion=SOON,
    conditions=SOON,
    delivery=SOON,
)
RULES = ConditionRules(
    busy=HoldPeriods(SOON, SOON),
    outage=HoldPeriods(timedelta(seconds=1), timedelta(seconds=1)),
    staleness=HoldPeriods(timedelta(minutes=5)),
)
SILENCE = UpstreamUnavailable("devnet gas endpoint did not answer")


class MovingGas(ScriptedGas):
    """Tells another base fee each time, by one wei: only a chain with a flat fee never moves."""

    def __init__(self) -> None:
        """Be calm below 20 gwei."""
        super().__init__()
        self.threshold = Wei(20 * GWEI)
        self.gwei = 10
        self._moves = count()

    async def suggested_gas_fees(self) -> SuggestedGasFees:
        """Suggest fees."""
        base_fee = Wei(self.gwei * GWEI + next(self._moves))
        self.fees = suggested_gas_fees(estimated_base_fee=base_fee)
        return await super().suggested_gas_fees()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    url = new_sqlite_store(tmp_path / "linewatch.db")
    with open_store(url) as opened:
        yield opened


@pytest.fixture
def mails(tmp_path: Path) -> Callable[[], list[EmailMessage]]:
    """Return what reads the mails that arrived, the one that opened the thread first."""

    def read() -> list[EmailMessage]:
        return sorted(mails_of(tmp_path / "mail"), key=lambda mail: "In-Reply-To" in mail)

    return read


@asynccontextmanager
async def working(store: Store, folder: Path, upstream: ScriptedGas) -> AsyncIterator[None]:
    """Run a worker that mails into `folder`, and stop it as a signal does."""
    templates = load_templates({A_NETWORK: NetworkName("devnet", is_simulated=True)}, Links())
    channels = {"mail": MaildirChannel(folder / "mail", SENDER)}
    deliverer = Deliverer(
        store, Sending(channels, MessageWriter(store, templates).write), CLOCKS.now, CLOCKS.elapsed
    )
    watcher = PollingWorker(
        store=store,
        lease=Lease(store, "worker", str(uuid4()), timedelta(seconds=2), CLOCKS.elapsed),
        networks=[WatchedNetwork(A_NETWORK, gas=upstream)],
        delivery=Notifier(store, [ONCALL], deliverer, CLOCKS.now),
        periods=PERIODS,
        cadence=CadencePolicy(shortest_interval=SOON),
        clocks=CLOCKS,
        new_id=uuid4,
        rules=RULES,
    )
    stop = asyncio.Event()
    worker = asyncio.create_task(run_polling_worker(watcher, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(worker, PATIENCE)


async def test_busy_and_calm_are_two_mails_in_one_thread(
    store: Store, tmp_path: Path, mails: Callable[[], list[EmailMessage]]
) -> None:
    upstream = MovingGas()
    async with working(store, tmp_path, upstream):
        await eventually_async(lambda: upstream.asked[Operation.SUGGESTED_GAS_FEES] > 1)
        upstream.gwei = 23
        await eventually_async(lambda: len(mails()) == 1, what="the mail of busy")
    async with working(store, tmp_path, upstream):
        await eventually_async(lambda: upstream.asked[Operation.SUGGESTED_GAS_FEES] > 6)
        upstream.gwei = 10
        await eventually_async(lambda: len(mails()) == 2, what="the mail of calm")

    busy, calm = mails()
    assert "devnet is busy: 23 gwei, threshold 20 (simulated data)" in busy["Subject"]
    assert "devnet is calm again: 10 gwei, threshold 20 (simulated data)" in calm["Subject"]
    assert calm["In-Reply-To"] == calm["References"] == busy["Message-ID"]


async def test_silence_is_one_mail_and_heals_by_itself(
    store: Store, tmp_path: Path, mails: Callable[[], list[EmailMessage]]
) -> None:
    upstream = MovingGas()
    async with working(store, tmp_path, upstream):
        await eventually_async(lambda: upstream.asked[Operation.SUGGESTED_GAS_FEES] > 1)
        upstream.errors = dict.fromkeys(Operation, SILENCE)
        await eventually_async(lambda: len(mails()) == 1, what="the mail of the silence")
        upstream.errors = {}
        await eventually_async(lambda: len(mails()) == 2, what="the mail of its end")

    silent, ended = mails()
    assert "fee source is silent since" in silent["Subject"]
    assert "fee source answers again" in ended["Subject"]
    assert ended["In-Reply-To"] == silent["Message-ID"]
