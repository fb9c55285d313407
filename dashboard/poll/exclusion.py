"""The exclusion poll: ask one network whether the tracked transactions that are due were rejected.

From the answer to the mail: `record` saves the answers and each rejection with its transition, the
transition stands in the outbox, and `alert` turns it into notifications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import heappop, heappush
from typing import Final, Protocol
from uuid import UUID

from dashboard.detect.conditions import conclude_rejection
from dashboard.domain.alerts.condition import Subject
from dashboard.domain.health.observation import ExclusionAnswer, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.cadence import (
    SELDOM,
    SOONEST,
    CadencePolicy,
    next_check,
    next_try,
)
from dashboard.poll.conditions import Conditions
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.poll.poll_loop import PollLoop, PollRules
from dashboard.store.alerts.conditions import current_state, record_transition
from dashboard.store.engine.batching import let_others_write, portions
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.record_answers import cohorts_among, record_poll, save_record
from dashboard.store.monitoring.answer_counts import read_standing_failures
from dashboard.store.rejections.limits_end import known_end
from dashboard.store.tracking.cohorts import (
    Cohort,
    PollResult,
    mark_rejected,
    read_cohorts,
    watched_after,
)

_UNIT: Final = timedelta(milliseconds=1)
_TIME_BITS: Final = 48
_ID_BITS: Final = 48
_SIZE_BITS: Final = 16
_AFTER_LIMITS: Final = 1 << (_SIZE_BITS - 1)
"""A flag above the size, which is at most `LARGEST_COHORT`."""

_AGES_AGO: Final = 1 << (_TIME_BITS - 1)
"""Added to a time, which may lie before this process began, so that it is never negative."""


@dataclass(frozen=True, slots=True)
class ScheduledCohort:
    """A cohort of at most `size` hashes; `born` is when its age began, in elapsed time.

    `is_after_limits`: that was after line limits ended.
    """

    cohort_id: int
    born: timedelta
    size: int
    is_after_limits: bool = False


class ExclusionQueue:
    """A heap of cohorts by due time, all in elapsed time, to the millisecond.

    What was born after line limits ended is asked about by `after_limits`; without that, never.
    """

    def __init__(self, policy: CadencePolicy, after_limits: CadencePolicy | None = SELDOM) -> None:
        """Begin with nothing to ask."""
        self._policy = policy
        self._after_limits = after_limits
        self._heap: list[int] = []

    def __len__(self) -> int:
        return len(self._heap)

    def reschedule(
        self, cohort: ScheduledCohort, last: PollResult, asked: timedelta, now: timedelta
    ) -> None:
        """Schedule the next question after one that was asked then; none after the last one.

        One that should have been asked before `now`, while this process was down, is due at once.
        """
        policy = self._after_limits if cohort.is_after_limits else self._policy
        if policy is None:
            return
        asked = min(asked, now)  # stored by a clock that was ahead
        age = asked - cohort.born
        if last.is_answered:
            wait = next_check(age, policy, is_rejected=last.is_rejected)
        else:
            wait = next_try(age, policy)
        if wait is not None:
            self.put(cohort, max(asked + wait, now))

    def take_due(self, now: timedelta, limit: int) -> list[ScheduledCohort]:
        """Take what is due off the schedule, the most overdue first, until `limit` hashes."""
        taken: list[ScheduledCohort] = []
        end = _packed(now + _UNIT, 0)
        while self._heap and self._heap[0] < end and limit > 0:
            taken.append(_unpacked(heappop(self._heap)))
            limit -= taken[-1].size
        return taken

    def put_back(self, due: Iterable[ScheduledCohort], at: timedelta) -> None:
        """Schedule cohorts again, as they were, for that time."""
        for each in due:
            self.put(each, at)

    def put(self, cohort: ScheduledCohort, due: timedelta) -> None:
        """Schedule a cohort for that time, unless it is never asked about."""
        if cohort.is_after_limits and self._after_limits is None:
            return
        size = cohort.size | _AFTER_LIMITS * cohort.is_after_limits
        about = cohort.cohort_id << _SIZE_BITS | size
        heappush(self._heap, _packed(due, about << _TIME_BITS | _number(cohort.born)))

    def clear(self) -> None:
        """Forget everything."""
        self._heap.clear()


def _number(time: timedelta) -> int:
    return time // _UNIT + _AGES_AGO


def _packed(due: timedelta, about: int) -> int:
    return _number(due) << (_ID_BITS + _SIZE_BITS + _TIME_BITS) | about


def _unpacked(entry: int) -> ScheduledCohort:
    born = (entry & ((1 << _TIME_BITS) - 1)) - _AGES_AGO
    about = entry >> _TIME_BITS
    size = about & ((1 << _SIZE_BITS) - 1)
    cohort_id = about >> _SIZE_BITS & ((1 << _ID_BITS) - 1)
    is_after_limits = bool(size & _AFTER_LIMITS)
    return ScheduledCohort(cohort_id, born * _UNIT, size % _AFTER_LIMITS, is_after_limits)


_RULES: Final = PollRules(
    largest_tick=5000,
    shortest_pause=timedelta(seconds=1),
    longest_pause=timedelta(seconds=15),
    retry=timedelta(seconds=1),
)

_SAVED_AT_ONCE: Final = 20
"""Rejections of one transaction of a tenth of a second."""


class ExclusionAsker(Protocol):
    """Answers for many hashes at once, in order; trouble is a failure in the answer."""

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]: ...


class ExclusionPoll(PollLoop[ScheduledCohort, Cohort, ExclusionAnswer, dict[int, PollResult]]):
    """Asks about whole cohorts; `new_id` gives ids that nothing else has."""

    name = "exclusion"
    operation = Operation.EXCLUSION_STATUS
    rules = _RULES

    def __init__(
        self,
        asker: ExclusionAsker,
        store: NetworkStore,
        schedule: ExclusionQueue,
        clocks: Clocks,
        conditions: Conditions,
        new_id: Callable[[], UUID],
    ) -> None:
        """Read and ask nothing yet."""
        super().__init__(store, schedule, clocks)
        self._asker = asker
        self._schedule = schedule
        self._conditions = conditions
        self._new_id = new_id
        self._last_cohort_id = 0
        self._limits_ended_at: datetime | None = None
        self._has_outage = False

    def load(self) -> None:
        """Schedule new cohorts: of newly tracked hashes, and those split off since.

        All of them once more where the time became known of the block that ends line limits.
        """
        network_id, conditions = self.store.network_id, self._conditions
        with self.store.read() as connection:
            end = known_end(connection, network_id, conditions.limits_end)
            ended_at = None if end is None or end.is_expected else end.at
            if ended_at != self._limits_ended_at:
                self._schedule.clear()
                self._last_cohort_id, self._limits_ended_at = 0, ended_at
            found = watched_after(connection, network_id, self._last_cohort_id)
        now = self.clocks.elapsed()
        for each in found:
            cohort = ScheduledCohort(
                each.cohort_id,
                self.clocks.elapsed_at(each.born_at),
                each.size,
                ended_at is not None and each.born_at >= ended_at,
            )
            if each.last_asked_at is None:
                soonest = cohort.born + SOONEST if each.is_attempt_known else now
                self._schedule.put(cohort, max(soonest, now))
            else:
                asked = self.clocks.elapsed_at(each.last_asked_at)
                self._schedule.reschedule(cohort, each.last_result, asked, now)
            self._last_cohort_id = each.cohort_id

    def questions(self, due: Sequence[ScheduledCohort]) -> list[Cohort]:
        """Read the hashes of cohorts; one that has none any more is left out."""
        with self.store.read() as connection:
            ids = [each.cohort_id for each in due]
            return read_cohorts(connection, self.store.network_id, ids)

    def is_answered(self) -> bool:
        """Whether a look-up was answered since the last poll failed as a whole."""
        if not self._has_outage:
            return False
        with self.store.read() as connection:
            failures = read_standing_failures(connection, self.store.network_id)
        return all(each.operation is not self.operation for each in failures)

    async def ask(self, questions: Sequence[Cohort]) -> list[ExclusionAnswer]:
        """Ask about all their hashes at once."""
        return await self._asker.ask([each for cohort in questions for each in cohort.hashes])

    def record(
        self, asked_at: datetime, questions: Sequence[Cohort], answers: Sequence[ExclusionAnswer]
    ) -> dict[int, PollResult]:
        """Write down each result and each rejection; return the result of each cohort.

        Hashes with another result than most of their cohort are in a new one afterwards. Results
        come last: until then all of it would be asked again.
        """
        network_id = self.store.network_id
        *before, last = rejected_in_steps(answers)
        for some in before:
            with self.store.write(asked_at) as connection:
                self._save(connection, some, asked_at)
            let_others_write()
        with self.store.write(asked_at) as connection:
            if before:  # their cohorts were split
                hashes = [each for cohort in questions for each in cohort.hashes]
                questions = cohorts_among(connection, network_id, hashes)
            results = record_poll(connection, network_id, asked_at, questions, answers)
            self._conditions.update_exclusion_outage(connection, asked_at)
            self._save(connection, last, asked_at)
        self._has_outage = all(each.failure is not None for each in answers)
        return results

    def reschedule(
        self, due: Sequence[ScheduledCohort], recorded: dict[int, PollResult], now: timedelta
    ) -> None:
        """Schedule cohorts by their results; one that is not tracked any more is dropped."""
        for each in due:
            if each.cohort_id in recorded:
                self._schedule.reschedule(each, recorded[each.cohort_id], now, now)

    def _save(
        self, connection: Connection, rejected: Sequence[ExclusionAnswer], at: datetime
    ) -> None:
        network_id = self.store.network_id
        # All hashes together, so that each cohort is split once and not for each rejection.
        mark_rejected(connection, network_id, [each.tx_hash for each in rejected])
        for each in rejected:
            save_rejection(connection, network_id, each, at, self._new_id())


def rejected_in_steps(answers: Sequence[ExclusionAnswer]) -> list[Sequence[ExclusionAnswer]]:
    """Return the answers with a record, in portions to save each in one transaction; at least one.

    A rejection takes 5 ms, and thousands may come at once: others write between two portions.
    """
    rejected = [each for each in answers if each.record is not None]
    return list(portions(rejected, _SAVED_AT_ONCE)) or [()]


def save_rejection(
    connection: Connection,
    network_id: NetworkId,
    answer: ExclusionAnswer,
    at: datetime,
    new_id: UUID,
) -> None:
    """Save the record of a tracked hash, if the answer holds one, and the transition it causes.

    The transition is in the outbox from the moment the transaction is on disk, once for each
    change, whichever poll, look-up or report saw it first.
    """
    if answer.record is None:
        return
    subject = Subject.transaction(network_id, answer.tx_hash)
    rejection_id = save_record(connection, network_id, answer.record, at)
    before = current_state(connection, subject)
    transition = conclude_rejection(subject, before, answer, at, new_id)
    if transition is not None:
        record_transition(connection, transition, rejection_id)
