"""Gas replies kept ready: each network's node is followed, and its numbers encoded once a block."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import anyio

from dashboard.domain.observation import Operation
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.logs import get_logger
from dashboard.serve.dependencies import Follower
from dashboard.serve.http_reply import Reply, json_reply
from dashboard.upstream.blocks import ChainFees
from dashboard.wire.gas import (
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
    encode_suggested_gas_fees,
)
from dashboard.wire.node import BlockHeader

_SLOWEST_RETRY: Final = timedelta(seconds=15)
_HEADS_REMEMBERED: Final = 30
_A_PACE: Final = 3
_LOOKS_WHILE_LATE: Final = 4
_LONGEST_LOOK: Final = 3

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GasReplies:
    """The four replies of one network as of one block, with the fees that they were made from.

    `block_time` is the mean of the blocks seen; a guess where there was no second one yet.
    """

    fees: ChainFees
    ready: Mapping[str, Reply]
    block_time: timedelta

    @property
    def read_at(self) -> datetime:
        """When the node last answered."""
        return self.fees.read_at

    def renewed(self, fees: ChainFees) -> GasReplies | None:
        """Return these replies as of `fees`; None where those say anything new but their age."""
        if replace(fees, read_at=self.read_at) != self.fees:
            return None
        return replace(self, fees=fees)


class NetworkFees:
    """Follows the node of one network and holds what it tells of fees.

    Its trouble stays its own: each network has its own task and its own waiting time.
    """

    def __init__(
        self,
        name: str,
        follower: Follower,
        period: timedelta,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        now: Callable[[], float] = anyio.current_time,
    ) -> None:
        """Ask about once per `period`, spent in `pause`; `now` counts seconds that only go on."""
        self.name = name
        self._follower = follower
        self._period = period
        self._pause = pause
        self._now = now
        self._new_head_at = 0.0
        self.failures_total = 0
        self._heads: deque[BlockHeader] = deque(maxlen=_HEADS_REMEMBERED)
        self._replies: GasReplies | None = None
        self._failures = 0

    @property
    def replies(self) -> GasReplies | None:
        """The newest replies with the time of the node's newest answer; None before the first.

        They rest on the whole window, never on a part of it.
        """
        return self._replies

    @property
    def loading(self) -> str | None:
        """How far the window is read, in words; None once it is, or before the first block."""
        if self._follower.is_complete or not self.window_filled:
            return None
        return (
            f"The window of {self.name} is being read: "
            f"{self.window_filled:,} of {self.window:,} blocks."
        )

    @property
    def follower(self) -> Follower:
        """Who asks the nodes, and knows how each of them stands."""
        return self._follower

    @property
    def requests(self) -> int:
        """How many requests the nodes got."""
        return self._follower.requests

    @property
    def fail_overs(self) -> int:
        """How often another node was asked from then on."""
        return self._follower.changes

    @property
    def window_filled(self) -> int:
        """How many blocks of the window are read."""
        return self._follower.blocks_held

    @property
    def window(self) -> int:
        """How many blocks the window has."""
        return self._follower.window_blocks

    async def follow(self) -> None:
        """Refresh until cancelled."""
        while True:
            await self._pause((await self.refresh()).total_seconds())

    async def refresh(self) -> timedelta:
        """Ask the node once; return how long to leave it alone."""
        try:
            before = self.window_filled
            await self._follower.refresh()
            if self._follower.is_complete:
                self._replies = self._told(self._follower.snapshot())
        except UpstreamError as error:
            return self._failed(error)
        except Exception:  # noqa: BLE001 - top of a loop that a mistake of ours must not end
            _log.exception("Following a node failed unexpectedly", network=self.name)
            self._failures += 1
            self.failures_total += 1
            return _SLOWEST_RETRY
        if self._failures:
            _log.info("The node answers again", network=self.name, failures=self._failures)
        self._failures = 0
        if not self._follower.is_complete:
            return timedelta(0) if self.window_filled > before else self._period
        return self._next_look()

    def _next_look(self) -> timedelta:
        """Return when to ask again: when the next block is due, and soon again while it is late.

        Blocks that came at no known pace, or have stopped coming, are asked for once per period.
        """
        if len(self._heads) < _A_PACE or self._replies is None:
            return self._period
        pace = self._replies.block_time.total_seconds()
        due = self._new_head_at + pace - self._now()
        shortest = self._period / _LOOKS_WHILE_LATE
        if due < -pace:
            return self._period
        return min(max(timedelta(seconds=due), shortest), self._period * _LONGEST_LOOK)

    def _told(self, fees: ChainFees) -> GasReplies:
        """Encode what is new; between two blocks that is mostly nothing."""
        renewed = None if self._replies is None else self._replies.renewed(fees)
        if renewed is not None:
            return renewed
        if not self._heads or self._heads[-1] != fees.head:
            self._heads.append(fees.head)
            self._new_head_at = self._now()
        pace = block_time(self._heads, self._period)
        return GasReplies(fees, ready_replies(fees, pace), pace)

    def _failed(self, error: UpstreamError) -> timedelta:
        """Say the first failure of a row, and wait longer after each."""
        if not self._failures:
            _log.warning("The node does not answer", network=self.name, error=str(error))
        wait = min(self._period * (1 << min(self._failures, 10)), _SLOWEST_RETRY)
        self._failures += 1
        self.failures_total += 1
        if isinstance(error, UpstreamThrottled) and error.retry_after is not None:
            return max(wait, error.retry_after)
        return wait


def encode_fees(fees: ChainFees) -> dict[str, bytes]:
    """Return the reply body of each gas operation, by its name on the wire."""
    return {
        Operation.SUGGESTED_GAS_FEES: encode_suggested_gas_fees(fees.suggested_gas_fees),
        Operation.BASE_FEE_HISTORY: encode_base_fee_history(fees.base_fee_history),
        Operation.BASE_FEE_PERCENTILE: encode_base_fee_percentile(fees.base_fee_percentile),
        Operation.BUSY_THRESHOLD: encode_busy_threshold(fees.busy_threshold),
    }


def ready_replies(fees: ChainFees, block_time: timedelta) -> dict[str, Reply]:
    """Return what is sent for each operation; it may be cached until the next block is due."""
    seconds = max(1, math.floor(block_time.total_seconds()))
    cached = (b"cache-control", b"max-age=%d" % seconds)
    return {
        operation: json_reply(body, more=[cached]) for operation, body in encode_fees(fees).items()
    }


def block_time(heads: Sequence[BlockHeader], unknown: timedelta) -> timedelta:
    """Return the mean time between the blocks that were seen; `unknown` while that is one."""
    if len(heads) < 2:  # noqa: PLR2004 - a distance needs two ends
        return unknown
    blocks = heads[-1].number - heads[0].number
    elapsed = heads[-1].timestamp - heads[0].timestamp
    return elapsed / blocks if blocks > 0 and elapsed > timedelta(0) else unknown
