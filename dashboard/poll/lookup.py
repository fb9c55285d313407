"""Look-ups: ask about hashes now, outside every schedule, and store the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

import anyio
from anyio.to_thread import run_sync
from msgspec import Struct, field

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind, Operation
from dashboard.domain.quantity import Clock, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.domain.tracking.inclusion import InclusionAnswer, InclusionQuestion
from dashboard.errors import StoreError
from dashboard.poll.block_follower import InclusionAsker
from dashboard.poll.exclusion import ExclusionAsker, save_in_steps, save_rejections
from dashboard.poll.lease import record_metered
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import (
    AnswersNotSaved,
    UnsavedAnswers,
    record_inclusions,
    record_lookup,
)
from dashboard.store.monitoring.answer_counts import note_answered
from dashboard.store.rejections.save import save_version
from dashboard.store.tracking.cohorts import renew
from dashboard.store.tracking.follow_ups import inclusion_questions, record_inclusion_answers
from dashboard.store.tracking.transactions import tracked_among
from dashboard.upstream.endpoint import Meter

BRIEFLY: Final = timedelta(seconds=2)
"""How long a complete answer waits for the nonce that the node expects."""


_LOOKED_AT: Final = 25
"""Up to this many hashes of a look-up are followed on the node; more would cost too much."""


class LiveLookup(Struct, frozen=True):
    """Asks the exclusion APIs of the networks in `askers`, and the `nodes`, in parallel.

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
        """Ask one network, or all, and store what they answer within the deadline.

        A failing upstream, also one that is silent, is stored as a failure. Raises AnswersNotSaved
        if the store saves nothing; what nodes answered about receipts is lost then.
        """
        unsaved: list[UnsavedAnswers] = []
        async with anyio.create_task_group() as tasks:
            for each in self.askers.keys() | self.nodes.keys():
                if network_id in {None, each}:
                    tasks.start_soon(self._ask_both, each, hashes, deadline, unsaved)
        if unsaved:
            raise AnswersNotSaved(unsaved)

    async def _ask_both(
        self,
        network_id: NetworkId,
        hashes: Sequence[TxHash],
        deadline: timedelta,
        unsaved: list[UnsavedAnswers],
    ) -> None:
        """Ask the API and the node; then the node, briefly, for the nonces of newly known senders.

        A record names the sender, and what the sender can do depends on the nonce that the node
        expects: without it the first answer would say less than the next one.
        """
        asker, node = self.askers.get(network_id), self.nodes.get(network_id)
        asked: list[InclusionQuestion] = []
        async with anyio.create_task_group() as tasks:
            if asker is not None:
                tasks.start_soon(self._ask_network, network_id, asker, hashes, deadline, unsaved)
            if node is not None:
                tasks.start_soon(self._ask_node, network_id, node, hashes, deadline, asked)
        if asker is not None and node is not None:
            await self._ask_node(network_id, node, hashes, min(deadline, BRIEFLY), asked)

    async def _ask_network(
        self,
        network_id: NetworkId,
        asker: ExclusionAsker,
        hashes: Sequence[TxHash],
        deadline: timedelta,
        unsaved: list[UnsavedAnswers],
    ) -> None:
        asked_at = self.now()
        answers: Sequence[ExclusionAnswer] = [
            ExclusionAnswer(each, failure=_no_answer(deadline)) for each in hashes
        ]
        with anyio.move_on_after(deadline.total_seconds()):
            answers = await asker.ask(hashes)
        try:
            await run_sync(partial(self._record, network_id, answers, asked_at))
        except StoreError as error:
            unsaved.append(UnsavedAnswers(network_id, asked_at, answers, error))

    async def _ask_node(
        self,
        network_id: NetworkId,
        node: InclusionAsker,
        hashes: Sequence[TxHash],
        deadline: timedelta,
        asked: list[InclusionQuestion],
    ) -> None:
        """Ask a node what was not asked yet; a failure of the store is not reported.

        The exclusion API is asked at the same time, and reports a failure of the store.
        """
        asked_at = self.now()
        with suppress(StoreError):
            known = await run_sync(self._questions, network_id, hashes)
            questions = [each for each in known if each not in asked]
            if not questions:
                return
            asked += questions
            failure = _no_answer(deadline)
            answers = [InclusionAnswer(each.tx_hash, failure=failure) for each in questions]
            with anyio.move_on_after(deadline.total_seconds()):
                answers = await node.ask(questions)
            pairs = list(zip(questions, answers, strict=True))
            await run_sync(partial(self._record_inclusion, network_id, asked_at, pairs))

    def _questions(
        self, network_id: NetworkId, hashes: Sequence[TxHash]
    ) -> list[InclusionQuestion]:
        with self.store.read() as connection:
            return inclusion_questions(connection, network_id, hashes)

    def _record_inclusion(
        self,
        network_id: NetworkId,
        asked_at: datetime,
        answers: Sequence[tuple[InclusionQuestion, InclusionAnswer]],
    ) -> None:
        with self._writing(network_id, asked_at) as connection:
            if any(answer.failure is None for _, answer in answers):
                note_answered(connection, network_id, [Operation.TRANSACTION_RECEIPT], asked_at)
            known = record_inclusion_answers(connection, network_id, asked_at, answers)
            record_inclusions(connection, network_id, [*known], asked_at, self.new_id)

    def _record(
        self, network_id: NetworkId, answers: Sequence[ExclusionAnswer], asked_at: datetime
    ) -> None:
        """Store the answers; the condition of a tracked hash changes as if it had been polled.

        A failure is stored for the hashes only, not for the network: nothing would ask it again and
        clear the failure.
        """
        save = partial(self._save, network_id, asked_at)
        write = partial(self._writing, network_id, asked_at)
        last, _ = save_in_steps(answers, save, write)
        with write() as connection:
            record_lookup(connection, network_id, asked_at, answers, is_polled=False)
            save(connection, last)
            if len(answers) <= _LOOKED_AT:
                renew(connection, [each.tx_hash for each in answers], asked_at)

    def _save(
        self,
        network_id: NetworkId,
        at: datetime,
        connection: Connection,
        rejected: Sequence[RejectedTransaction],
    ) -> None:
        known = tracked_among(connection, [each.tx_hash for each in rejected])
        tracked = [each for each in rejected if each.tx_hash in known]
        news = save_rejections(connection, network_id, tracked, at, self.new_id)
        hashes = [each.tx_hash for each in news]
        record_inclusions(connection, network_id, hashes, at, self.new_id)
        for each in rejected:
            if each.tx_hash not in known:
                save_version(connection, network_id, each, at)

    @contextmanager
    def _writing(self, network_id: NetworkId, asked_at: datetime) -> Iterator[Connection]:
        """Write, together with the cost of asking."""
        meter = self.meters.get(network_id) or Meter()
        with meter.handed_over() as metered, self.store.write() as connection:
            record_metered(connection, network_id, asked_at, metered)
            yield connection


def _no_answer(deadline: timedelta) -> Failure:
    message = f"no answer within {deadline.total_seconds():g} s"
    return Failure(FailureKind.UNAVAILABLE, message)
