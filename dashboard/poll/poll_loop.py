"""The loop of the exclusion and inclusion polls: ask about what is due, record the answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import ClassVar, Final, Generic, Protocol, TypeVar

from anyio.to_thread import run_sync
from msgspec import Struct

from dashboard.domain.health.observation import (
    AnswerCounts,
    Failure,
    Operation,
    longest_retry_after,
    not_null,
    times_of,
)
from dashboard.logs import get_logger
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.store.monitoring.answer_counts import note_unasked

_log = get_logger("poll")

_LONGEST_TICK: Final = timedelta(seconds=10)
"""A slow upstream is asked about as many hashes in one tick as it answers in this time: rejections
are recorded, and new hashes asked about, only after a tick."""

_FIRST_TICK: Final = 500
"""The most hashes of the first tick, when nobody knows yet how fast the upstream is."""

_SMALLEST_TICK: Final = 10


class Answer(Protocol):
    """What upstream said of one hash, or why it said nothing."""

    @property
    def failure(self) -> Failure | None: ...


DueT = TypeVar("DueT")
QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT", bound=Answer)
RecordedT = TypeVar("RecordedT")


class Schedule(Protocol[DueT]):
    """What is to be asked, by the elapsed time at which it is due."""

    def __len__(self) -> int: ...

    def take_due(self, now: timedelta, limit: int, /) -> list[DueT]:
        """Take what is due off the schedule, the most overdue first, about `limit` hashes."""

    def put_back(self, due: Iterable[DueT], at: timedelta, /) -> None:
        """Schedule it again for that time."""


class PollRules(Struct, frozen=True):
    """How much one tick of a poll asks at most, and how long it pauses after a failure.

    The pause is the circuit breaker of the endpoint. An upstream that answered nothing is not asked
    for `shortest_pause`, and twice as long each time, up to `longest_pause` (open). Then one
    request tries it before more follow (half-open); the first answer ends the pause (healed). What
    could not be recorded is asked again after `retry`.
    """

    largest_tick: int
    shortest_pause: timedelta
    longest_pause: timedelta
    retry: timedelta


class PollLoop(ABC, Generic[DueT, QuestionT, AnswerT, RecordedT]):
    """One poll of one network during one term of the lease; subclasses say what it asks.

    The schedule is in memory and begins with what the store has, so a restart asks again what is
    due and notifies nobody twice. `load`, `questions` and `record` use the store, so they block.
    """

    name: ClassVar[str]
    operation: ClassVar[Operation]
    rules: ClassVar[PollRules]

    def __init__(self, store: NetworkStore, schedule: Schedule[DueT], clocks: Clocks) -> None:
        self.store = store
        self.clocks = clocks
        self._due = schedule
        self._largest_tick = min(_FIRST_TICK, self.rules.largest_tick)
        self._has_outage = True  # perhaps: an earlier term may have left one
        self._pause = timedelta()
        self._paused_until = timedelta()

    async def tick(self) -> None:
        """Schedule what was tracked since the last tick, and ask about what is due.

        Raises StoreError or LeaseLost; what could not be recorded is asked again.
        """
        await run_sync(self.load)
        if self._has_outage and not self._due:
            await run_sync(self.end_unasked_outage)
            self._has_outage = False
        started = self.clocks.elapsed()
        if started < self._paused_until and not await run_sync(self.is_answered):
            return
        due = self._due.take_due(started, self._largest_tick)
        if not due:
            return
        try:
            recorded = await self._ask_and_record(due)
        except BaseException:
            self._due.put_back(due, started + self.rules.retry)
            raise
        if recorded is not None:
            self.reschedule(due, recorded, self.clocks.elapsed())

    async def _ask_and_record(self, due: Sequence[DueT]) -> RecordedT | None:
        """Return what was recorded, None if nothing of what is due is still tracked."""
        questions = await run_sync(self.questions, due)
        if not questions:
            return None
        asked_at, began = self.clocks.now(), self.clocks.elapsed()
        answers = await self.ask(questions)
        failures = [each.failure for each in not_null(answers) if each.failure is not None]
        is_outage, took = len(failures) == len(answers), self.clocks.elapsed() - began
        self._note_answers(len(answers), len(failures), took)
        if not is_outage:
            fitting = len(answers) * _LONGEST_TICK // max(took, timedelta.resolution)
            self._largest_tick = min(max(fitting, _SMALLEST_TICK), self.rules.largest_tick)
        recorded = await run_sync(partial(self.record, asked_at, questions, answers))
        if failures:
            self._log_failures(len(answers), failures)
        self._has_outage = is_outage
        self._pause_after(failures, is_outage=is_outage)
        return recorded

    def _note_answers(self, asked: int, failed: int, took: timedelta) -> None:
        """Count the results of the questions, and how long all of them took together."""
        answered = asked - failed
        times = times_of(took) if answered else AnswerCounts().times
        self.store.meter.note_answers(self.operation, AnswerCounts(answered, 0, failed, times))

    def _pause_after(self, failures: Sequence[Failure], *, is_outage: bool) -> None:
        """Pause after an upstream answered nothing, or asked for a pause."""
        rules = self.rules
        pause = min(max(self._pause * 2, rules.shortest_pause), rules.longest_pause)
        self._pause = pause if is_outage else timedelta()
        self._paused_until = self.clocks.elapsed() + max(self._pause, longest_retry_after(failures))

    def is_answered(self) -> bool:
        """Whether the failed upstream has answered somebody else since: then the pause ends."""
        return False

    def _log_failures(self, asked: int, failures: Sequence[Failure]) -> None:
        _log.warning(
            "questions failed",
            poll=self.name,
            network_id=self.store.network_id,
            asked=asked,
            unanswered=len(failures),
            why=failures[0].message,
        )

    def end_unasked_outage(self) -> None:
        """Forget that questions failed, since nothing is asked any more that could be answered."""
        with self.store.write(self.clocks.now()) as connection:
            note_unasked(connection, self.store.network_id, self.operation)

    @abstractmethod
    def load(self) -> None:
        """Schedule what was tracked since the last call, and at first everything."""

    @abstractmethod
    def questions(self, due: Sequence[DueT]) -> Sequence[QuestionT]:
        """Return what to ask; nothing if it is no longer tracked."""

    @abstractmethod
    async def ask(self, questions: Sequence[QuestionT]) -> Sequence[AnswerT]:
        """Return one answer for each hash that is asked about; a failure is part of it.

        If all of them are failures, the API has an outage.
        """

    @abstractmethod
    def record(
        self, asked_at: datetime, questions: Sequence[QuestionT], answers: Sequence[AnswerT]
    ) -> RecordedT:
        """Record the answers; raises StoreError or LeaseLost unless it records all of them."""

    @abstractmethod
    def reschedule(self, due: Sequence[DueT], recorded: RecordedT, now: timedelta) -> None:
        """Schedule the next question about each, if there is one."""
