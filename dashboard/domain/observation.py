"""Observations: what one poll saw, or how it failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.exclusion import RejectedTransaction
from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.quantity import NetworkId, TxHash, Wei


class FailureKind(StrEnum):
    """How a question to upstream failed; one word per leaf of `UpstreamError`."""

    UNAVAILABLE = "unavailable"
    THROTTLED = "throttled"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer; `message` is safe to show and holds no secret.

    `retry_after` is how long the upstream asks to be left alone, where it does; it is obeyed at
    once and not stored.
    """

    kind: FailureKind
    message: str
    retry_after: timedelta | None = field(default=None, compare=False)


def longest_retry_after(failures: Iterable[Failure]) -> timedelta:
    """Return for how long an upstream is to be left alone that failed in these ways."""
    wishes = (each.retry_after for each in failures if each.retry_after is not None)
    return max(wishes, default=timedelta())


class Operation(StrEnum):
    """The questions that are polled, in the wire's words."""

    SUGGESTED_GAS_FEES = "suggestedGasFees"
    BASE_FEE_HISTORY = "baseFeeHistory"
    BASE_FEE_PERCENTILE = "baseFeePercentile"
    BUSY_THRESHOLD = "busyThreshold"
    EXCLUSION_STATUS = "getTransactionExclusionStatusV1"
    TRANSACTION_RECEIPT = "eth_getTransactionReceipt"


class GasSource(StrEnum):
    """Who told a fee.

    NODE_INSTEAD: the node, since the gas API of the network did not answer. DEMO_HISTORY: nobody,
    it was made up for trying the pages.
    """

    GAS_API = "gas API"
    NODE = "node"
    NODE_INSTEAD = "node instead"
    DEMO_HISTORY = "demo history"

    def is_better_than(self, other: GasSource) -> bool:
        """Whether what this one tells of a moment takes the place of what the other one told."""
        return _TRUST[self] > _TRUST[other]


_TRUST = {
    GasSource.GAS_API: 2,
    GasSource.NODE: 2,
    GasSource.NODE_INSTEAD: 1,
    GasSource.DEMO_HISTORY: 0,
}


@dataclass(frozen=True, slots=True)
class GasObservation:
    """What one gas poll saw; a field is None where that operation was not asked or failed.

    `sources` tells who answered; what it does not name, the gas API did. An operation that the
    node answered instead may stand among the `failures` too, with why the gas API did not.
    """

    network_id: NetworkId
    asked_at: datetime
    suggested_gas_fees: SuggestedGasFees | None = None
    base_fee_history: tuple[Wei, ...] | None = None
    base_fee_percentile: Wei | None = None
    busy_threshold: Wei | None = None
    failures: tuple[tuple[Operation, Failure], ...] = ()
    sources: Mapping[Operation, GasSource] = field(default_factory=dict)

    def source_of(self, operation: Operation) -> GasSource:
        """Return who answered an operation."""
        return self.sources.get(operation, GasSource.GAS_API)


@dataclass(frozen=True, slots=True)
class ExclusionAnswer:
    """What upstream said of one hash: a record, null (`record` is None), or a failure."""

    tx_hash: TxHash
    record: RejectedTransaction | None = None
    failure: Failure | None = None
