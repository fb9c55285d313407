"""Who answers one question about fees: the gas API, or the network's node while the API fails."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, Protocol

import anyio
from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.fees.gas import GasSource
from dashboard.domain.health.observation import Failure, Operation, longest_retry_after
from dashboard.errors import UpstreamError, UpstreamUnavailable
from dashboard.upstream.endpoint import failure_of

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
