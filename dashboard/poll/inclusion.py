"""Follow tracked transactions up at one network's node until their end is settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from anyio.to_thread import run_sync

from dashboard.domain.follow_up import (
    SETTLES_AFTER,
    FollowUp,
    InclusionAnswer,
    InclusionQuestion,
)
from dashboard.domain.observation import Operation, longest_wish
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.logs import get_logger
from dashboard.poll.clocks import Clocks
from dashboard.poll.intervals import CadencePolicy
from dashboard.poll.lease import Term
from dashboard.poll.receipt_schedule import Cohort, Schedule, Watched
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.credits import note_spent
from dashboard.store.monitoring.upstream_failures import note_answer, note_failure
from dashboard.store.tracking.follow_ups import (
    OpenFollowUp,
    inclusion_questions,
    open_follow_ups,
    record_inclusion_answers,
)
from dashboard.upstream.meter import Meter

FOLLOW_UP_CADENCE: Final = CadencePolicy(
    shortest_interval=timedelta(seconds=15),
    factor=1.0,
    rejected_factor=1.0,
    last_age=timedelta(days=30),
)
"""Some 160 questions in the thirty days for which a transaction without an end is followed."""

_REST: Final = timedelta(seconds=30)
"""How long a node is left alone that answered nothing."""

_log = get_logger("inclusion poll")


class InclusionAsker(Protocol):
    """Whoever tells what became of hashes, in order; trouble is a failure in the answer."""

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]: ...


@dataclass(frozen=True, slots=True)
class InclusionArchive:
    """The store as seen by the follow-up of one network during one term.

    `meter` counts what the follow-up asks.
    """

    store: Store
    network_id: NetworkId
    term: Term
    meter: Meter = field(default_factory=Meter)

    def open(self, after: int) -> list[OpenFollowUp]:
        """Return what is to be followed up under a larger watch id than `after`."""
        with self.store.read() as connection:
            return open_follow_ups(connection, self.network_id, after)

    def questions(self, hashes: Sequence[TxHash]) -> list[InclusionQuestion]:
        """Return what to ask of each hash."""
        with self.store.read() as connection:
            return inclusion_questions(connection, self.network_id, hashes)

    def keep(
        self,
        asked_at: datetime,
        questions: Sequence[InclusionQuestion],
        answers: Sequence[InclusionAnswer],
    ) -> dict[TxHash, FollowUp]:
        """Write down what was said; return what is now held of the hashes that were answered.

        Raises StoreError or LeaseLost, and then nothing is written.
        """
        told = zip(questions, answers, strict=True)
        failures = [answer.failure for answer in answers if answer.failure is not None]
        operation = Operation.TRANSACTION_RECEIPT
        with self.meter.handed_over() as spent, self.store.write() as connection:
            self.term.check(connection)
            note_spent(connection, self.network_id, asked_at, spent)
            if len(failures) < len(answers):
                note_answer(connection, self.network_id, operation, asked_at)
            else:
                note_failure(connection, self.network_id, asked_at, (operation, failures[0]))
            return record_inclusion_answers(connection, self.network_id, asked_at, told)


class InclusionPoll:
    """The follow-up of one network during one term.

    The schedule counts from the moment of tracking, whenever the transaction was sent: the
    first questions find what has ended already.
    """

    def __init__(
        self,
        asker: InclusionAsker,
        archive: InclusionArchive,
        schedule: Schedule,
        clocks: Clocks,
        largest_tick: int = 500,
    ) -> None:
        """Read and ask nothing yet."""
        self._asker = asker
        self._archive = archive
        self._schedule = schedule
        self._clocks = clocks
        self._largest_tick = largest_tick
        self._last_watch_id = 0
        self._rests_until = timedelta()

    async def tick(self) -> None:
        """Take up what was tracked since the last tick, and ask what is due.

        Raises StoreError or LeaseLost; what could not be written down is asked again.
        """
        await self._take_up()
        started = self._clocks.elapsed()
        if started < self._rests_until:
            return
        cohorts = self._schedule.take_due(started, self._largest_tick)
        if not cohorts:
            return
        try:
            held, wish = await self._ask_and_keep([h for cohort in cohorts for h in cohort.hashes])
        except BaseException:
            self._schedule.put_back(cohorts, started + FOLLOW_UP_CADENCE.shortest_interval)
            raise
        now = self._clocks.elapsed()
        for cohort in cohorts:
            self._reschedule(cohort, held, now)
        rest = timedelta() if held else _REST
        self._rests_until = now + max(rest, wish)

    async def _take_up(self) -> None:
        found = await run_sync(self._archive.open, self._last_watch_id)
        if found:
            self._schedule.add(map(self._watched, found), self._clocks.elapsed())
            self._last_watch_id = max(each.watch_id for each in found)

    def _watched(self, each: OpenFollowUp) -> Watched:
        asked = None if each.asked_at is None else self._clocks.elapsed_at(each.asked_at)
        return Watched(each.tx_hash, self._clocks.elapsed_at(each.tracked_at), asked)

    async def _ask_and_keep(
        self, hashes: Sequence[TxHash]
    ) -> tuple[Mapping[TxHash, FollowUp], timedelta]:
        """Return what is now held, and for how long the node asks to be left alone."""
        questions = await run_sync(self._archive.questions, hashes)
        asked_at = self._clocks.now()
        answers = await self._asker.ask(questions)
        failures = [answer.failure for answer in answers if answer.failure is not None]
        if failures:
            _log.warning(
                "receipts could not be asked for",
                network_id=self._archive.network_id,
                asked=len(answers),
                unanswered=len(failures),
                why=failures[0].message,
            )
        held = await run_sync(partial(self._archive.keep, asked_at, questions, answers))
        return held, longest_wish(failures)

    def _reschedule(self, cohort: Cohort, held: Mapping[TxHash, FollowUp], now: timedelta) -> None:
        """Ask again on the cadence, or at the moment at which an end settles."""
        groups: defaultdict[tuple[bool, datetime | None], list[TxHash]] = defaultdict(list)
        for tx_hash in cohort.hashes:
            end = held.get(tx_hash)
            if end is None or end.settled_at is None:
                groups[end is not None, _end_seen_at(end)].append(tx_hash)
        for (is_answered, seen_at), hashes in groups.items():
            part = Cohort(cohort.born, hashes)
            if seen_at is None:
                self._schedule.ask_again(part, now, is_answered=is_answered)
            else:
                settles = self._clocks.elapsed_at(seen_at) + SETTLES_AFTER
                self._schedule.put_back([part], max(settles, now))


def _end_seen_at(end: FollowUp | None) -> datetime | None:
    """Return when an end was first seen that only has to stand for a while."""
    if end is None:
        return None
    return end.replaced_since if end.is_replaced else end.included_since
