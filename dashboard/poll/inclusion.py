"""The inclusion poll: ask a node for the receipts of tracked transactions until one is settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from dashboard.domain.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.grounds import InclusionGrounds
from dashboard.domain.included_or_replaced import (
    SETTLES_AFTER,
    FollowUp,
    InclusionAnswer,
    InclusionQuestion,
)
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import TxHash
from dashboard.poll.clocks import Clocks
from dashboard.poll.network_store import NetworkStore
from dashboard.poll.next_check import CadencePolicy
from dashboard.poll.poll_loop import PollLoop, PollRules
from dashboard.poll.receipt_queue import ReceiptQueue, ScheduledHash, ScheduledHashes
from dashboard.store.alerts.conditions import record_inclusion
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.upstream_failures import record_answer, record_failure
from dashboard.store.tracking.follow_ups import (
    OpenFollowUp,
    inclusion_questions,
    open_follow_ups,
    record_inclusion_answers,
)

FOLLOW_UP_CADENCE: Final = CadencePolicy(
    shortest_interval=timedelta(seconds=15),
    factor=1.0,
    rejected_factor=1.0,
    last_age=timedelta(days=30),
)
"""Some 160 questions in the thirty days for which a transaction without an end is followed."""

_RULES: Final = PollRules(
    largest_tick=500,
    shortest_pause=timedelta(seconds=30),
    longest_pause=timedelta(seconds=30),
    retry=FOLLOW_UP_CADENCE.shortest_interval,
)


class InclusionAsker(Protocol):
    """Answers what became of hashes, in order; trouble is a failure in the answer."""

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]: ...


class InclusionPoll(
    PollLoop[ScheduledHashes, InclusionQuestion, InclusionAnswer, dict[TxHash, FollowUp]]
):
    """Asks about hashes; intervals count from the moment of tracking, not of sending.

    So the first questions, which come often, find what had ended before it was tracked.
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
    ) -> None:
        """Read and ask nothing yet; `new_id` gives ids that nobody else has."""
        super().__init__(store, schedule, clocks)
        self._asker = asker
        self._schedule = schedule
        self._new_id = new_id
        self._last_watch_id = 0

    def load(self) -> None:
        """Schedule what was tracked since the last call and has not come to its end."""
        with self.store.read() as connection:
            found = open_follow_ups(connection, self.store.network_id, self._last_watch_id)
        if found:
            self._schedule.add(map(self._scheduled, found), self.clocks.elapsed())
            self._last_watch_id = max(each.watch_id for each in found)

    def questions(self, due: Sequence[ScheduledHashes]) -> list[InclusionQuestion]:
        """Return a question for each hash, with sender and nonce where a rejection names them."""
        hashes = [tx_hash for each in due for tx_hash in each.hashes]
        with self.store.read() as connection:
            return inclusion_questions(connection, self.store.network_id, hashes)

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Ask the node."""
        return await self._asker.ask(questions)

    def record(
        self,
        asked_at: datetime,
        questions: Sequence[InclusionQuestion],
        answers: Sequence[InclusionAnswer],
    ) -> dict[TxHash, FollowUp]:
        """Write the answers; return what is now known of the hashes that were answered."""
        network_id, operation = self.store.network_id, Operation.TRANSACTION_RECEIPT
        failures = [answer.failure for answer in answers if answer.failure is not None]
        with self.store.write(asked_at) as connection:
            if len(failures) < len(answers):
                record_answer(connection, network_id, operation, asked_at)
            else:
                record_failure(connection, network_id, asked_at, (operation, failures[0]))
            pairs = zip(questions, answers, strict=True)
            known = record_inclusion_answers(connection, network_id, asked_at, pairs)
            self._note_included(connection, known, asked_at)
            return known

    def _note_included(
        self, connection: Connection, known: Mapping[TxHash, FollowUp], asked_at: datetime
    ) -> None:
        """Let people be notified of those that were rejected and are in a block."""
        for tx_hash, follow_up in known.items():
            if follow_up.inclusion is None:
                continue
            block = follow_up.inclusion
            transition = Transition(
                self._new_id(),
                Subject(SubjectKind.INCLUSION, self.store.network_id, tx_hash),
                None,
                State.INCLUDED,
                asked_at,
                InclusionGrounds(block.block_number, block.is_successful),
            )
            record_inclusion(connection, transition)

    def reschedule(
        self, due: Sequence[ScheduledHashes], recorded: Mapping[TxHash, FollowUp], now: timedelta
    ) -> None:
        """Schedule hashes by the cadence, or at the moment at which their end settles."""
        for each in due:
            self._reschedule(each, recorded, now)

    def _scheduled(self, each: OpenFollowUp) -> ScheduledHash:
        asked = None if each.asked_at is None else self.clocks.elapsed_at(each.asked_at)
        return ScheduledHash(each.tx_hash, self.clocks.elapsed_at(each.tracked_at), asked)

    def _reschedule(
        self, due: ScheduledHashes, recorded: Mapping[TxHash, FollowUp], now: timedelta
    ) -> None:
        groups: defaultdict[tuple[bool, datetime | None], list[TxHash]] = defaultdict(list)
        for tx_hash in due.hashes:
            known = recorded.get(tx_hash)
            if known is None or known.settled_at is None:
                groups[known is not None, _end_seen_at(known)].append(tx_hash)
        for (is_answered, seen_at), hashes in groups.items():
            some = ScheduledHashes(due.born, hashes)
            if seen_at is None:
                self._schedule.reschedule(some, now, is_answered=is_answered)
            else:
                settles = self.clocks.elapsed_at(seen_at) + SETTLES_AFTER
                self._schedule.put_back([some], max(settles, now))


def _end_seen_at(known: FollowUp | None) -> datetime | None:
    """Return when an end was first seen that is not settled yet."""
    if known is None:
        return None
    return known.replaced_since if known.is_replaced else known.included_since
