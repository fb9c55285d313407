"""Counts the calls to a network, and what became of questions, until they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TypeAlias

from dashboard.domain.health.observation import AnswerCounts, Operation, Spent

Note: TypeAlias = Callable[[str, int], None]
"""Takes an operation and how many calls of it go out: each question of a batch is one."""


def note_nothing(_operation: str, _calls: int) -> None:
    """Count no calls."""


@dataclass(frozen=True, slots=True)
class Metered:
    """What was `spent` by operation, and what became of the questions that polls asked."""

    spent: dict[str, Spent] = field(default_factory=dict)
    answers: dict[Operation, AnswerCounts] = field(default_factory=dict)


class Meter:
    """The calls and answers of one network that are not stored yet; used by many threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = Lock()
        self._held = Metered()

    def note_at(self, credits_per_call: int) -> Note:
        """Return a counter of calls that cost so much each."""
        return partial(self._note, credits_per_call)

    def note_answers(self, operation: Operation, counts: AnswerCounts) -> None:
        """Count what became of a question."""
        with self._lock:
            held = self._held.answers
            held[operation] = held.get(operation, AnswerCounts()) + counts

    @contextmanager
    def handed_over(self) -> Iterator[Metered]:
        """Yield what was counted; it is counted again if the block fails."""
        with self._lock:
            taken, self._held = self._held, Metered()
        try:
            yield taken
        except BaseException:
            for operation, spent in taken.spent.items():
                self._add(operation, spent)
            for question, counts in taken.answers.items():
                self.note_answers(question, counts)
            raise

    def _note(self, credits_per_call: int, operation: str, calls: int) -> None:
        self._add(operation, Spent(calls, calls * credits_per_call))

    def _add(self, operation: str, spent: Spent) -> None:
        with self._lock:
            held = self._held.spent
            held[operation] = held.get(operation, Spent()) + spent
