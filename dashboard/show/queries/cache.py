"""Answers shared by all open pages, so that many viewers cost the store no more than one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Generic, TypeVar

from dashboard.domain.clock import Clock

T = TypeVar("T")


@dataclass(slots=True)
class _SharedAnswer(Generic[T]):
    """The answer to one question, once it is there; `lock` is held while it is computed."""

    lock: Lock = field(default_factory=Lock)
    answer: tuple[datetime, T] | None = None


class TtlCache(Generic[T]):
    """Keeps each answer for `lifetime`; callers that come while it is computed anew get the old.

    They wait where there is none, or one that is twice as old. Nobody waits for an answer of
    another key. An error is not kept: the next caller computes again. Old answers go when
    another key is asked for.
    """

    def __init__(self, lifetime: timedelta, clock: Clock) -> None:
        """Keep nothing yet."""
        self._lifetime = lifetime
        self._clock = clock
        self._lock = Lock()
        self._slots: dict[Hashable, _SharedAnswer[T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the answer kept under `key`, recomputed once it has expired."""
        slot = self._slots.get(key) or self._new_slot(key)
        kept = self._kept(slot, 1)
        if kept is not None:
            return kept[1]
        old = self._kept(slot, 2)
        if not slot.lock.acquire(blocking=old is None) and old is not None:
            return old[1]
        try:
            kept = self._kept(slot, 1)
            if kept is None:
                slot.answer = kept = (self._clock(), compute())
            return kept[1]
        finally:
            slot.lock.release()

    def clear(self) -> None:
        """Drop everything, after a page changed what is stored."""
        with self._lock:
            self._slots.clear()

    def _new_slot(self, key: Hashable) -> _SharedAnswer[T]:
        """Drop what is old or never came; return the slot that is left for a key, or a new."""
        with self._lock:
            self._slots = {
                each: slot
                for each, slot in self._slots.items()
                if slot.lock.locked() or self._kept(slot, 2) is not None
            }
            return self._slots.setdefault(key, _SharedAnswer())

    def _kept(self, slot: _SharedAnswer[T], lifetimes: int) -> tuple[datetime, T] | None:
        """Return its answer, unless that is older than so many lifetimes."""
        answer = slot.answer
        if answer is None or timedelta() <= self._clock() - answer[0] < lifetimes * self._lifetime:
            return answer
        return None
