"""Gas replies kept ready: each network's node is followed, and its numbers encoded once a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import anyio

from dashboard.domain.observation import Operation
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.logs import get_logger
from dashboard.serve.services import Follower
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

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GasReplies:
    """The four bodies of one network as of one block, with the fees that they were made from.

    `block_time` is the mean of the blocks seen; a guess where there was no second one yet.
    """

    fees: ChainFees
    bodies: Mapping[str, bytes]
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
    ) -> None:
        """Ask once per `period`, spent in `pause`."""
        self.name = name
        self._follower = follower
        self._period = period
        self._pause = pause
        self._heads: deque[BlockHeader] = deque(maxlen=_HEADS_REMEMBERED)
        self._replies: GasReplies | None = None
        self._failures = 0

    @property
    def replies(self) -> GasReplies | None:
        """The newest replies with the time of the node's newest answer; None before the first."""
        return self._replies

    async def follow(self) -> None:
        """Refresh until cancelled."""
        while True:
            await self._pause((await self.refresh()).total_seconds())

    async def refresh(self) -> timedelta:
        """Ask the node once; return how long to leave it alone."""
        try:
            await self._follower.refresh()
            self._replies = self._told(self._follower.snapshot())
        except UpstreamError as error:
            return self._failed(error)
        except Exception:  # noqa: BLE001 - top of a loop that a mistake of ours must not end
            _log.exception("Following a node failed unexpectedly", network=self.name)
            self._failures += 1
            return _SLOWEST_RETRY
        if self._failures:
            _log.info("The node answers again", network=self.name, failures=self._failures)
        self._failures = 0
        return self._period

    def _told(self, fees: ChainFees) -> GasReplies:
        """Encode what is new; between two blocks that is mostly nothing."""
        renewed = None if self._replies is None else self._replies.renewed(fees)
        if renewed is not None:
            return renewed
        if not self._heads or self._heads[-1] != fees.head:
            self._heads.append(fees.head)
        return GasReplies(fees, encode_fees(fees), block_time(self._heads, self._period))

    def _failed(self, error: UpstreamError) -> timedelta:
        """Say the first failure of a row, and wait longer after each."""
        if not self._failures:
            _log.warning("The node does not answer", network=self.name, error=str(error))
        wait = min(self._period * (1 << min(self._failures, 10)), _SLOWEST_RETRY)
        self._failures += 1
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


def block_time(heads: Sequence[BlockHeader], unknown: timedelta) -> timedelta:
    """Return the mean time between the blocks that were seen; `unknown` while that is one."""
    if len(heads) < 2:  # noqa: PLR2004 - a distance needs two ends
        return unknown
    blocks = heads[-1].number - heads[0].number
    elapsed = heads[-1].timestamp - heads[0].timestamp
    return elapsed / blocks if blocks > 0 and elapsed > timedelta(0) else unknown
