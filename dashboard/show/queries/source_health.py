"""How each source of a network answers: what is asked of it, when it last answered, what fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.coverage import Watched
from dashboard.domain.gas import GasSource
from dashboard.domain.observation import FailureKind, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.show.queries.network_status import NetworkProfile, PolledValue
from dashboard.show.queries.spending import fee_credits, is_over_plan
from dashboard.store.engine.connection import Connection
from dashboard.store.gas import LatestGas, latest_gas_of
from dashboard.store.monitoring.coverage import unwatched_now
from dashboard.store.monitoring.upstream_failures import StandingFailure, last_answers_of

OPERATION_NAMES: Final = {
    Operation.SUGGESTED_GAS_FEES: "Base fee, congestion, suggested fees",
    Operation.BASE_FEE_HISTORY: "Base fees of past blocks",
    Operation.BASE_FEE_PERCENTILE: "Median base fee",
    Operation.BUSY_THRESHOLD: "Busy threshold",
    Operation.EXCLUSION_STATUS: "Rejections of tracked transactions",
    Operation.TRANSACTION_RECEIPT: "Inclusion of tracked transactions",
}
"""What each operation brings, in words."""

REMEDIES: Final = {
    FailureKind.UNAVAILABLE: (
        "It is asked again automatically. If this lasts, check the address of the endpoint and "
        "the network between."
    ),
    FailureKind.THROTTLED: (
        "It asks for fewer calls: lengthen the periods under [poll], or raise the plan."
    ),
    FailureKind.REFUSED: "Look at its address, at its key, and at what the key is allowed to ask.",
    FailureKind.UNREADABLE: "What answers there is not this API: look at the address.",
}
"""What to do about a failure that lasts."""


class OperationState(StrEnum):
    """Whether an operation is answered."""

    ANSWERED = "answered"
    STALE = "stale"
    FAILING = "failing"
    NOT_ASKED = "not asked yet"


@dataclass(frozen=True, slots=True)
class OperationHealth:
    """One operation on one network: when it was last answered, and why it is not.

    `period` is how often it is asked, None where that follows the age of each hash.
    Then `unasked_since` is since when no worker asks, None while one does.
    `is_from_node`: the last answer came from the node, since the gas API gave none.
    """

    operation: Operation
    answered_at: datetime | None
    period: timedelta | None
    failure: StandingFailure | None = None
    is_from_node: bool = False
    unasked_since: datetime | None = None

    def state(self, now: datetime) -> OperationState:
        """Return its state; a failure outweighs an old answer."""
        if self.failure is not None:
            return OperationState.FAILING
        if self.answered_at is None:
            return OperationState.NOT_ASKED
        if self.period is None:
            is_stale = self.unasked_since is not None
        else:
            is_stale = PolledValue(None, self.answered_at, self.period).is_stale(now)
        return OperationState.STALE if is_stale else OperationState.ANSWERED


@dataclass(frozen=True, slots=True)
class NetworkHealth:
    """The operations that one network is asked for; its fees took `fee_credits` today."""

    profile: NetworkProfile
    operations: Sequence[OperationHealth]
    fee_credits: int = 0

    @property
    def is_over_plan(self) -> bool:
        """Whether fees took more credits today than are planned for a whole day."""
        return is_over_plan(self.fee_credits, self.profile.planned_credits)

    def state(self, now: datetime) -> OperationState:
        """Return the worst state of its operations; without any, nothing was asked yet."""
        found = {operation.state(now) for operation in self.operations}
        worst = (OperationState.FAILING, OperationState.STALE, OperationState.ANSWERED)
        return next((state for state in worst if state in found), OperationState.NOT_ASKED)


def read_networks(
    connection: Connection, profiles: Sequence[NetworkProfile], now: datetime
) -> list[NetworkHealth]:
    """Return how each network answers, and what its fees took today."""
    ids = [each.network_id for each in profiles]
    took = fee_credits(connection, now)
    unasked = {
        each.network_id: each.begins_at
        for each in unwatched_now(connection, ids, now)
        if each.watched is Watched.REJECTIONS
    }
    latest, answered = latest_gas_of(connection, ids, now), last_answers_of(connection, ids)
    return [
        NetworkHealth(
            each,
            tuple(
                _operations(each, latest[each.network_id], answered, unasked.get(each.network_id))
            ),
            took.get(each.network_id, 0),
        )
        for each in profiles
    ]


def _operations(
    profile: NetworkProfile,
    latest: LatestGas,
    answered_at: Mapping[tuple[NetworkId, Operation], datetime],
    unasked: datetime | None,
) -> Iterator[OperationHealth]:
    failures = {failure.operation: failure for failure in latest.failures}
    answered = [*(_gas_operations(profile, latest) if profile.has_gas else ())]
    asked, followed = (
        answered_at.get((profile.network_id, each))
        for each in (Operation.EXCLUSION_STATUS, Operation.TRANSACTION_RECEIPT)
    )
    if profile.has_exclusion:
        answered.append(
            OperationHealth(Operation.EXCLUSION_STATUS, asked, None, unasked_since=unasked)
        )
    if followed is not None:
        answered.append(
            OperationHealth(Operation.TRANSACTION_RECEIPT, followed, None, unasked_since=unasked)
        )
    return _with_failures(answered, failures)


def _gas_operations(profile: NetworkProfile, latest: LatestGas) -> Iterator[OperationHealth]:
    usual, threshold = latest.base_fee_percentile, latest.busy_threshold
    for operation, dated, period in (
        (Operation.SUGGESTED_GAS_FEES, latest.suggested_gas_fees, profile.gas_period),
        (Operation.BUSY_THRESHOLD, threshold, profile.threshold_period),
        (Operation.BASE_FEE_PERCENTILE, usual, profile.threshold_period),
        (Operation.BASE_FEE_HISTORY, latest.base_fee_history, profile.history_period),
    ):
        answered_at = None if dated is None else dated.asked_at
        is_instead = dated is not None and dated.source is GasSource.NODE_INSTEAD
        yield OperationHealth(operation, answered_at, period, is_from_node=is_instead)


def _with_failures(
    operations: list[OperationHealth], failures: dict[Operation, StandingFailure]
) -> Iterator[OperationHealth]:
    """Add each failure to its operation; one of an operation not configured comes on its own."""
    for each in operations:
        yield replace(each, failure=failures.pop(each.operation, None))
    for operation, failure in failures.items():
        yield OperationHealth(operation, None, None, failure)
