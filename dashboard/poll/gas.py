"""Ask for one network's fees, each operation on its own period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import anyio
from anyio.to_thread import run_sync

from dashboard.domain.observation import GasObservation, Operation, longest_wish
from dashboard.domain.quantity import NetworkId
from dashboard.logs import get_logger
from dashboard.poll.clocks import Clocks
from dashboard.poll.conditions import Conditions
from dashboard.poll.gas_question import GasAnswer, GasAsker, GasQuestion, ask_of
from dashboard.poll.lease import Term
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.credits import note_spent
from dashboard.store.observations import save_gas
from dashboard.upstream.meter import Meter

_log = get_logger("gas poll")


@dataclass(frozen=True, slots=True)
class GasPeriods:
    """How often each operation is asked; the job runs every `suggested_gas_fees`."""

    suggested_gas_fees: timedelta
    base_fee_history: timedelta
    thresholds: timedelta

    def of_operations(self) -> tuple[tuple[Operation, timedelta], ...]:
        """Return the period of each operation."""
        return (
            (Operation.SUGGESTED_GAS_FEES, self.suggested_gas_fees),
            (Operation.BUSY_THRESHOLD, self.thresholds),
            (Operation.BASE_FEE_PERCENTILE, self.thresholds),
            (Operation.BASE_FEE_HISTORY, self.base_fee_history),
        )


@dataclass(frozen=True, slots=True)
class GasArchive:
    """The store as seen by the gas poll of one network during one term.

    `block_time` is the usual time between blocks, where it is known: it dates the values of a
    history, which come without times. `meter` counts what the poll asks. The conditions hold the
    newest fees in memory, as they are stored.
    """

    store: Store
    network_id: NetworkId
    term: Term
    conditions: Conditions
    block_time: timedelta | None = None
    meter: Meter = field(default_factory=Meter)

    def keep(self, observation: GasObservation) -> None:
        """Write down what one poll saw and what it changes; raises StoreError or LeaseLost."""
        with (
            self.conditions.recent_fees.transaction(),
            self.meter.handed_over() as spent,
            self.store.write() as connection,
        ):
            self.term.check(connection)
            note_spent(connection, self.network_id, observation.asked_at, spent)
            save = partial(save_gas, connection, observation, self.block_time)
            self.conditions.keep_gas(connection, observation, save)


class GasPoll:
    """The gas poll of one network during one term, of its gas API, its node, or either."""

    def __init__(
        self,
        api: GasAsker | None,
        archive: GasArchive,
        periods: GasPeriods,
        clocks: Clocks,
        node: GasAsker | None = None,
    ) -> None:
        """Ask nothing yet; at the first tick everything is due."""
        self._archive = archive
        self._clocks = clocks
        self._slack = periods.suggested_gas_fees / 2  # ticks come a little early or late
        self.questions = tuple(
            GasQuestion(
                operation,
                period,
                api=None if api is None else ask_of(api, operation),
                node=None if node is None else ask_of(node, operation),
                slack=self._slack,
            )
            for operation, period in periods.of_operations()
        )

    async def tick(self) -> None:
        """Ask what is due, all at once, and keep what was seen; StoreError or LeaseLost."""
        asked_at, started = self._clocks.now(), self._clocks.elapsed()
        due = [question for question in self.questions if question.due <= started + self._slack]
        if not due:
            return
        answers: list[GasAnswer] = []
        async with anyio.create_task_group() as tasks:
            for question in due:
                tasks.start_soon(_ask, question, started, answers)
        wish = longest_wish(each.failure for each in answers if each.failure is not None)
        if wish:
            for question in self.questions:
                question.leave_api_alone(started + wish)
        observation = _observation(self._archive.network_id, asked_at, answers)
        await run_sync(partial(self._archive.keep, observation))


async def _ask(question: GasQuestion, started: timedelta, answers: list[GasAnswer]) -> None:
    answer = await question.ask(started)
    answers.append(answer)
    if answer.failure is not None:
        _log.warning(
            "a question got no answer", operation=question.operation, why=answer.failure.message
        )


def _observation(
    network_id: NetworkId, asked_at: datetime, answers: Sequence[GasAnswer]
) -> GasObservation:
    values = {each.operation: each.value for each in answers}
    return GasObservation(
        network_id,
        asked_at,
        suggested_gas_fees=values.get(Operation.SUGGESTED_GAS_FEES),
        base_fee_history=values.get(Operation.BASE_FEE_HISTORY),
        base_fee_percentile=values.get(Operation.BASE_FEE_PERCENTILE),
        busy_threshold=values.get(Operation.BUSY_THRESHOLD),
        failures=tuple((each.operation, each.failure) for each in answers if each.failure),
        sources={each.operation: each.source for each in answers},
    )
