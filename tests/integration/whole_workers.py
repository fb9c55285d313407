"""Whole workers for tests: what they work with, and running them as a process would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from uuid import uuid4

from msgspec.structs import replace

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import Notifier
from dashboard.domain.fees.gas import GasPeriods
from dashboard.domain.tracking.cadence import CadencePolicy
from dashboard.poll.jobs import (
    NotifyJob,
    Periods,
    PollingWorker,
    WatchedNetwork,
    run_polling_worker,
)
from dashboard.poll.lease import Clocks, Lease
from dashboard.store.engine.engine import Store
from tests.builders import A_NETWORK
from tests.recording_channel import ONCALL_ALONE, SENDER
from tests.routes import alone
from tests.waiting import PATIENCE

SOON = timedelta(milliseconds=20)
DENSE = CadencePolicy(calls=10_000)
GAS_PERIODS = GasPeriods(SOON, timedelta(minutes=10), timedelta(minutes=1))
PERIODS = Periods(exclusion_tick=SOON, delivery=SOON)
CLOCKS = Clocks(lambda: datetime.now(UTC), lambda: timedelta(seconds=monotonic()))


def a_post_office(store: Store, maildir: Path) -> Notifier:
    """Return who delivers into a Maildir what real templates say."""
    templates = load_templates({A_NETWORK: NetworkName("devnet", is_simulated=True)}, Links())
    channels = {"mail": MaildirChannel(maildir, SENDER)}
    return a_notifier(store, Sending(channels, MessageWriter(store, templates).write))


def a_notifier(store: Store, sending: Sending) -> Notifier:
    """Return who delivers what is so sent, each transition by itself."""
    deliverer = Deliverer(store, sending, CLOCKS.now, CLOCKS.elapsed)
    return Notifier(store, ONCALL_ALONE, deliverer, CLOCKS.now, alone)


def a_watcher(
    store: Store, delivery: NotifyJob, *networks: WatchedNetwork, name: str = "worker 1"
) -> PollingWorker:
    """Return a worker of these networks."""
    return PollingWorker(
        store=store,
        lease=Lease(store, "worker", name, timedelta(seconds=2), CLOCKS.elapsed),
        networks=[replace(each, cadence=DENSE) for each in networks],
        delivery=delivery,
        periods=PERIODS,
        clocks=CLOCKS,
        new_id=uuid4,
    )


@asynccontextmanager
async def working(watcher: PollingWorker) -> AsyncIterator[None]:
    """Run a worker, and stop it as a signal does."""
    stop = asyncio.Event()
    worker = asyncio.create_task(run_polling_worker(watcher, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(worker, PATIENCE)
