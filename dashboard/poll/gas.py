"""Ask for one network's fees, each operation on its own period, and save what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import anyio
from anyio.to_thread import run_sync
from msgspec import Struct

from dashboard.domain.fees.gas import GasObservation, GasPeriods, GasSource
from dashboard.domain.health.observation import AnswerCounts, longest_retry_after, times_of
from dashboard.domain.quantity import NetworkId
from dashboard.logs import get_logger
from dashboard.poll.gas_api_or_node import GasAnswer, GasAsker, GasQuestion
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.poll.network_conditions import Conditions
from dashboard.store.fees.save import save_gas

_log = get_logger("gas poll")


class GasArchive(Struct, frozen=True):
    """The store as seen by the gas poll of one network during one term.

    `block_time` is the usual time between blocks, if known: it dates the values of a history, which
    come without times. `conditions` has the newest fees in memory, as stored.
    """

    store: NetworkStore
    conditions: Conditions
    block_time: timedelta | None = None

    def save(self, observation: GasObservation) -> None:
        """Save what one poll saw, and what follows from it; raises StoreError or LeaseLost."""
        recent_fees, asked_at = self.conditions.recent_fees, observation.asked_at
        with recent_fees.transaction(), self.store.write(asked_at) as connection:
            before = self.conditions.read_gas(connection, asked_at)
            saved = save_gas(connection, observation, self.block_time)
            recent_fees.note(saved)
            self.conditions.update_gas_saved(connection, before, observation)


class GasPoll:
    """The gas poll of one network during one term, of its gas API, its node, or both."""

    def __init__(
        self,
        api: GasAsker | None,
        archive: GasArchive,
        periods: GasPeriods,
        clocks: Clocks,
        node: GasAsker | None = None,
    ) -> None:
        self._archive = archive
        self._clocks = clocks
        self._slack = periods.gas_period / 2  # ticks come a little early or late
        self.questions = tuple(
            GasQuestion(operation, period, api, node, self._slack)
            for operation, period in periods.of_operations()
        )

    async def tick(self) -> None:
        """Ask what is due, all at once, and save what was seen; StoreError or LeaseLost."""
        asked_at, started = self._clocks.now(), self._clocks.elapsed()
        due = [question for question in self.questions if question.due <= started + self._slack]
        if not due:
            return
        answers: list[GasAnswer] = []
        async with anyio.create_task_group() as tasks:
            for question in due:
                tasks.start_soon(self._ask, question, started, answers)
        demanded = longest_retry_after(each.failure for each in answers if each.failure is not None)
        if demanded:
            for question in self.questions:
                question.pause_api(started + demanded)
        observation = _observation(self._archive.store.network_id, asked_at, answers)
        await run_sync(partial(self._archive.save, observation))

    async def _ask(
        self, question: GasQuestion, started: timedelta, answers: list[GasAnswer]
    ) -> None:
        answer = await question.ask(started)
        took = self._clocks.elapsed() - started
        self._archive.store.meter.note_answers(question.operation, _counts(answer, took))
        answers.append(answer)
        if answer.failure is not None:
            _log.warning(
                "a question failed", operation=question.operation, why=answer.failure.message
            )


def _counts(answer: GasAnswer, took: timedelta) -> AnswerCounts:
    if answer.value is None:
        return AnswerCounts(failed=1)
    is_instead = answer.source is GasSource.NODE_INSTEAD
    return AnswerCounts(int(not is_instead), int(is_instead), times=times_of(took))


def _observation(
    network_id: NetworkId, asked_at: datetime, answers: Sequence[GasAnswer]
) -> GasObservation:
    return GasObservation(
        network_id,
        asked_at,
        **{each.operation.name.lower(): each.value for each in answers},
        failures=tuple((each.operation, each.failure) for each in answers if each.failure),
        sources={each.operation: each.source for each in answers},
    )
