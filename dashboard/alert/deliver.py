"""Hand over what is owed: claim and commit, send, then mark; a crash in between loses nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final

from dashboard.alert.backlog import Backlog
from dashboard.alert.lanes import Lanes
from dashboard.alert.letter import Channel
from dashboard.alert.outcome import Composer, Outcome, attempt, record, tell
from dashboard.alert.retry import RetryRule, next_turn
from dashboard.alert.routing import recipients_of
from dashboard.domain.clock import Clock
from dashboard.domain.notice import DeliveryResult, Notice, Recipient
from dashboard.store import outbox
from dashboard.store.engine import Store

_AT_ONCE: Final = 200
"""Entries or notices that one transaction takes."""

_STRAY: Final = "stray"
"""The lanes of notices whose channel is not configured any more."""


@dataclass(frozen=True, slots=True)
class DeliveryPolicy:
    """How delivery shares its time.

    A round waits `patience` for letters under way; slower ones go on while the next rounds
    begin. `lanes` letters of one channel travel side by side. At most `largest_backlog` notices
    are held in memory.
    """

    patience: timedelta = timedelta(milliseconds=500)
    lanes: int = 8
    largest_backlog: int = 2000
    retry: RetryRule = field(default_factory=RetryRule)


def expand_outbox(store: Store, recipients: Sequence[Recipient], clock: Clock) -> int:
    """Turn what the outbox holds into notices, one for each recipient; return their number."""
    owed = 0
    while True:
        with store.write() as connection:
            entries = outbox.unexpanded(connection, _AT_ONCE)
            for entry in entries:
                told = recipients_of(entry.transition, recipients)
                owed += outbox.expand(connection, entry, told, clock())
        if len(entries) < _AT_ONCE:
            return owed


class Deliverer:
    """Delivers the notices of one store; its methods are called from one thread at a time.

    Letters to one address travel one after another. Where nothing can be handed over to it now,
    those that wait for the same address are put off untried, so that a silent server costs one
    time-out and not one for each letter. A letter that is deferred for its own sake delays no
    other.
    """

    def __init__(
        self,
        store: Store,
        channels: Mapping[str, Channel],
        compose: Composer,
        clock: Clock,
        policy: DeliveryPolicy = DeliveryPolicy(),
    ) -> None:
        """Deliver nothing yet."""
        self._store = store
        self._clock = clock
        self._policy = policy
        self._attempt = partial(attempt, channels=channels, compose=compose)
        self._lanes = {name: Lanes(name, policy.lanes) for name in (*channels, _STRAY)}
        self._token: int | None = None
        self._backlog = Backlog()
        self._finished: SimpleQueue[Outcome] = SimpleQueue()
        self._unrecorded: list[Outcome] = []
        self._put_off: list[Notice] = []

    def deliver_due(self, holder_token: int) -> Counter[DeliveryResult]:
        """Deliver what is due for one round; return how many attempts had which result.

        Raises StoreError; outcomes that could not be written down are kept for the next round,
        so that what was sent is not sent again while this process lives.
        """
        if holder_token != self._token:
            self._backlog.forget_waiting()  # claimed under another token, to be claimed again
            self._token = holder_token
        results = self._record()
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
        self._claim()
        for notice in self._backlog.start():
            name = notice.recipient.channel
            lanes = self._lanes.get(name, self._lanes[_STRAY])
            lanes.submit(partial(self._carry, notice))
        return self._backlog.is_under_way

    def _claim(self) -> None:
        room = self._policy.largest_backlog - len(self._backlog)
        if self._token is None or room <= 0:
            return
        with self._store.write() as connection:
            limit = min(room, _AT_ONCE)
            claimed = outbox.claim(connection, self._token, self._clock(), limit)
        self._backlog.add(claimed)

    def _carry(self, notice: Notice) -> None:
        """Run in a lane: attempt, and tell the outcome to whoever records."""
        self._finished.put(self._attempt(notice))

    def _wait_until(self, deadline: float) -> bool:
        """Take in every outcome there is, waiting for the first one; False when time is up."""
        try:
            self._take_in(self._finished.get(timeout=max(0.0, deadline - time.monotonic())))
            while True:
                self._take_in(self._finished.get_nowait())
        except Empty:
            return bool(self._unrecorded)

    def _take_in(self, outcome: Outcome) -> None:
        self._unrecorded.append(outcome)
        if outcome.is_blocked:
            self._put_off += self._backlog.take_waiting(outcome.notice.recipient)
        self._backlog.finish(outcome.notice)

    def _record(self) -> Counter[DeliveryResult]:
        if not self._unrecorded:
            return Counter()
        now, rule = self._clock(), self._policy.retry
        with self._store.write() as connection:
            results = [record(connection, outcome, now, rule) for outcome in self._unrecorded]
            for notice in self._put_off:
                outbox.put_off(connection, notice, next_turn(notice, now, rule))
        for outcome, result in zip(self._unrecorded, results, strict=True):
            tell(outcome, result)
        self._unrecorded.clear()
        self._put_off.clear()
        return Counter(results)
