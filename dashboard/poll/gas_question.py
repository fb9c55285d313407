"""One gas operation of one network: asked of the gas API, and of the node while that is silent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Protocol

import anyio

from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.observation import Failure, GasSource, Operation, longest_wish
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamError, UpstreamUnavailable
from dashboard.upstream.errors import failure_of

RETRY_AFTER: Final = timedelta(seconds=30)
"""How soon an operation that failed is asked again, unless its own period is shorter."""

_LONGEST_TRIAL: Final = timedelta(seconds=5)
"""How long a gas API that was silent may take for its first answer again."""


class GasAsker(Protocol):
    """Whoever answers the four operations; every method raises UpstreamError."""

    async def suggested_gas_fees(self) -> SuggestedGasFees: ...
    async def base_fee_history(self) -> tuple[Wei, ...]: ...
    async def base_fee_percentile(self) -> Wei: ...
    async def busy_threshold(self) -> Wei: ...


Ask = Callable[[], Awaitable[Any]]


def ask_of(asker: GasAsker, operation: Operation) -> Ask:
    """Return how one operation is asked."""
    asks: dict[Operation, Ask] = {
        Operation.SUGGESTED_GAS_FEES: asker.suggested_gas_fees,
        Operation.BASE_FEE_HISTORY: asker.base_fee_history,
        Operation.BASE_FEE_PERCENTILE: asker.base_fee_percentile,
        Operation.BUSY_THRESHOLD: asker.busy_threshold,
    }
    return asks[operation]


@dataclass(frozen=True, slots=True)
class GasAnswer:
    """What came of one question: a value and who told it, why not, or both."""

    operation: Operation
    value: Any = None
    source: GasSource = GasSource.GAS_API
    failure: Failure | None = None


@dataclass(slots=True)
class GasQuestion:
    """One operation, who can answer it, and when it is due.

    Where both can, the gas API is asked first. One that fails is left alone for half a minute,
    or as long as it wishes; meanwhile the node answers, so that its silence costs no data. Then
    it is tried again, not for long, and where it answers it is asked alone as before. Whoever
    asks may be early by `slack`, so a rest after trouble lasts that much longer.
    """

    operation: Operation
    period: timedelta
    api: Ask | None
    node: Ask | None
    slack: timedelta = timedelta(0)
    due: timedelta = timedelta.min
    rests_until: timedelta | None = None
    silence: Failure | None = None

    async def ask(self, started: timedelta) -> GasAnswer:
        """Ask once, at this time of the clock that only goes on."""
        if self.api is None:
            return await self._ask_node(GasSource.NODE, started)
        if self.rests_until is not None and started < self.rests_until:
            return await self._ask_node(GasSource.NODE_INSTEAD, started)
        try:
            value = await self._ask_api(self.api)
        except UpstreamError as error:
            return await self._without_api(error, started)
        self.rests_until = self.silence = None
        self.due = started + self.period
        return GasAnswer(self.operation, value)

    def leave_api_alone(self, until: timedelta) -> None:
        """Ask the gas API nothing before, since it told another question to wait."""
        if self.api is None:
            return
        if self.node is None:
            self.due = max(self.due, until + self.slack)
        else:
            self.rests_until = max(self.rests_until or until, until)

    async def _ask_api(self, api: Ask) -> Any:  # noqa: ANN401 - each operation has its own answer
        if self.rests_until is None:
            return await api()
        longest = min(self.period / 2, _LONGEST_TRIAL)
        try:
            with anyio.fail_after(longest.total_seconds()):
                return await api()
        except TimeoutError:
            said = f"the gas API still gives no answer within {longest.total_seconds():g} s"
            raise UpstreamUnavailable(said) from None

    async def _without_api(self, error: UpstreamError, started: timedelta) -> GasAnswer:
        failure = failure_of(error)
        if self.node is None:
            self.due = started + _patience(self.period, failure) + self.slack
            return GasAnswer(self.operation, failure=failure)
        self.silence = failure
        self.rests_until = started + max(RETRY_AFTER, longest_wish([failure]))
        answer = await self._ask_node(GasSource.NODE_INSTEAD, started)
        return replace(answer, failure=answer.failure or failure)

    async def _ask_node(self, source: GasSource, started: timedelta) -> GasAnswer:
        assert self.node is not None  # noqa: S101 - one of the two can be asked
        try:
            value = await self.node()
        except UpstreamError as error:
            failure = failure_of(error)
            self.due = started + _patience(self.period, failure) + self.slack
            return GasAnswer(self.operation, failure=_both(self.silence, failure))
        self.due = started + self.period
        return GasAnswer(self.operation, value, source)


def _both(of_api: Failure | None, of_node: Failure) -> Failure:
    """Tell both troubles where the node was to answer instead."""
    if of_api is None:
        return of_node
    return Failure(of_api.kind, f"{of_api.message}; {of_node.message}", of_api.retry_after)


def _patience(period: timedelta, failure: Failure) -> timedelta:
    """Return how long to leave an upstream alone that failed, where nobody answers instead."""
    wish = longest_wish([failure])
    return max(wish, period) if wish else min(period, RETRY_AFTER)
