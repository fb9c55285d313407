"""Counts the calls to a network until they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import TypeAlias

from dashboard.domain.credit import Spent

Note: TypeAlias = Callable[[str, int], None]
"""Takes an operation and how many calls of it go out: each question of a batch is one."""


def note_nothing(_operation: str, _calls: int) -> None:
    """Count no calls."""


class Meter:
    """The calls of one network that are not stored yet; used by many threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = Lock()
        self._spent: dict[str, Spent] = {}

    def note_at(self, credits_per_call: int) -> Note:
        """Return a counter of calls that cost so much each."""
        return partial(self._note, credits_per_call)

    @contextmanager
    def handed_over(self) -> Iterator[Mapping[str, Spent]]:
        """Yield what was spent by operation; it is counted again if the block fails."""
        with self._lock:
            taken, self._spent = self._spent, {}
        try:
            yield taken
        except BaseException:
            for operation, spent in taken.items():
                self._add(operation, spent)
            raise

    def _note(self, credits_per_call: int, operation: str, calls: int) -> None:
        self._add(operation, Spent(calls, calls * credits_per_call))

    def _add(self, operation: str, spent: Spent) -> None:
        with self._lock:
            self._spent[operation] = self._spent.get(operation, Spent()) + spent
