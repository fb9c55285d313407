"""Ask one network's gas API, each operation on its own period."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol

import anyio
from anyio.to_thread import run_sync

from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.observation import Failure, GasObservation, Operation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.logs import get_logger
from dashboard.poll.clocks import Clocks
from dashboard.poll.lease import Term
from dashboard.store.engine import Store
from dashboard.store.observations import save_gas
from dashboard.upstream.refusal import failure_of

_RETRY_AFTER: Final = timedelta(seconds=30)
"""How soon an operation that failed is asked again, unless its own period is shorter."""

_log = get_logger("gas poll")


class GasAsker(Protocol):
    """Whoever answers the four operations; every method raises UpstreamError."""

    async def suggested_gas_fees(self) -> SuggestedGasFees: ...
    async def base_fee_history(self) -> tuple[Wei, ...]: ...
    async def base_fee_percentile(self) -> Wei: ...
    async def busy_threshold(self) -> Wei: ...


@dataclass(frozen=True, slots=True)
class GasPeriods:
    """How often each operation is asked; the job runs every `suggested_gas_fees`."""

    suggested_gas_fees: timedelta
    base_fee_history: timedelta
    thresholds: timedelta


@dataclass(frozen=True, slots=True)
class GasArchive:
    """The store as seen by the gas poll of one network during one term.

    `block_time` is the usual time between blocks, where it is known: it dates the values of a
    history, which come without times.
    """

    store: Store
    network_id: NetworkId
    term: Term
    block_time: timedelta | None = None

    def keep(self, observation: GasObservation) -> None:
        """Write down what one poll saw; raises StoreError or LeaseLost."""
        with self.store.write() as connection:
            self.term.check(connection)
            save_gas(connection, observation, self.block_time)


@dataclass(slots=True)
class _Question:
    """One operation, how it is asked, and when it is due."""

    operation: Operation
    ask: Callable[[], Awaitable[Any]]
    period: timedelta
    due: timedelta = timedelta.min


@dataclass(slots=True)
class _Answers:
    """What came of the questions of one poll."""

    values: dict[Operation, Any] = field(default_factory=dict)
    failures: list[tuple[Operation, Failure]] = field(default_factory=list)

    def observation(self, network_id: NetworkId, asked_at: datetime) -> GasObservation:
        return GasObservation(
            network_id,
            asked_at,
            suggested_gas_fees=self.values.get(Operation.SUGGESTED_GAS_FEES),
            base_fee_history=self.values.get(Operation.BASE_FEE_HISTORY),
            base_fee_percentile=self.values.get(Operation.BASE_FEE_PERCENTILE),
            busy_threshold=self.values.get(Operation.BUSY_THRESHOLD),
            failures=tuple(self.failures),
        )


class GasPoll:
    """The gas poll of one network during one term."""

    def __init__(
        self, asker: GasAsker, archive: GasArchive, periods: GasPeriods, clocks: Clocks
    ) -> None:
        """Ask nothing yet; at the first tick everything is due."""
        self._archive = archive
        self._clocks = clocks
        self._slack = periods.suggested_gas_fees / 2  # ticks come a little early or late
        self._questions = (
            _Question(
                Operation.SUGGESTED_GAS_FEES, asker.suggested_gas_fees, periods.suggested_gas_fees
            ),
            _Question(Operation.BUSY_THRESHOLD, asker.busy_threshold, periods.thresholds),
            _Question(Operation.BASE_FEE_PERCENTILE, asker.base_fee_percentile, periods.thresholds),
            _Question(Operation.BASE_FEE_HISTORY, asker.base_fee_history, periods.base_fee_history),
        )

    async def tick(self) -> None:
        """Ask what is due, all at once, and keep what was seen; StoreError or LeaseLost."""
        asked_at, started = self._clocks.now(), self._clocks.elapsed()
        due = [question for question in self._questions if question.due <= started + self._slack]
        if not due:
            return
        answers = _Answers()
        async with anyio.create_task_group() as tasks:
            for question in due:
                tasks.start_soon(self._ask, question, answers)
        observation = answers.observation(self._archive.network_id, asked_at)
        await run_sync(partial(self._archive.keep, observation))

    async def _ask(self, question: _Question, answers: _Answers) -> None:
        started = self._clocks.elapsed()
        try:
            answers.values[question.operation] = await question.ask()
            question.due = started + question.period
        except UpstreamError as error:
            failure = failure_of(error)
            answers.failures.append((question.operation, failure))
            question.due = started + _patience(question, error) + self._slack
            _log.warning(
                "a question got no answer", operation=question.operation, why=failure.message
            )


def _patience(question: _Question, error: UpstreamError) -> timedelta:
    """Return how long to leave the upstream alone after a failure."""
    if isinstance(error, UpstreamThrottled) and error.retry_after is not None:
        return max(error.retry_after, question.period)
    return min(question.period, _RETRY_AFTER)
