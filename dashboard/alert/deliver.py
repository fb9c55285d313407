"""Deliver what is pending: claim and commit, send, then mark; a crash in between loses nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from dashboard.alert.backlog import Backlog, Lanes
from dashboard.alert.delivery_result import Outcome, Sending, attempt, record, tell
from dashboard.alert.delivery_retry import Elapsed, RetryRule, Waits
from dashboard.alert.message import MaySend, always
from dashboard.alert.routing import recipients_of
from dashboard.alert.threads import Threads
from dashboard.domain.clock import Clock
from dashboard.domain.notification import DeliveryResult, Notification, Recipient
from dashboard.store.alerts import outbox
from dashboard.store.alerts.outbox import ClaimRequest
from dashboard.store.engine.engine import Store

_AT_ONCE: Final = 200
"""Entries that one transaction takes."""

_STRAY: Final = "stray"
"""The threads of notifications whose channel is not configured any more."""


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How delivery shares its time; a round waits `patience` for letters under way.

    Slower ones go on while the next rounds begin.
    """

    patience: timedelta = timedelta(milliseconds=250)
    lanes: Lanes = field(default_factory=Lanes)
    retry: RetryRule = field(default_factory=RetryRule)


def expand_outbox(store: Store, recipients: Sequence[Recipient], clock: Clock) -> int:
    """Turn the next of what the outbox holds into notifications, one for each recipient.

    Return how many entries that were, none when all is done.
    """
    with store.read() as connection:
        if not outbox.pending_expansion(connection, 1):
            return 0
    with store.write() as connection:
        entries = outbox.pending_expansion(connection, _AT_ONCE)
        for entry in entries:
            told = recipients_of(entry.transition, recipients)
            outbox.expand(connection, entry, told, clock())
    return len(entries)


class Deliverer:
    """Delivers the notifications of one store; its methods are called from one thread at a time.

    Letters to one address travel one after another, those of one incident in the order of its
    events. Where nothing can be handed over to an address, it pauses, so that a silent server
    costs one time-out and not one for each letter. A letter that is deferred for its own sake
    delays no other, and no address delays another.
    """

    def __init__(
        self,
        store: Store,
        sending: Sending,
        clock: Clock,
        elapsed: Elapsed,
        policy: DeliveryPolicy = DeliveryPolicy(),
    ) -> None:
        """Deliver nothing yet."""
        self._store = store
        self._sending = sending
        self._clock = clock
        self._elapsed = elapsed
        self._policy = policy
        lanes = policy.lanes
        threads = lanes.fast + lanes.slow
        self._threads = {name: Threads(name, threads) for name in (*sending.channels, _STRAY)}
        self._token = 0
        self._may_send: MaySend = always
        self._waits = Waits(policy.retry, elapsed)
        self._backlog = Backlog(lanes)
        self._pending: set[Recipient] = set()
        self._finished: SimpleQueue[tuple[Notification, Outcome | None]] = SimpleQueue()
        self._unrecorded: list[Outcome] = []
        self._to_free: set[Recipient] = set()

    @property
    def is_under_way(self) -> bool:
        """Whether letters travel now, whose answers are to be awaited."""
        return self._backlog.is_under_way

    def deliver_due(self, holder_token: int, may_send: MaySend = always) -> Counter[DeliveryResult]:
        """Deliver what is due for one round; return how many attempts had which result.

        Each is written down when its answer comes. `may_send` is asked before each hand-over.
        Raises StoreError; outcomes that could not be written down are kept for the next round,
        so that what was sent is not sent again while this process lives.
        """
        if holder_token != self._token:
            self._backlog.forget_waiting()  # claimed under another token, to be claimed again
            self._token = holder_token
        self._may_send = may_send
        results = self._record()
        with self._store.read() as connection:
            self._pending = set(outbox.pending_recipients(connection))
        deadline = time.monotonic() + self._policy.patience.total_seconds()
        while self._go_on() and self._wait_until(deadline):
            results += self._record()
        return results

    def finish(self, within: timedelta) -> Counter[DeliveryResult]:
        """Start nothing more, wait for letters under way, and write down what became of them."""
        self._backlog.forget_waiting()
        deadline = time.monotonic() + within.total_seconds()
        results = self._record()
        while self._backlog.is_under_way and self._wait_until(deadline):
            results += self._record()
        return results

    def _go_on(self) -> bool:
        """Claim what is due, start what can travel; whether anything is under way."""
        if self._may_send():
            self._claim()
            for notification in self._backlog.start(self._elapsed()):
                channel = notification.recipient.channel
                threads = self._threads.get(channel, self._threads[_STRAY])
                threads.submit(partial(self._carry, notification, self._may_send))
        else:
            self._backlog.forget_waiting()  # whoever has the lease now claims it again
        return self._backlog.is_under_way

    def _claim(self) -> None:
        """Fill what waits for each address that may have more; a share each, so that all do."""
        least = self._policy.lanes.share // 2
        wanted = [
            ClaimRequest(each, self._backlog.room(each), self._waits.resting(each))
            for each in self._pending
            if self._backlog.room(each) >= least and not self._waits.is_paused(each)
        ]
        if not wanted:
            return
        with self._store.write() as connection:
            claimed = outbox.claim(connection, self._token, wanted, self._clock())
        self._backlog.add(claimed)
        found = Counter(notification.recipient for notification in claimed)
        self._pending -= {each.recipient for each in wanted if found[each.recipient] < each.limit}

    def _carry(self, notification: Notification, may_send: MaySend) -> None:
        """Run in a thread of its own: attempt, and tell the outcome to whoever records."""
        self._finished.put((notification, attempt(notification, self._sending, may_send)))

    def _wait_until(self, deadline: float) -> bool:
        """Take in every outcome there is, waiting for the first one; False when time is up."""
        try:
            self._take_in(*self._finished.get(timeout=max(0.0, deadline - time.monotonic())))
            while True:
                self._take_in(*self._finished.get_nowait())
        except Empty:
            return bool(self._unrecorded)

    def _take_in(self, notification: Notification, outcome: Outcome | None) -> None:
        is_blocked = outcome is not None and outcome.is_blocked
        self._backlog.finish(notification, self._elapsed(), is_blocked=is_blocked)
        if outcome is None:
            return
        if outcome.result is DeliveryResult.DEFERRED:
            wait = self._waits.failed(notification, is_blocked=is_blocked)
            outcome = replace(outcome, wait=wait)
        else:
            self._waits.succeeded(notification)
        self._unrecorded.append(outcome)
        recipient = notification.recipient
        if self._waits.is_paused(recipient) and self._backlog.take_waiting(recipient):
            self._to_free.add(recipient)

    def _record(self) -> Counter[DeliveryResult]:
        if not self._unrecorded:
            return Counter()
        now, rule = self._clock(), self._policy.retry
        with self._store.write() as connection:
            results = [record(connection, outcome, now, rule) for outcome in self._unrecorded]
            for recipient in self._to_free:
                outbox.release_claims(connection, self._token, recipient)
        for outcome, result in zip(self._unrecorded, results, strict=True):
            tell(outcome, result)
            self._ask_for_more(outcome.notification.recipient)
        self._unrecorded.clear()
        self._to_free.clear()
        return Counter(results)

    def _ask_for_more(self, recipient: Recipient) -> None:
        """Look for what may follow, now that a letter to this address is marked."""
        if self._backlog.room(recipient) == self._policy.lanes.share:
            self._pending.add(recipient)
