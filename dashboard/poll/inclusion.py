"""The inclusion poll: ask a node for the receipts of tracked transactions until one is settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Final
from uuid import UUID

from anyio.to_thread import run_sync
from msgspec import Struct

from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import TxHash, TxHashes, pack
from dashboard.domain.tracking.cadence import (
    FOLLOW_UP_CADENCE,
    CadencePolicy,
    calls_between,
    next_check,
    next_try,
)
from dashboard.domain.tracking.inclusion import (
    SETTLES_AFTER,
    FollowUp,
    InclusionAnswer,
    InclusionQuestion,
)
from dashboard.errors import StoreError
from dashboard.poll.block_follower import BlockFollower, BlockReader, InclusionAsker
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.poll.poll_loop import PollLoop, PollRules
from dashboard.poll.stretching import Stretching, calls_of_all, stretched
from dashboard.store.engine.batching import portions
from dashboard.store.evidence.record_answers import record_inclusions
from dashboard.store.monitoring.answer_counts import note_answered, note_failure
from dashboard.store.tracking.follow_ups import (
    OpenFollowUp,
    inclusion_questions,
    open_follow_ups,
    record_inclusion_answers,
)
from dashboard.store.tracking.transactions import tracked_among
from dashboard.upstream.budget import NetworkBudgets

_SAME_TIME: Final = timedelta(seconds=1)
"""Hashes whose ages began within this are asked about together."""


class ScheduledHash(Struct, frozen=True):
    """A hash to schedule.

    `born` is when its age began and `asked` when it was last asked about, None for never.
    `is_answered`: that question was, and `settles` is when the end that it found is final, None if
    it found none. All times are elapsed time.
    """

    tx_hash: TxHash
    born: timedelta
    asked: timedelta | None = None
    is_answered: bool = True
    settles: timedelta | None = None


@dataclass(frozen=True, slots=True)
class ScheduledHashes:
    """Hashes of one age, due at one time; `is_settling`: they are then asked about a last time."""

    born: timedelta
    hashes: Sequence[TxHash] = field(repr=False)
    is_settling: bool = False


class ReceiptQueue:
    """A heap of hashes by due time, all in elapsed time.

    At most `largest` hashes are together, so that due hashes can be taken in portions. Intervals
    are `stretch` times as long as the policy says, to keep to a budget.
    """

    def __init__(self, policy: CadencePolicy, largest: int = 1000) -> None:
        self._policy = policy
        self._largest = largest
        self.stretch = 1.0
        self._heap: list[tuple[timedelta, int, ScheduledHashes]] = []
        self._order = count()

    def __len__(self) -> int:
        return sum(len(each.hashes) for _, _, each in self._heap)

    def add(self, hashes: Iterable[ScheduledHash], now: timedelta) -> None:
        """Schedule hashes; those whose last question was answered are left out.

        One that was never asked about is due at once. The others are due when they would have been,
        had this schedule run all along: at once, if that is past.
        """
        groups: defaultdict[tuple[timedelta, timedelta, bool], list[TxHash]] = defaultdict(list)
        for each in hashes:
            due, is_settling = self._due(each, now), each.settles is not None
            if due is not None:
                groups[_whole(max(due, now)), _whole(each.born), is_settling].append(each.tx_hash)
        for (due, born, is_settling), alike in groups.items():
            self._push(due, ScheduledHashes(born, alike, is_settling))

    def take_due(self, now: timedelta, limit: int) -> list[ScheduledHashes]:
        """Take what is due off the schedule, the most overdue first, until `limit` is reached."""
        taken: list[ScheduledHashes] = []
        hashes = 0
        while self._heap and self._heap[0][0] <= now and hashes < limit:
            _, _, due = heappop(self._heap)
            taken.append(due)
            hashes += len(due.hashes)
        return taken

    def put_back(self, due: Iterable[ScheduledHashes], at: timedelta) -> None:
        """Schedule hashes again, unchanged, for that time."""
        for each in due:
            self._push(at, each)

    def reschedule(self, due: ScheduledHashes, now: timedelta, *, is_answered: bool) -> None:
        """Schedule the next question about all the hashes, whether or not the last was answered."""
        wait = self._wait(now - due.born, is_answered=is_answered)
        if wait is not None:
            self._push(now + wait, due)

    def calls_per_second(self, now: timedelta, within: timedelta) -> float:
        """Return the questions of a second, on average, without stretching."""
        calls = calls_of_all(self._heap, lambda each: self._calls(each[-1], now, within))
        return calls / within.total_seconds()

    def _calls(self, due: ScheduledHashes, now: timedelta, within: timedelta) -> int:
        age = now - due.born
        calls = 1 if due.is_settling else calls_between(age, age + within, self._policy)
        return len(due.hashes) * calls

    def clear(self) -> None:
        self._heap.clear()

    def _wait(self, age: timedelta, *, is_answered: bool) -> timedelta | None:
        """Return how long to wait after a question at `age`, None if it was the last."""
        wait = next_check(age, self._policy) if is_answered else next_try(age, self._policy)
        return wait and stretched(wait, self.stretch, self._policy.last_age - age)

    def _due(self, scheduled: ScheduledHash, now: timedelta) -> timedelta | None:
        """Return when to ask; None if the last question was answered already."""
        if scheduled.asked is None:
            return now
        asked = min(scheduled.asked, now)  # stored by a clock that was ahead
        if scheduled.is_answered and scheduled.settles is not None:
            return min(scheduled.settles, now + SETTLES_AFTER)
        wait = self._wait(asked - scheduled.born, is_answered=scheduled.is_answered)
        return None if wait is None else asked + wait

    def _push(self, at: timedelta, due: ScheduledHashes) -> None:
        for start in range(0, len(due.hashes), self._largest):
            some = TxHashes(pack(due.hashes[start : start + self._largest]))
            part = ScheduledHashes(due.born, some, due.is_settling)
            heappush(self._heap, (at, next(self._order), part))


def _whole(moment: timedelta) -> timedelta:
    return moment // _SAME_TIME * _SAME_TIME


_RULES: Final = PollRules(
    largest_tick=500,
    shortest_pause=timedelta(seconds=30),
    longest_pause=timedelta(seconds=30),
    retry=FOLLOW_UP_CADENCE.shortest_interval,
)


class InclusionPoll(
    PollLoop[ScheduledHashes, InclusionQuestion, InclusionAnswer, dict[TxHash, FollowUp | None]]
):
    """Asks about hashes; intervals count from when they were tracked, not sent.

    So the first, frequent questions find whatever had ended before it was tracked. With `blocks`,
    most later ones are answered by the blocks that came since.
    """

    name = "inclusion"
    operation = Operation.TRANSACTION_RECEIPT
    rules = _RULES

    def __init__(
        self,
        asker: InclusionAsker,
        store: NetworkStore,
        schedule: ReceiptQueue,
        clocks: Clocks,
        new_id: Callable[[], UUID],
        blocks: BlockReader | None = None,
        budgets: NetworkBudgets | None = None,
    ) -> None:
        super().__init__(store, schedule, clocks)
        who = store.network_id, self.name
        self._stretching = None if budgets is None else Stretching(budgets, who, schedule)
        self._follower = None if blocks is None else BlockFollower(asker, blocks, clocks.elapsed)
        self._asker = self._follower or asker
        self._schedule = schedule
        self._new_id = new_id
        self._last_cohort_id = self._known_until = 0

    def load(self) -> None:
        """Schedule what was tracked since the last call and is still open."""
        known, network_id = self._known_until, self.store.network_id
        follows_until = FOLLOW_UP_CADENCE.last_age
        with self.store.read() as connection:
            while found := open_follow_ups(connection, network_id, self._last_cohort_id, known):
                new = [
                    each
                    for each in found  # tracked again while it is followed, it stays where it is
                    if each.watch_id > known or each.begun_at >= each.tracked_at + follows_until
                ]
                self._schedule.add(map(self._scheduled, new), self.clocks.elapsed())
                self._last_cohort_id = found[-1].cohort_id
        self._known_until = self._last_cohort_id
        if self._stretching is not None and self._stretching.judge(self.clocks.elapsed()):
            self._schedule.clear()
            self._last_cohort_id = self._known_until = 0
            self.load()

    def questions(self, due: Sequence[ScheduledHashes]) -> list[InclusionQuestion]:
        """Return a question for each hash that is still tracked."""
        hashes = [tx_hash for each in due for tx_hash in each.hashes]
        with self.store.read() as connection:
            tracked = tracked_among(connection, hashes)
            still = [each for each in hashes if each in tracked]
            return inclusion_questions(connection, self.store.network_id, still)

    def _questions_about(self, hashes: Sequence[TxHash]) -> list[InclusionQuestion]:
        """Return a question for each hash, with sender and nonce if a rejection names them."""
        with self.store.read() as connection:
            return inclusion_questions(connection, self.store.network_id, hashes)

    async def tick(self) -> None:
        """Ask about what is due, and at once, beside the schedule, about what new blocks name."""
        await super().tick()
        if self._follower is not None and self.clocks.elapsed() >= self._paused_until:
            for some in portions(sorted(self._follower.named), _RULES.largest_tick):
                await self._ask_beside(self._follower, some)

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        return await self._asker.ask(questions)

    async def _ask_beside(self, follower: BlockFollower, hashes: Sequence[TxHash]) -> None:
        questions, asked_at = await run_sync(self._questions_about, hashes), self.clocks.now()
        answers = await follower.ask(questions)
        try:
            await run_sync(partial(self.record, asked_at, questions, answers))
        except StoreError:
            follower.ask_again(hashes)
            raise

    def record(
        self,
        asked_at: datetime,
        questions: Sequence[InclusionQuestion],
        answers: Sequence[InclusionAnswer],
    ) -> dict[TxHash, FollowUp | None]:
        """Record the answers; return what is now known of each hash, None after a failure."""
        network_id, operation = self.store.network_id, Operation.TRANSACTION_RECEIPT
        failures = [answer.failure for answer in answers if answer.failure is not None]
        with self.store.write(asked_at) as connection:
            if len(failures) < len(answers):
                note_answered(connection, network_id, [operation], asked_at)
            else:
                note_failure(connection, network_id, asked_at, (operation, failures[0]))
            pairs = zip(questions, answers, strict=True)
            known = record_inclusion_answers(connection, network_id, asked_at, pairs)
            included = [each for each, end in known.items() if end.inclusion is not None]
            record_inclusions(connection, network_id, included, asked_at, self._new_id)
            return dict.fromkeys((each.tx_hash for each in answers), None) | known

    def reschedule(
        self,
        due: Sequence[ScheduledHashes],
        recorded: Mapping[TxHash, FollowUp | None],
        now: timedelta,
    ) -> None:
        """Schedule hashes by the cadence, or for the moment at which their end is final.

        Those that are no longer tracked were not asked about, and are dropped.
        """
        for each in due:
            self._reschedule(each, recorded, now)

    def _scheduled(self, each: OpenFollowUp) -> ScheduledHash:
        elapsed_at, seen_at = self.clocks.elapsed_at, _end_seen_at(each.end)
        return ScheduledHash(
            each.tx_hash,
            self.clocks.elapsed_since(each.begun_at),
            None if each.asked_at is None else elapsed_at(each.asked_at),
            each.is_answered,
            None if seen_at is None else elapsed_at(seen_at) + SETTLES_AFTER,
        )

    def _reschedule(
        self, due: ScheduledHashes, recorded: Mapping[TxHash, FollowUp | None], now: timedelta
    ) -> None:
        groups: defaultdict[tuple[bool, datetime | None], list[TxHash]] = defaultdict(list)
        for tx_hash in filter(recorded.__contains__, due.hashes):
            known = recorded[tx_hash]
            if known is None or known.settled_at is None:
                groups[known is not None, _end_seen_at(known)].append(tx_hash)
        for (is_answered, seen_at), hashes in groups.items():
            some = ScheduledHashes(due.born, hashes, is_settling=seen_at is not None)
            if seen_at is None:
                self._schedule.reschedule(some, now, is_answered=is_answered)
            else:
                settles = self.clocks.elapsed_at(seen_at) + SETTLES_AFTER
                self._schedule.put_back([some], max(settles, now))


def _end_seen_at(known: FollowUp | None) -> datetime | None:
    """Return when an end was first seen that is not final yet."""
    if known is None:
        return None
    return known.replaced_since if known.is_replaced else known.included_since
