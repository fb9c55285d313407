"""Answers shared by all open pages, so that many viewers cost the store no more than one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from threading import Lock
from typing import Generic, TypeVar

from dashboard.domain.clock import Clock

T = TypeVar("T")


class TtlCache(Generic[T]):
    """Keeps each answer for `lifetime`; callers that come while one is computed wait for it.

    An error is not kept: the next caller computes again. Expired answers go with the next call.
    """

    def __init__(self, lifetime: timedelta, clock: Clock) -> None:
        """Keep nothing yet."""
        self._lifetime = lifetime
        self._clock = clock
        self._lock = Lock()
        self._answers: dict[Hashable, tuple[datetime, T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the answer kept under `key`, recomputed once it has expired."""
        with self._lock:
            now = self._clock()
            self._answers = {
                each: kept
                for each, kept in self._answers.items()
                if timedelta() <= now - kept[0] < self._lifetime
            }
            if key not in self._answers:
                self._answers[key] = (now, compute())
            return self._answers[key][1]

    def clear(self) -> None:
        """Drop everything, after a page changed what is stored."""
        with self._lock:
            self._answers.clear()
