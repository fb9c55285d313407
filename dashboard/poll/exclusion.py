"""The exclusion poll: ask one network whether the tracked transactions that are due were rejected.

From the answer to the mail: `record` saves the answers and each rejection with its transition, the
transition is in the outbox, and `alert` turns it into notifications.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from anyio.to_thread import run_sync
from msgspec.structs import replace

from dashboard.domain.health.observation import (
    OF_ONE_HASH,
    ExclusionAnswer,
    Operation,
    not_null,
)
from dashboard.domain.quantity import NetworkId, TxHash, TxHashes
from dashboard.domain.rejections.exclusion import QUERYABLE_WINDOW, RejectedTransaction
from dashboard.domain.tracking.cadence import SOONEST
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.poll.meetings import ScheduledCohort, gathered, one_group
from dashboard.poll.network_conditions import Conditions
from dashboard.poll.poll_loop import PollLoop, PollRules
from dashboard.poll.stretching import Stretching
from dashboard.store.alerts.conditions import record_rejection
from dashboard.store.engine.batching import let_others_write, portions
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.record_answers import (
    cohorts_among,
    leave_changed,
    record_inclusions,
    record_lookup,
    record_poll,
)
from dashboard.store.monitoring.answer_counts import read_standing_failures
from dashboard.store.rejections.archive import rejected_since, senders_of
from dashboard.store.rejections.limits_end import known_end
from dashboard.store.rejections.save import save_version
from dashboard.store.tracking.cohorts import (
    Cohort,
    KnownHashes,
    PollResult,
    WatchedCohort,
    mark_rejected,
    read_cohorts,
    renew,
    still_watched,
    watched_after,
)
from dashboard.store.tracking.poll_groups import join_groups, read_groups, record_nulls
from dashboard.store.tracking.poll_results import answered_hash
from dashboard.upstream.budget import NetworkBudgets

_RULES: Final = PollRules(
    largest_tick=5000,
    shortest_pause=timedelta(seconds=1),
    longest_pause=timedelta(seconds=15),
    retry=timedelta(seconds=1),
)

_NULL: Final = PollResult(None, is_rejected=False)
_SAVED_AT_ONCE: Final = 20
"""How many rejections one transaction saves, in a tenth of a second."""


class ExclusionAsker(Protocol):
    """Answers for many hashes at once, in order; a failure is part of the answer."""

    async def ask(self, hashes: Sequence[TxHash]) -> Sequence[ExclusionAnswer]: ...


class Question(NamedTuple):
    """A cohort on the schedule, or a group that is asked as one, with its hashes."""

    scheduled: ScheduledCohort
    cohort: Cohort


class Recorded(NamedTuple):
    """What to schedule again, with its result, and what left its group."""

    results: Sequence[tuple[ScheduledCohort, PollResult]]
    left: Sequence[WatchedCohort]


class ExclusionPoll(PollLoop[ScheduledCohort, Question, ExclusionAnswer, Recorded]):
    """Asks about whole cohorts and groups; `new_id` returns ids that are used nowhere else."""

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
        budgets: NetworkBudgets | None = None,
    ) -> None:
        super().__init__(store, schedule, clocks)
        who = store.network_id, self.name
        self._stretching = None if budgets is None else Stretching(budgets, who, schedule)
        self._asker = asker
        self._schedule = schedule
        self._conditions = conditions
        self._new_id = new_id
        self._known_cohorts, self._known_groups = KnownHashes(), KnownHashes()
        self._last_cohort_id = 0
        self._limits_ended_at: datetime | None = None

    def load(self) -> None:
        """Schedule new cohorts: of newly tracked hashes, and those split off since.

        All are scheduled again when the time of the block becomes known that ends line limits.
        """
        network_id, conditions = self.store.network_id, self._conditions
        with self.store.read() as connection:
            end = known_end(connection, network_id, conditions.limits_end)
            ended_at = None if end is None or end.is_expected else end.at
            if ended_at != self._limits_ended_at:
                self._schedule.clear()
                self._last_cohort_id, self._limits_ended_at = 0, ended_at
            found = watched_after(connection, network_id, self._last_cohort_id)
        self._put(found)
        self._last_cohort_id = max((each.cohort_id for each in found), default=self._last_cohort_id)
        if self._stretching is not None and self._stretching.judge(self.clocks.elapsed()):
            self._schedule.clear()
            self._last_cohort_id = 0
            self.load()  # an empty schedule would mean that nothing is tracked

    def _put(self, found: Iterable[WatchedCohort]) -> None:
        """Schedule cohorts as stored, those of a group as one."""
        now, elapsed_at = self.clocks.elapsed(), self.clocks.elapsed_at
        groups: defaultdict[int, list[WatchedCohort]] = defaultdict(list)
        for each in found:
            if each.renewed_at is not None:
                renewed_at = self.clocks.elapsed_since(each.renewed_at)
                self._schedule.renew(each.cohort_id, renewed_at, now)
            if each.group_id is not None:
                groups[each.group_id].append(each)
            elif each.last_asked_at is None:
                cohort = self._scheduled(each)
                soonest = cohort.born + SOONEST if each.is_attempt_known else now
                self._schedule.put(cohort, max(soonest, now))
            else:
                asked = elapsed_at(each.last_asked_at)
                self._schedule.reschedule(self._scheduled(each), each.last_result, asked, now)
        for group_id, members in groups.items():
            group = one_group(group_id, [self._scheduled(each) for each in members])
            asked = min(elapsed_at(each.last_asked_at) for each in members if each.last_asked_at)
            self._schedule.reschedule(group, _NULL, asked, now)

    def _scheduled(self, found: WatchedCohort) -> ScheduledCohort:
        ended_at = self._limits_ended_at
        is_after_limits = ended_at is not None and found.born_at >= ended_at
        born = self.clocks.elapsed_since(found.born_at)
        return ScheduledCohort(found.cohort_id, born, found.size, is_after_limits)

    def questions(self, due: Sequence[ScheduledCohort]) -> list[Question]:
        """Read the hashes of cohorts and groups; one without any is left out."""
        network_id = self.store.network_id
        read = (read_cohorts, self._known_cohorts), (read_groups, self._known_groups)
        found: list[Question] = []
        with self.store.read() as connection:
            for is_group, (read_all, known) in enumerate(read):
                some = {each.cohort_id: each for each in due if each.is_group == is_group}
                cohorts = read_all(connection, network_id, list(some), known)
                found += (Question(some[each.cohort_id], each) for each in cohorts)
        return found

    def end_unasked_outage(self) -> None:
        """End the outage, and say why: nothing is tracked that would show whether it goes on."""
        now = self.clocks.now()
        with self.store.write(now) as connection:
            self._conditions.end_unasked_outage(connection, now)

    def is_answered(self) -> bool:
        """Whether a look-up was answered since the last poll failed as a whole."""
        if not self._has_outage:
            return False
        with self.store.read() as connection:
            failures = read_standing_failures(connection, self.store.network_id)
        return all(each.operation is not self.operation for each in failures)

    async def ask(self, questions: Sequence[Question]) -> Sequence[ExclusionAnswer]:
        """Ask about all their hashes at once.

        If none is answered, ask about one that was answered recently: hashes for which the API
        always fails are not an outage.
        """
        hashes = _hashes(questions)
        answers = await self._asker.ask(hashes)
        failures = [each.failure for each in not_null(answers) if each.failure is not None]
        if len(failures) < len(hashes) or OF_ONE_HASH.isdisjoint(each.kind for each in failures):
            return answers
        answered = await run_sync(self._answered_hash)
        beside = [] if answered is None or answered in hashes else await self._asker.ask([answered])
        return [*answers, *(each for each in beside if each.failure is None)]

    def _answered_hash(self) -> TxHash | None:
        with self.store.read() as connection:
            return answered_hash(connection, self.store.network_id)

    def record(
        self, asked_at: datetime, questions: Sequence[Question], answers: Sequence[ExclusionAnswer]
    ) -> Recorded:
        """Record each result and each rejection; return what is to be scheduled again.

        Hashes with another result than most of their cohort are in a new one afterwards. Results
        come last: until then all of it would be asked again.
        """
        network_id = self.store.network_id
        save, write = partial(self._save, at=asked_at), partial(self.store.write, asked_at)
        last, are_split = save_in_steps(answers, save, write)
        with write() as connection:
            alone = [each for each in questions if not each.scheduled.is_group]
            cohorts = [each.cohort for each in alone]
            if are_split:
                cohorts = cohorts_among(connection, network_id, _hashes(alone))
            groups = [each.cohort for each in questions if each.scheduled.is_group]
            leaving = leave_changed(connection, network_id, groups, answers)
            polled = [*cohorts, *leaving]
            results = record_poll(connection, network_id, asked_at, polled, answers)
            count = sum(len(each.cohort.hashes) for each in questions)
            if len(answers) > count:  # of one that was not due
                record_lookup(connection, network_id, asked_at, answers[count:], is_polled=False)
            recorded = self._regroup(connection, asked_at, questions, leaving, results)
            self._conditions.update_exclusion_outage(connection, asked_at)
            save(connection, last)
        return recorded

    def _regroup(
        self,
        connection: Connection,
        asked_at: datetime,
        questions: Sequence[Question],
        leaving: Sequence[Cohort],
        results: Mapping[int, PollResult],
    ) -> Recorded:
        """Put cohorts that were answered null into groups, each with one row that says so."""
        network_id, again, now = self.store.network_id, [], self.clocks.elapsed()
        left = {tx_hash for cohort in leaving for tx_hash in cohort.hashes}
        nulls: list[ScheduledCohort] = []
        for scheduled, cohort in questions:
            result = results.get(scheduled.cohort_id)
            if scheduled.is_group:
                size = len(cohort.hashes)
                size -= len(left.intersection(cohort.hashes)) if left else 0
                nulls += [replace(scheduled, size=size)] if size else []
            elif result == _NULL and self._schedule.renewed_at(scheduled, now) is None:
                nulls.append(scheduled)
            elif result is not None:
                again.append((scheduled, result))
        for some in gathered(nulls, now, self._schedule.epoch):
            together = some[0]
            if len(some) > 1:
                groups = [each.cohort_id for each in some if each.is_group]
                cohorts = [each.cohort_id for each in some if not each.is_group]
                group_id = join_groups(connection, network_id, asked_at, groups, cohorts)
                self._known_groups.forget(group_id)
                together = one_group(group_id, some)
            again.append((together, _NULL))
        record_nulls(connection, asked_at, [each.cohort_id for each, _ in again if each.is_group])
        alone = [
            each.cohort_id
            for each in leaving
            if each.is_whole and each.cohort_id <= self._last_cohort_id
        ]
        return Recorded(again, still_watched(connection, network_id, alone))

    def reschedule(
        self,
        due: Sequence[ScheduledCohort],  # noqa: ARG002 - what of it is left is in `recorded`
        recorded: Recorded,
        now: timedelta,
    ) -> None:
        """Schedule what was asked by its result; what is no longer tracked is dropped."""
        for each, result in recorded.results:
            self._schedule.reschedule(each, result, now, now)
        self._put(recorded.left)

    def _save(
        self, connection: Connection, rejected: Sequence[RejectedTransaction], at: datetime
    ) -> None:
        if not rejected:
            return
        network_id = self.store.network_id
        news = save_rejections(connection, network_id, rejected, at, self._new_id)
        hashes = [each.tx_hash for each in news]
        record_inclusions(connection, network_id, hashes, at, self._new_id)
        for sender in senders_of(connection, network_id, hashes):
            since = at - QUERYABLE_WINDOW
            renew(connection, rejected_since(connection, network_id, sender, since), at)


def _hashes(questions: Iterable[Question]) -> TxHashes:
    return TxHashes.of(each.cohort.hashes for each in questions)


def save_in_steps(
    answers: Sequence[ExclusionAnswer],
    save: Callable[[Connection, Sequence[RejectedTransaction]], None],
    write: Callable[[], AbstractContextManager[Connection]],
) -> tuple[Sequence[RejectedTransaction], bool]:
    """Save all records among answers except the last few; return these, and if others were saved.

    The last are for the transaction that writes the results. A rejection takes 5 ms, and thousands
    may come at once: others write between two portions.
    """
    rejected = [each.record for each in not_null(answers) if each.record is not None]
    *before, last = list(portions(rejected, _SAVED_AT_ONCE)) or [()]
    for some in before:
        with write() as connection:
            save(connection, some)
        let_others_write()
    return last, bool(before)


def save_rejections(
    connection: Connection,
    network_id: NetworkId,
    rejected: Sequence[RejectedTransaction],
    at: datetime,
    new_id: Callable[[], UUID],
) -> list[RejectedTransaction]:
    """Save the records of tracked hashes, and the transition that each causes; return the news.

    A record that is answered again is not news. A transition is in the outbox from the moment the
    transaction is on disk, once for each change, whichever poll, look-up or report saw it first.
    Hashes are marked together, so that a cohort is split once and not for each.
    """
    mark_rejected(connection, network_id, [each.tx_hash for each in rejected])
    news = []
    for each in rejected:
        rejection_id = save_version(connection, network_id, each, at)
        if record_rejection(connection, rejection_id, network_id, each.tx_hash, at, new_id()):
            news.append(each)
    return news
