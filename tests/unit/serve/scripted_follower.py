"""A follower that tells what a test scripted, in place of one that asks a node."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.errors import UpstreamUnavailable
from dashboard.upstream.gas_oracle import ChainFees
from dashboard.upstream.node_failover import NodeStatus
from dashboard.wire.node import BlockHeader
from tests.builders import A_MOMENT, GWEI


def a_header(number: int, base_fee: int = 7 * GWEI, seconds: float = 2.0) -> BlockHeader:
    """Return block `number` of a chain with a block every `seconds`."""
    return BlockHeader(
        number=number,
        hash=number.to_bytes(32),
        parent_hash=(number - 1).to_bytes(32),
        timestamp=A_MOMENT + timedelta(seconds=number * seconds),
        base_fee_per_gas=Wei(base_fee),
        gas_used=15_000_000,
        gas_limit=30_000_000,
    )


def some_fees(base_fee: int) -> SuggestedGasFees:
    level = FeeSuggestion(
        Wei(GWEI), Wei(base_fee + GWEI), timedelta(seconds=15), timedelta(seconds=30)
    )
    band = (Wei(1), Wei(GWEI))
    return SuggestedGasFees(
        low=level,
        medium=level,
        high=level,
        estimated_base_fee=Wei(base_fee),
        network_congestion=0.5,
        latest_priority_fee_range=band,
        historical_priority_fee_range=band,
        historical_base_fee_range=band,
        priority_fee_trend="level",
        base_fee_trend="up",
    )


class ScriptedFollower:
    """Is unread until a refresh; `trouble` makes refreshes fail.

    Each refresh reads as many older blocks as the next of `reads` says. Its chain has a block
    every `seconds`, counted from when it was made.
    """

    def __init__(self, clock: Callable[[], datetime], seconds: float = 2.0) -> None:
        self.node_statuses: tuple[NodeStatus, ...] = ()
        self.changes = self.blocks_held = self.window_blocks = 0
        self.is_complete = True
        self.trouble: Exception | None = None
        self.reads: list[int] = []
        self.refreshes = 0
        self.next_head = 1
        self.base_fee = 7 * GWEI
        self.busy_threshold = 7 * GWEI
        self._clock = clock
        self._born = clock()
        self._seconds = seconds
        self._head: BlockHeader | None = None
        self._read_at: datetime | None = None

    @property
    def requests(self) -> int:
        return self.refreshes

    async def refresh(self) -> None:
        self.refreshes += 1
        if self.trouble is not None:
            raise self.trouble
        self.blocks_held += self.reads.pop(0) if self.reads else 0
        header = a_header(self.next_head, self.base_fee, self._seconds)
        self._head = replace(header, timestamp=header.timestamp - A_MOMENT + self._born)
        self._read_at = self._clock()

    def snapshot(self) -> ChainFees:
        if self._head is None or self._read_at is None:
            raise UpstreamUnavailable("the test node was never read")
        return ChainFees(
            network_id=NetworkId(1),
            head=self._head,
            read_at=self._read_at,
            suggested_gas_fees=some_fees(self.base_fee),
            base_fee_history=(Wei(GWEI), Wei(self.base_fee)),
            base_fee_percentile=Wei(GWEI),
            busy_threshold=Wei(self.busy_threshold),
        )
