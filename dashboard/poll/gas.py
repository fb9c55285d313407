"""Ask for one network's fees, each operation on its own period, and save what was answered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Protocol

import anyio
from anyio.to_thread import run_sync
from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.fees.gas import GasObservation, GasPeriods, GasSource
from dashboard.domain.formatting import span
from dashboard.domain.health.observation import (
    AnswerCounts,
    Failure,
    Operation,
    longest_retry_after,
    times_of,
)
from dashboard.domain.quantity import NetworkId
from dashboard.errors import UpstreamError, UpstreamUnavailable
from dashboard.logs import get_logger
from dashboard.poll.lease import Clocks, NetworkStore
from dashboard.poll.network_conditions import Conditions
from dashboard.store.fees.save import save_gas
from dashboard.upstream.endpoint import failure_of
from dashboard.upstream.gas_oracle import ChainFees

_log = get_logger("gas poll")

RETRY_AFTER: Final = timedelta(seconds=30)
"""How soon an operation that failed is asked again, unless its own period is shorter."""

_LONGEST_TRIAL: Final = timedelta(seconds=5)
"""How long the first answer of a gas API after an outage may take."""


class GasAsker(Protocol):
    """Answers the four operations, as `GasClient` does."""

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - each has its own answer
        """Ask one operation; raises UpstreamError."""


class GasAnswer(Struct, frozen=True):
    """The result of one question: a value and its source, a failure, or both."""

    operation: Operation
    value: Any = None
    source: GasSource = GasSource.GAS_API
    failure: Failure | None = None


class GasQuestion(Struct):
    """One operation, who can answer it, and when it is due.

    If both can, the gas API is asked first. After a failure it is not asked for half a minute, or
    as long as it demands; meanwhile the node answers, so that no data is lost. Then it is tried
    again with a short time-out; once it answers, the node is not asked any more. The job may ask
    early by `slack`, so a pause after a failure is that much longer.
    """

    operation: Operation
    period: timedelta
    api: GasAsker | None
    node: GasAsker | None
    slack: timedelta = timedelta(0)
    due: timedelta = timedelta.min
    paused_until: timedelta | None = None
    outage: Failure | None = None

    async def ask(self, started: timedelta) -> GasAnswer:
        """Ask once, at this elapsed time."""
        if self.api is None:
            return await self._ask_node(GasSource.NODE, started)
        if self.paused_until is not None and started < self.paused_until:
            return await self._ask_node(GasSource.NODE_INSTEAD, started)
        try:
            value = await self._ask_api(self.api)
        except UpstreamError as error:
            return await self._without_api(error, started)
        self.paused_until = self.outage = None
        self.due = started + self.period
        return GasAnswer(self.operation, value)

    def pause_api(self, until: timedelta) -> None:
        """Do not ask the gas API until then, since it refused another question for now."""
        if self.api is None:
            return
        if self.node is None:
            self.due = max(self.due, until + self.slack)
        else:
            self.paused_until = max(self.paused_until or until, until)

    async def _ask_api(self, api: GasAsker) -> Any:  # noqa: ANN401 - each operation has its own answer
        if self.paused_until is None:
            return await api.ask(self.operation)
        longest = min(self.period / 2, _LONGEST_TRIAL)
        try:
            with anyio.fail_after(longest.total_seconds()):
                return await api.ask(self.operation)
        except TimeoutError:
            message = f"the gas API still gives no answer within {longest.total_seconds():g} s"
            raise UpstreamUnavailable(message) from None

    async def _without_api(self, error: UpstreamError, started: timedelta) -> GasAnswer:
        failure = failure_of(error)
        if self.node is None:
            self.due = started + _pause_after(self.period, failure) + self.slack
            return GasAnswer(self.operation, failure=failure)
        self.outage = failure
        self.paused_until = started + max(RETRY_AFTER, longest_retry_after([failure]))
        answer = await self._ask_node(GasSource.NODE_INSTEAD, started)
        return replace(answer, failure=answer.failure or failure)

    async def _ask_node(self, source: GasSource, started: timedelta) -> GasAnswer:
        assert self.node is not None  # noqa: S101 - one of the two can be asked
        try:
            value = await self.node.ask(self.operation)
        except UpstreamError as error:
            failure = failure_of(error)
            self.due = started + _pause_after(self.period, failure) + self.slack
            return GasAnswer(self.operation, failure=_both(self.outage, failure))
        self.due = started + self.period
        return GasAnswer(self.operation, value, source)


def _both(of_api: Failure | None, of_node: Failure) -> Failure:
    """Return both failures as one, if the node was to answer in its place."""
    if of_api is None:
        return of_node
    return Failure(of_api.kind, f"{of_api.message}; {of_node.message}", of_api.retry_after)


def _pause_after(period: timedelta, failure: Failure) -> timedelta:
    """Return how long not to ask an upstream that failed and that nobody replaces."""
    demanded = longest_retry_after([failure])
    return max(demanded, period) if demanded else min(period, RETRY_AFTER)


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


_SHARED_FOR: Final = timedelta(milliseconds=500)
"""How long other callers share what one refresh read."""

_LONGEST_LOAD: Final = timedelta(seconds=8)
"""How long a question waits for the whole window; then it fails, and is asked again."""


class ChainReader(Protocol):
    """Reads a chain's fees; `upstream.node_failover.FailoverFollower` implements it."""

    @property
    def is_complete(self) -> bool: ...
    @property
    def blocks_held(self) -> int: ...
    async def refresh(self) -> None: ...
    def snapshot(self) -> ChainFees: ...


class GasFromNode:
    """Answers as a gas API does.

    The questions of one poll share one reading of the node, or its failure. All answers need the
    whole window and wait until that is loaded, because of the congestion among the suggested fees.
    With `stalled_after`, an older newest block counts as no answer: the node lost its peers, or
    nothing is mined.
    """

    def __init__(
        self, follower: ChainReader, clocks: Clocks, stalled_after: timedelta | None = None
    ) -> None:
        self._follower = follower
        self._clocks = clocks
        self._stalled_after = stalled_after
        self._one_at_a_time = anyio.Lock()
        self._read_at: timedelta | None = None
        self._trouble: UpstreamError | None = None

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - each has its own answer
        """Return what the newest blocks say; raises UpstreamError."""
        return (await self._read_whole_window()).answer(operation)

    async def _read_whole_window(self) -> ChainFees:
        """Load the window first; UpstreamUnavailable if that stalls, or takes long."""
        async with self._one_at_a_time:
            now = self._clocks.elapsed()
            if self._read_at is None or now - self._read_at > _SHARED_FOR:
                await self._refresh()
        if self._trouble is not None:
            raise self._trouble
        started, held = self._clocks.elapsed(), -1
        while not self._follower.is_complete:
            before, held = held, self._follower.blocks_held
            if held == before or self._clocks.elapsed() - started > _LONGEST_LOAD:
                raise UpstreamUnavailable(f"the node's window is being read: {held} blocks so far")
            async with self._one_at_a_time:
                await self._follower.refresh()
        return self._follower.snapshot()

    async def _refresh(self) -> None:
        self._trouble = None
        try:
            await self._follower.refresh()
            self._check_age(self._follower.snapshot())
        except UpstreamError as error:
            self._trouble = error
        self._read_at = self._clocks.elapsed()

    def _check_age(self, fees: ChainFees) -> None:
        age = self._clocks.now() - fees.head.timestamp
        if self._stalled_after is not None and age > self._stalled_after:
            raise UpstreamUnavailable(
                f"the node is stalled: its newest block {fees.head.number} is {span(age)} old"
            )
