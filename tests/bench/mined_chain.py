"""The chain behind the gas benchmark: blocks that follow from their number, and what they tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

from dashboard.domain.quantity import Wei
from dashboard.wire.gas import (
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
)
from dashboard.wire.node import BlockHeader, FeeHistory

FIRST_HEAD: Final = 3_000
"""The newest block at the start: the whole chain fits the window of percentiles."""

_GWEI: Final = 10**9
_GENESIS: Final = datetime(2026, 1, 1, tzinfo=UTC)
_BLOCK_TIME: Final = timedelta(seconds=1)


def base_fee(number: int) -> Wei:
    """Return the base fee of a block."""
    return Wei(10 * _GWEI + number * 7_919 % 1_000 * 1_000_000)


def header(number: int) -> BlockHeader:
    """Return a block, half full."""
    return BlockHeader(
        number=number,
        hash=_hash(number),
        parent_hash=_hash(number - 1),
        timestamp=_GENESIS + number * _BLOCK_TIME,
        base_fee_per_gas=base_fee(number),
        gas_used=15_000_000,
        gas_limit=30_000_000,
    )


def fee_history(count: int, newest: int, percentiles: Sequence[float]) -> FeeHistory:
    """Return what a node tells of so many blocks; rewards grow with the percentile."""
    oldest = max(0, newest - count + 1)
    numbers = range(oldest, newest + 1)
    reward = tuple(Wei(round(each * _GWEI / 20)) for each in percentiles)
    return FeeHistory(
        oldest_block=oldest,
        base_fee_per_gas=tuple(base_fee(number) for number in (*numbers, newest + 1)),
        gas_used_ratio=(0.5,) * len(numbers),
        reward=(reward,) * len(numbers) if percentiles else None,
    )


def gas_answers(head: int) -> dict[str, bytes]:
    """Return what three operations must answer, worked out from the blocks themselves."""
    fees = [base_fee(number) for number in range(head + 1)]
    ranked = sorted(fees)
    return {
        "baseFeeHistory": encode_base_fee_history(fees[-500:]),
        "baseFeePercentile": encode_base_fee_percentile(ranked[math.ceil(len(fees) / 2) - 1]),
        "busyThreshold": encode_busy_threshold(ranked[math.ceil(len(fees) * 9 / 10) - 1]),
    }


def _hash(number: int) -> bytes:
    return sha256(b"block %d" % number).digest()
