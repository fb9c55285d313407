"""Deliver what is pending: claim and commit, send, then mark; a crash in between loses nothing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.alert.delivery_queue import DeliveryQueue, QueueLimits, ReleaseTimes, WorkerPool
from dashboard.alert.message import Channel, MaySend, Message, MessageHeaders, always
from dashboard.alert.retries import Elapsed, RetryRule, RetryTimes, is_dead
from dashboard.domain.alerts.closing_plan import passed_over, plan_closings
from dashboard.domain.alerts.hourly_cap import Closing, HourlyCap, OpenNotification
from dashboard.domain.alerts.notification import DeliveryResult, Notification, Recipient
from dashboard.domain.markup import visible
from dashboard.domain.quantity import Clock
from dashboard.errors import DeliveryBlocked, DeliveryError, DeliveryRefused, DeliveryWithheld
from dashboard.logs import get_logger
from dashboard.store.alerts import notification_claims
from dashboard.store.alerts.closings import note_cap, open_notifications, traffic_to
from dashboard.store.alerts.notification_claims import ClaimRequest
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import live_tokens
from dashboard.tracing import tracing

_UNCONFIGURED: Final = "unconfigured"
"""Names the threads for notifications whose channel is no longer configured."""

WriteMessage: TypeAlias = Callable[[Notification], Message]
"""Composes the message of a notification."""

_log = get_logger("delivery")


class DeliveryPolicy(Struct, frozen=True):
    """How delivery uses its time; a round waits `patience` for running attempts.

    Slower ones continue while the next rounds begin.
    """

    patience: timedelta = timedelta(milliseconds=250)
    limits: QueueLimits = QueueLimits()
    retry: RetryRule = RetryRule()
    cap: HourlyCap = HourlyCap()


_USUAL: Final = DeliveryPolicy()


class Deliverer:
    """Delivers the notifications of one store; its methods are called from one thread at a time.

    Notifications to one recipient are sent one after another, those of one incident in the order
    of its events. If nothing can be delivered to a recipient, all of theirs pause, so that a
    silent server costs one time-out and not one for each notification. One that is deferred for a
    reason of its own delays no other, and no recipient delays another.

    What is due is closed when it is claimed: from then on its members are fixed. For a recipient
    whose cap is reached, or to whom nothing can be delivered, notifications stay open, and
    are merged when they go.
    """

    def __init__(
        self,
        store: Store,
        sending: Sending,
        clock: Clock,
        elapsed: Elapsed,
        policy: DeliveryPolicy = _USUAL,
    ) -> None:
        self._store = store
        self._sending = sending
        self._clock = clock
        self._elapsed = elapsed
        self._policy = policy
        limits = policy.limits
        threads = limits.fast + limits.slow
        self._workers = {
            name: WorkerPool(name, threads) for name in (*sending.channels, _UNCONFIGURED)
        }
        self._token = 0
        self._may_send: MaySend = always
        self._retries = RetryTimes(policy.retry, elapsed)
        self._release_times = ReleaseTimes(elapsed)
        self._closings: dict[Recipient, list[Closing]] = {}
        self._queue = DeliveryQueue(limits)
        self._to_claim: set[Recipient] = set()
        self._finished: SimpleQueue[tuple[Notification, FinishedAttempt | None]] = SimpleQueue()
        self._unrecorded: list[FinishedAttempt] = []
        self._to_release: set[Recipient] = set()
        self._back: set[Recipient] = set()

    @property
    def is_sending(self) -> bool:
        """Whether attempts are running, whose answers are to be awaited."""
        return self._queue.is_sending

    def deliver_due(self, holder_token: int, may_send: MaySend = always) -> Counter[DeliveryResult]:
        """Deliver what is due for one round; return how many attempts had which result.

        Each is recorded when its answer comes. `may_send` is asked before each attempt. Raises
        StoreError; attempts that could not be recorded are kept for the next round, so that nothing
        is sent twice while this process lives.
        """
        if holder_token != self._token:
            self._queue.drop_waiting()  # claimed under another token, to be claimed again
            self._token = holder_token
        self._may_send = may_send
        results = self._record()
        with self._store.read() as connection:
            freed = notification_claims.to_try_at_once(connection)
            for each in freed:
                self._retries.end(each)
            self._closings, capped = self._planned(connection)
            pending = notification_claims.pending_recipients(connection)
        if freed or capped:
            with self._store.write() as connection:
                if holder_token in live_tokens(connection):
                    notification_claims.note_tries(connection, self._clock())
                    note_cap(connection, capped)
        self._to_claim = {*pending, *self._closings}
        deadline = time.monotonic() + self._policy.patience.total_seconds()
        while self._claim_and_start() and self._collect_until(deadline):
            results += self._record()
        return results

    def finish(self, within: timedelta) -> Counter[DeliveryResult]:
        """Start nothing more, wait for running attempts, and record them."""
        self._queue.drop_waiting()
        deadline = time.monotonic() + within.total_seconds()
        results = self._record()
        while self._queue.is_sending and self._collect_until(deadline):
            results += self._record()
        return results

    def _claim_and_start(self) -> bool:
        """Claim what is due, start what is next; return whether any attempt is running."""
        if self._may_send():
            self._claim()
            for notification in self._queue.start(self._elapsed()):
                channel = notification.recipient.channel
                workers = self._workers.get(channel, self._workers[_UNCONFIGURED])
                workers.submit(partial(self._attempt, notification, self._may_send))
        else:
            self._queue.drop_waiting()  # whoever holds the lease next claims it, maybe this worker
        return self._queue.is_sending

    def _planned(self, connection: Connection) -> tuple[dict[Recipient, list[Closing]], list[UUID]]:
        """Return what is to be closed for each recipient who can be reached.

        It includes what the cap defers for the first time, so that its message can say so.
        """
        now = self._clock()
        due: dict[Recipient, list[OpenNotification]] = {}
        for each in self._release_times.due(open_notifications(connection), now):
            if not self._retries.is_paused(each.recipient):
                due.setdefault(each.recipient, []).append(each)
        planned: dict[Recipient, list[Closing]] = {}
        late: set[UUID] = set()
        for recipient, some in due.items():
            traffic = traffic_to(connection, recipient, now)
            cap = self._policy.cap.of(recipient)
            is_back = recipient in self._back or self._retries.is_failing(recipient)
            closings = plan_closings(some, traffic, now, cap, is_back=is_back)
            if closings:
                planned[recipient] = closings
            late |= {*passed_over(some, closings, traffic, now, cap)}
        self._back.clear()
        known = {each.notification_id for some in due.values() for each in some if each.was_capped}
        return planned, sorted(late - known)

    def _claim(self) -> None:
        """Fill the queue of each recipient that is at least half empty, up to its share."""
        least = self._policy.limits.per_recipient // 2
        wanted = [
            ClaimRequest(
                each,
                self._queue.room(each),
                [*self._retries.waiting(each), *self._queue.held(each)],
                self._closings.get(each, ()),
            )
            for each in self._to_claim
            if self._queue.room(each) >= least and not self._retries.is_paused(each)
        ]
        if not wanted:
            return
        with self._store.write() as connection:
            claimed = notification_claims.claim(connection, self._token, wanted, self._clock())
        self._closings = {
            recipient: some
            for recipient, some in self._closings.items()
            if recipient not in {each.recipient for each in wanted}
        }
        self._queue.add(claimed)
        found = Counter(notification.recipient for notification in claimed)
        self._to_claim -= {each.recipient for each in wanted if found[each.recipient] < each.limit}

    def _attempt(self, notification: Notification, may_send: MaySend) -> None:
        """Run in a thread of its own: attempt, and hand the result to the thread that records."""
        self._finished.put((notification, attempt(notification, self._sending, may_send)))

    def _collect_until(self, deadline: float) -> bool:
        """Process every finished attempt, waiting for the first; False when time is up."""
        try:
            self._process(*self._finished.get(timeout=max(0.0, deadline - time.monotonic())))
            while True:
                self._process(*self._finished.get_nowait())
        except Empty:
            return bool(self._unrecorded)

    def _process(self, notification: Notification, finished: FinishedAttempt | None) -> None:
        is_blocked = finished is not None and finished.is_blocked
        self._queue.finish(notification, self._elapsed(), is_blocked=is_blocked)
        if finished is None:
            return
        if finished.result is DeliveryResult.DEFERRED:
            wait = self._retries.failed(
                notification, is_blocked=is_blocked, at_least=finished.retry_after
            )
            finished = replace(finished, wait=wait)
        else:
            if self._retries.is_failing(notification.recipient):
                self._back.add(notification.recipient)
            self._retries.succeeded(notification)
        self._unrecorded.append(finished)
        recipient = notification.recipient
        if self._retries.is_paused(recipient) and self._queue.take_waiting(recipient):
            self._to_release.add(recipient)

    def _record(self) -> Counter[DeliveryResult]:
        if not self._unrecorded:
            return Counter()
        now, rule = self._clock(), self._policy.retry
        with self._store.write() as connection:
            results = [record(connection, finished, now, rule) for finished in self._unrecorded]
            for recipient in self._to_release:
                notification_claims.release_claims(connection, self._token, recipient)
        for finished, result in zip(self._unrecorded, results, strict=True):
            log_failure(finished, result)
            recipient = finished.notification.recipient
            if self._queue.room(recipient) == self._policy.limits.per_recipient:
                self._to_claim.add(recipient)  # what may follow, now that this one is recorded
        self._unrecorded.clear()
        self._to_release.clear()
        return Counter(results)


class FinishedAttempt(Struct, frozen=True):
    """An attempt that is over; `answer` is the channel's, or the error.

    `is_blocked`: another message to the same recipient would have failed as well. `wait` is how
    long the notification waits if it was deferred, `retry_after` how long the other side asked for.
    """

    notification: Notification
    result: DeliveryResult
    answer: str
    is_blocked: bool = False
    wait: timedelta = timedelta()
    retry_after: timedelta = timedelta()


class Sending(Struct, frozen=True):
    """The composer of messages, and the channels that send them, by name."""

    channels: Mapping[str, Channel]
    write: WriteMessage


def attempt(
    notification: Notification, sending: Sending, may_send: MaySend
) -> FinishedAttempt | None:
    """Send the message; every error becomes a result, since this runs in a thread of its own.

    None if it may not be sent any more: then nothing was tried.
    """
    try:
        with tracing.span("delivery", channel=notification.recipient.channel):
            answer = _send(notification, sending, may_send)
        return FinishedAttempt(notification, DeliveryResult.SENT, answer)
    except DeliveryWithheld:
        return None
    except DeliveryRefused as error:
        return FinishedAttempt(notification, DeliveryResult.REFUSED, str(error))
    except DeliveryError as error:
        retry_after = error.retry_after if isinstance(error, DeliveryBlocked) else None
        return FinishedAttempt(
            notification,
            DeliveryResult.DEFERRED,
            str(error),
            isinstance(error, DeliveryBlocked),
            retry_after=retry_after or timedelta(),
        )
    except Exception:  # noqa: BLE001 - the top of a thread: one notification must not end it
        _log.exception(
            "a notification cannot be sent", notification=str(notification.notification_id)
        )
        answer = "an unexpected error; see the log"
        return FinishedAttempt(notification, DeliveryResult.DEFERRED, answer)


def _send(notification: Notification, sending: Sending, may_send: MaySend) -> str:
    if not may_send():
        raise DeliveryWithheld("the lease of this worker expired")
    channel = sending.channels.get(notification.recipient.channel)
    if channel is None:
        raise DeliveryBlocked(
            f"no channel {notification.recipient.channel} is configured; see [channels]"
        )
    headers = MessageHeaders(
        notification.message_id,
        notification.recipient.address,
        notification.dated,
        notification.in_reply_to,
        notification.thread,
    )
    return channel.send(sending.write(notification), headers, may_send)


def record(
    connection: Connection, finished: FinishedAttempt, now: datetime, rule: RetryRule
) -> DeliveryResult:
    """Record an attempt; one deferred for too long is refused, so its notification is dead."""
    notification = finished.notification
    if notification.attempts == 0:
        notification_claims.note_first_attempt(connection, notification.notification_id, now)
    if finished.result is DeliveryResult.SENT:
        notification_claims.mark_sent(
            connection, notification.notification_id, finished.answer, now
        )
        return DeliveryResult.SENT
    if finished.result is DeliveryResult.DEFERRED:
        first_at = notification_claims.first_attempt_at(connection, notification)
        if not is_dead(notification.attempts + 1, now - (first_at or now), rule):
            notification_claims.reschedule(
                connection, notification, finished.answer, now + finished.wait
            )
            return DeliveryResult.DEFERRED
    notification_claims.mark_dead(connection, notification, finished.answer, now)
    return DeliveryResult.REFUSED


def log_failure(finished: FinishedAttempt, result: DeliveryResult) -> None:
    """Log an attempt that failed, with the answer; `result` is what was recorded."""
    if result is DeliveryResult.SENT:
        return
    is_dead = result is DeliveryResult.REFUSED
    log = _log.error if is_dead else _log.warning
    log(
        "a notification is dead" if is_dead else "a notification was deferred",
        notification=str(finished.notification.notification_id),
        recipient=visible(finished.notification.recipient.address),
        answer=visible(finished.answer),
    )
