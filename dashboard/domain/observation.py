"""Observations: what one poll saw, or how it failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.exclusion import RejectedTransaction
from dashboard.domain.quantity import TxHash


class FailureKind(StrEnum):
    """How a question to upstream failed; one word per leaf of `UpstreamError`."""

    UNAVAILABLE = "unavailable"
    THROTTLED = "throttled"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer; `message` is safe to show and holds no secret.

    `retry_after` is for how long the upstream asks for no requests, where it does; it is obeyed at
    once and not stored.
    """

    kind: FailureKind
    message: str
    retry_after: timedelta | None = field(default=None, compare=False)


def longest_retry_after(failures: Iterable[Failure]) -> timedelta:
    """Return for how long not to ask an upstream that failed in these ways."""
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


FEE_OPERATIONS: Final = frozenset(
    {
        Operation.SUGGESTED_GAS_FEES,
        Operation.BASE_FEE_HISTORY,
        Operation.BASE_FEE_PERCENTILE,
        Operation.BUSY_THRESHOLD,
    }
)
"""The questions that a gas API answers."""


@dataclass(frozen=True, slots=True)
class ExclusionAnswer:
    """What upstream said of one hash: a record, null (`record` is None), or a failure."""

    tx_hash: TxHash
    record: RejectedTransaction | None = None
    failure: Failure | None = None
