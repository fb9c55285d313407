"""When a letter, or an address, is tried again after trouble, and when a letter is given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID

from dashboard.domain.notification import Notification, Recipient

Elapsed: TypeAlias = Callable[[], timedelta]
"""Tells a time that never jumps: that since the machine's boot."""

IN_A_ROW: Final = 3
"""Letters deferred one after another, after which it is the server and no more the letters."""

_MOST_DOUBLINGS: Final = 16


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Waits double from `first_wait`, up to `longest_wait` for a letter that is itself the cause.

    An address where nothing can be handed over is tried with one letter, at least every
    `longest_pause`. A notification is given up when it is older than `patience`, but never before
    `fewest_attempts` of its own: neither a clock that jumps ahead by a week nor a server that is
    silent for as long may end what was hardly tried.
    """

    first_wait: timedelta = timedelta(seconds=15)
    longest_wait: timedelta = timedelta(hours=1)
    longest_pause: timedelta = timedelta(minutes=1)
    patience: timedelta = timedelta(days=7)
    fewest_attempts: int = 60


def is_over(notification: Notification, now: datetime, rule: RetryRule) -> bool:
    """Whether a notification is given up after the attempt that just failed."""
    was_tried_enough = notification.attempts + 1 >= rule.fewest_attempts
    return was_tried_enough and now - notification.created_at >= rule.patience


class _Rest(NamedTuple):
    """How long a letter waits; `is_own` where the letter itself is the cause."""

    until: timedelta
    is_own: bool


@dataclass(slots=True)
class _Address:
    """How an address fares; it `works` from a success on, until nothing can be handed over."""

    works: bool = False
    failures: int = 0
    paused_until: timedelta = timedelta()
    rests: dict[UUID, _Rest] = field(default_factory=dict)


class Waits:
    """What waits after trouble, measured by a time that nobody sets; a restart tries all at once.

    A letter that fails again where others arrive waits by itself and delays no other. Anything
    else is the trouble of its address: that pauses, and once a letter arrives, all others go.
    """

    def __init__(self, rule: RetryRule, elapsed: Elapsed) -> None:
        """Let nothing wait yet."""
        self._rule = rule
        self._elapsed = elapsed
        self._addresses: dict[Recipient, _Address] = {}

    def is_paused(self, recipient: Recipient) -> bool:
        """Whether nothing is to be tried at an address now."""
        address = self._addresses.get(recipient)
        return address is not None and self._elapsed() < address.paused_until

    def resting(self, recipient: Recipient) -> list[UUID]:
        """Return the letters to an address that wait, each by itself."""
        address = self._addresses.get(recipient)
        if address is None:
            return []
        now = self._elapsed()
        address.rests = {each: rest for each, rest in address.rests.items() if now < rest.until}
        return list(address.rests)

    def succeeded(self, notification: Notification) -> None:
        """Take note that an address was served: all that waited for its sake goes at once."""
        address = self._addresses.setdefault(notification.recipient, _Address())
        if not address.works:
            own = {each: rest for each, rest in address.rests.items() if rest.is_own}
            address.rests = own
        address.rests.pop(notification.notification_id, None)
        address.works, address.failures, address.paused_until = True, 0, timedelta()

    def failed(self, notification: Notification, *, is_blocked: bool) -> timedelta:
        """Take note that a letter was deferred; return how long it waits.

        `is_blocked` where another letter to the same address would have fared no better.
        """
        address = self._addresses.setdefault(notification.recipient, _Address())
        wait = _doubled(self._rule.first_wait, notification.attempts, self._rule.longest_wait)
        is_own = address.works and notification.attempts > 0
        if is_own or not is_blocked:
            address.rests[notification.notification_id] = _Rest(self._elapsed() + wait, is_own)
        if is_own:
            address.works = not is_blocked  # should the next one fail as well, it is the address
            return wait
        address.failures += 1
        if not is_blocked and address.failures < IN_A_ROW:
            return wait
        pause = _doubled(self._rule.first_wait, address.failures - 1, self._rule.longest_pause)
        address.works, address.paused_until = False, self._elapsed() + pause
        return pause if is_blocked else max(wait, pause)


def _doubled(first: timedelta, times: int, longest: timedelta) -> timedelta:
    return min(first * (1 << min(times, _MOST_DOUBLINGS)), longest)
