"""Retries: when a notification that failed is tried again, and when it is given up as dead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from msgspec import Struct, field

from dashboard.domain.alerts.notification import Notification, Recipient

Elapsed: TypeAlias = Callable[[], timedelta]
"""Returns a time that never jumps: the time since the machine's boot."""

FAILURES_BEFORE_PAUSE: Final = 3
"""After this many deferred notifications in a row, the server is taken for the cause."""

_MOST_DOUBLINGS: Final = 16


class RetryRule(Struct, frozen=True):
    """Waits double from `first_wait`, up to `longest_wait` for a message that is itself the cause.

    If nothing can be delivered to a recipient, one message is tried, at least every
    `longest_pause`. A notification is dead when it was tried for `patience`, but never before
    `fewest_attempts` of its own: neither a clock that jumps ahead by a week nor a server that is
    silent for as long may end a notification that was hardly tried.
    """

    first_wait: timedelta = timedelta(seconds=15)
    longest_wait: timedelta = timedelta(hours=1)
    longest_pause: timedelta = timedelta(minutes=1)
    patience: timedelta = timedelta(days=7)
    fewest_attempts: int = 60


def is_dead(attempts: int, tried_for: timedelta, rule: RetryRule) -> bool:
    """Whether a notification that was deferred is not tried again after so many attempts."""
    return attempts >= rule.fewest_attempts and tried_for >= rule.patience


class _Wait(NamedTuple):
    """Until when a notification waits; `is_own` if its message itself is the cause."""

    until: timedelta
    is_own: bool


class _RecipientState(Struct):
    """A recipient `works` from a success on, until nothing can be delivered to them."""

    works: bool = False
    failures: int = 0
    paused_until: timedelta = timedelta()
    waits: dict[UUID, _Wait] = field(default_factory=dict)


class RetryTimes:
    """What waits after a failure, measured by the time since boot; a restart tries all at once.

    A notification that fails again if others are sent waits by itself and delays no other.
    Any other failure is taken for one of its recipient: all of theirs pause, and once one is
    sent, all others follow.
    """

    def __init__(self, rule: RetryRule, elapsed: Elapsed) -> None:
        self._rule = rule
        self._elapsed = elapsed
        self._recipients: dict[Recipient, _RecipientState] = {}

    def is_paused(self, recipient: Recipient) -> bool:
        state = self._recipients.get(recipient)
        return state is not None and self._elapsed() < state.paused_until

    def is_failing(self, recipient: Recipient) -> bool:
        """Whether the last attempts to reach a recipient failed, as those of others may as well."""
        state = self._recipients.get(recipient)
        return state is not None and not state.works and state.failures > 0

    def waiting(self, recipient: Recipient) -> list[UUID]:
        """Return the notifications to a recipient that wait, each by itself."""
        state = self._recipients.get(recipient)
        if state is None:
            return []
        now = self._elapsed()
        state.waits = {each: wait for each, wait in state.waits.items() if now < wait.until}
        return list(state.waits)

    def end(self, recipient: Recipient) -> None:
        """End every wait of a recipient: a person saw that messages are accepted."""
        state = self._recipients.get(recipient)
        if state is not None:
            state.waits, state.paused_until = {}, timedelta()

    def succeeded(self, notification: Notification) -> None:
        """Record that a message was sent: all that waited for its recipient follow at once."""
        state = self._recipients.setdefault(notification.recipient, _RecipientState())
        if not state.works:
            own = {each: wait for each, wait in state.waits.items() if wait.is_own}
            state.waits = own
        state.waits.pop(notification.notification_id, None)
        state.works, state.failures, state.paused_until = True, 0, timedelta()

    def failed(
        self, notification: Notification, *, is_blocked: bool, at_least: timedelta = timedelta()
    ) -> timedelta:
        """Record that a notification was deferred; return how long it waits.

        `is_blocked` if another message to the same recipient would have failed as well; `at_least`
        is how long the other side asks us to wait, which is granted up to `longest_wait`.
        """
        state = self._recipients.setdefault(notification.recipient, _RecipientState())
        wait = _doubled(self._rule.first_wait, notification.attempts, self._rule.longest_wait)
        is_own = state.works and notification.attempts > 0 and not at_least
        if is_own or not is_blocked:
            state.waits[notification.notification_id] = _Wait(self._elapsed() + wait, is_own)
        if is_own:
            state.works = not is_blocked  # should the next one fail as well, it is the recipient
            return wait
        granted = min(at_least, self._rule.longest_wait)
        state.failures += 1
        if not is_blocked and state.failures < FAILURES_BEFORE_PAUSE:
            return wait
        usual = _doubled(self._rule.first_wait, state.failures - 1, self._rule.longest_pause)
        pause = max(usual, granted)
        state.works, state.paused_until = False, self._elapsed() + pause
        return pause if is_blocked else max(wait, pause)


def _doubled(first: timedelta, times: int, longest: timedelta) -> timedelta:
    return min(first * (1 << min(times, _MOST_DOUBLINGS)), longest)
