"""Observations: what one poll saw, or how it failed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
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
    """Why there is no answer; `message` is safe to show and holds no secret."""

    kind: FailureKind
    message: str


class Operation(StrEnum):
    """The questions that are polled, in the wire's words."""

    SUGGESTED_GAS_FEES = "suggestedGasFees"
    BASE_FEE_HISTORY = "baseFeeHistory"
    BASE_FEE_PERCENTILE = "baseFeePercentile"
    BUSY_THRESHOLD = "busyThreshold"
    EXCLUSION_STATUS = "getTransactionExclusionStatusV1"


@dataclass(frozen=True, slots=True)
class GasObservation:
    """What one gas poll saw; a field is None where that operation was not asked or failed."""

    network_id: NetworkId
    asked_at: datetime
    suggested_gas_fees: SuggestedGasFees | None = None
    base_fee_history: tuple[Wei, ...] | None = None
    base_fee_percentile: Wei | None = None
    busy_threshold: Wei | None = None
    failures: tuple[tuple[Operation, Failure], ...] = ()


@dataclass(frozen=True, slots=True)
class ExclusionAnswer:
    """What upstream said of one hash: a record, null (`record` is None), or a failure."""

    tx_hash: TxHash
    record: RejectedTransaction | None = None
    failure: Failure | None = None
