"""A worker whose jobs go by a clock of ours, so that days pass in seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

from dashboard.alert.deliver import Deliverer, DeliveryPolicy, Sending
from dashboard.alert.notify import Notifier
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.poll.jobs import Periods, PollingWorker, WatchedNetwork, jobs_of
from dashboard.poll.lease import Lease, Term
from dashboard.poll.scheduler import Job
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import WORKER_LEASE
from tests.fake_clock import FakeClock
from tests.faults.alerting_lives import RECIPIENTS, RecordingPost
from tests.faults.delivery_promises import StoredDeliveries, stored_deliveries
from tests.recording_channel import message_about
from tests.waiting import PATIENCE

_CONFIGURED = ConfiguredRecipients(RECIPIENTS, zones=ZoneInfo)
_TERM = timedelta(days=10_000)


@dataclass
class SimulatedWorker:
    """One worker after the other on one store: the product's own jobs, each on its period."""

    store: Store
    clock: FakeClock
    networks: Sequence[WatchedNetwork]
    periods: Periods
    lives: int = 0
    _jobs: Sequence[Job] = ()
    _due: dict[str, timedelta] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with one worker."""
        self.post = RecordingPost(self.clock)
        self._term: Term | None = None
        self.restart()

    def restart(self) -> None:
        """Let another worker go on that knows only what is stored."""
        self.lives += 1
        clocks = self.clock.clocks
        lease = Lease(self.store, WORKER_LEASE, f"life {self.lives}", _TERM, clocks.elapsed)
        if self._term is not None:
            lease.release(self._term)
        self._term = lease.acquire()
        assert self._term is not None
        policy = DeliveryPolicy(patience=timedelta(seconds=PATIENCE))
        sending = Sending({"mail": self.post}, message_about)
        deliverer = Deliverer(self.store, sending, clocks.now, clocks.elapsed, policy)
        worker = PollingWorker(
            store=self.store,
            lease=lease,
            networks=self.networks,
            delivery=Notifier(self.store, _CONFIGURED, deliverer, clocks.now),
            periods=self.periods,
            clocks=clocks,
            new_id=uuid4,
        )
        self._jobs = jobs_of(worker, self._term, asyncio.Event())
        self._due = dict.fromkeys((job.name for job in self._jobs), clocks.elapsed())

    async def work(self, length: timedelta, step: timedelta = timedelta()) -> None:
        """Let time pass, and each job run when it is due; not more often than every `step`."""
        now = self.clock.elapsed()
        end = now + length
        for job in self._jobs:
            self._due[job.name] = min(self._due[job.name], now + max(job.period, step))
        while (at := min(self._due.values())) <= end:
            self.clock.wait(max(at - self.clock.elapsed(), timedelta()))
            for job in self._jobs:
                if self._due[job.name] <= at:
                    self._due[job.name] = at + max(job.period, step)
                    await job.run()
        self.clock.wait(end - self.clock.elapsed())

    def delivered(self) -> StoredDeliveries:
        """See that each change reached every recipient once; return what is stored of that."""
        found = stored_deliveries(self.store)
        assert found.is_settled, "a notification is still pending"
        assert len(set(found.members)) == len(found.members), "a change reached somebody twice"
        taken = [(each.headers.message_id, each.headers.to) for each in self.post.taken]
        assert len(set(taken)) == len(taken), "a message was sent twice"
        sent = {(each.message_id, each.address) for each in found.messages}
        assert sent == set(taken), "other messages came than are marked as sent"
        return found
