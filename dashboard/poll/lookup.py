"""The live question: ask about hashes now, outside every schedule, and store what was said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

import anyio
from anyio.to_thread import run_sync

from dashboard.domain.clock import Clock
from dashboard.domain.condition import Subject
from dashboard.domain.follow_up import InclusionAnswer, InclusionQuestion
from dashboard.domain.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.errors import StoreError
from dashboard.poll.exclusion import ExclusionAsker
from dashboard.poll.exclusion_records import keep_news
from dashboard.poll.inclusion import InclusionAsker
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import AnswersNotSaved, UnsavedAnswers, record_lookup
from dashboard.store.evidence.save_rejections import save_polled
from dashboard.store.monitoring.credits import note_spent
from dashboard.store.tracking.follow_ups import inclusion_questions, record_inclusion_answers
from dashboard.store.tracking.transactions import is_tracked
from dashboard.upstream.meter import Meter


@dataclass(frozen=True, slots=True)
class LiveQuestion:
    """Asks the exclusion APIs of the networks in `askers`, and the `nodes`, side by side.

    `meters` count what is asked of each network.
    """

    store: Store
    askers: Mapping[NetworkId, ExclusionAsker]
    now: Clock
    new_id: Callable[[], UUID]
    nodes: Mapping[NetworkId, InclusionAsker] = field(default_factory=dict)
    meters: Mapping[NetworkId, Meter] = field(default_factory=dict)

    async def ask(
        self, hashes: Sequence[TxHash], network_id: NetworkId | None, deadline: timedelta
    ) -> None:
        """Ask one network, or all, and store what they said within the deadline.

        Trouble with an upstream, silence included, is stored as a failure. Raises AnswersNotSaved
        where the store keeps nothing: what a node said of receipts is lost then.
        """
        unsaved: list[UnsavedAnswers] = []
        async with anyio.create_task_group() as tasks:
            for each, asker in self.askers.items():
                if network_id in {None, each}:
                    tasks.start_soon(self._ask_one, each, asker, (hashes, deadline), unsaved)
            for each, node in self.nodes.items():
                if network_id in {None, each}:
                    tasks.start_soon(self._follow_up, each, node, hashes, deadline)
        if unsaved:
            raise AnswersNotSaved(unsaved)

    async def _ask_one(
        self,
        network_id: NetworkId,
        asker: ExclusionAsker,
        wanted: tuple[Sequence[TxHash], timedelta],
        unsaved: list[UnsavedAnswers],
    ) -> None:
        hashes, deadline = wanted
        asked_at = self.now()
        answers = [ExclusionAnswer(each, failure=_silence(deadline)) for each in hashes]
        with anyio.move_on_after(deadline.total_seconds()):
            answers = await asker.ask(hashes)
        try:
            await run_sync(partial(self._keep, network_id, answers, asked_at))
        except StoreError as error:
            unsaved.append(UnsavedAnswers(network_id, asked_at, answers, error))

    async def _follow_up(
        self,
        network_id: NetworkId,
        node: InclusionAsker,
        hashes: Sequence[TxHash],
        deadline: timedelta,
    ) -> None:
        """Ask a node what became of the hashes; one that is silent leaves no trace.

        Nor does a store that cannot keep it: the exclusion API is asked beside, and tells of that.
        """
        asked_at = self.now()
        answers: list[InclusionAnswer] = []
        with suppress(StoreError):
            questions = await run_sync(self._questions, network_id, hashes)
            with anyio.move_on_after(deadline.total_seconds()):
                answers = await node.ask(questions)
            pairs = zip(questions, answers, strict=False)  # no answers where the node was silent
            told = [each for each in pairs if each[1].failure is None]
            if told:
                await run_sync(partial(self._keep_ends, network_id, asked_at, told))

    def _questions(
        self, network_id: NetworkId, hashes: Sequence[TxHash]
    ) -> list[InclusionQuestion]:
        with self.store.read() as connection:
            return inclusion_questions(connection, network_id, hashes)

    def _keep_ends(
        self,
        network_id: NetworkId,
        asked_at: datetime,
        told: Sequence[tuple[InclusionQuestion, InclusionAnswer]],
    ) -> None:
        with self._writing(network_id, asked_at) as connection:
            record_inclusion_answers(connection, network_id, asked_at, told)

    def _keep(
        self, network_id: NetworkId, answers: Sequence[ExclusionAnswer], asked_at: datetime
    ) -> None:
        """Store the answers; a tracked hash changes its condition as if it had been polled.

        A failure is kept of the hashes only: nobody asks again, so it would stand for the network.
        """
        with self._writing(network_id, asked_at) as connection:
            record_lookup(connection, network_id, asked_at, answers, is_polled=False)
            for answer in answers:
                if answer.record is None:
                    continue
                if is_tracked(connection, answer.tx_hash):
                    subject = Subject.transaction(network_id, answer.tx_hash)
                    keep_news(connection, subject, answer, asked_at, self.new_id())
                else:
                    save_polled(connection, network_id, answer.record, asked_at)

    @contextmanager
    def _writing(self, network_id: NetworkId, asked_at: datetime) -> Iterator[Connection]:
        """Write, together with what asking cost."""
        meter = self.meters.get(network_id) or Meter()
        with meter.handed_over() as spent, self.store.write() as connection:
            note_spent(connection, network_id, asked_at, spent)
            yield connection


def _silence(deadline: timedelta) -> Failure:
    message = f"no answer within {deadline.total_seconds():g} s"
    return Failure(FailureKind.UNAVAILABLE, message)
