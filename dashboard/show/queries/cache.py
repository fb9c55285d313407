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
    """Keeps each answer for `lifetime`; callers that come while it is computed wait for it.

    Nobody waits for an answer of another key. An error is not kept: the next caller computes
    again. Expired answers go when another is computed.
    """

    def __init__(self, lifetime: timedelta, clock: Clock) -> None:
        """Keep nothing yet."""
        self._lifetime = lifetime
        self._clock = clock
        self._lock = Lock()
        self._slots: dict[Hashable, _SharedAnswer[T]] = {}

    def get(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the answer kept under `key`, recomputed once it has expired."""
        slot = self._slots.get(key)
        if slot is None or not self._is_fresh(slot):
            slot = self._new_slot(key)
        with slot.lock:
            if slot.answer is None:
                slot.answer = (self._clock(), compute())
            return slot.answer[1]

    def clear(self) -> None:
        """Drop everything, after a page changed what is stored."""
        with self._lock:
            self._slots.clear()

    def _new_slot(self, key: Hashable) -> _SharedAnswer[T]:
        """Drop what has expired or never came; return the slot that is left for a key, or a new."""
        with self._lock:
            self._slots = {
                each: slot
                for each, slot in self._slots.items()
                if slot.lock.locked() or (slot.answer is not None and self._is_fresh(slot))
            }
            return self._slots.setdefault(key, _SharedAnswer())

    def _is_fresh(self, slot: _SharedAnswer[T]) -> bool:
        """Whether its answer may be given, which one that is still computed may."""
        answer = slot.answer
        return answer is None or timedelta() <= self._clock() - answer[0] < self._lifetime
