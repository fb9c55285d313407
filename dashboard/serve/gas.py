"""The gas API: four operations of each followed network, from prepared replies."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import anyio
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from dashboard.domain.health.observation import FEE_OPERATIONS, Operation
from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import Clock, NetworkId, shorten
from dashboard.errors import UpstreamError, UpstreamThrottled
from dashboard.logs import get_logger
from dashboard.serve.dependencies import Follower
from dashboard.transport.http_connection import HttpReply, json_reply
from dashboard.upstream.gas_oracle import ChainFees
from dashboard.wire.gas import (
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
    encode_error,
    encode_suggested_gas_fees,
)
from dashboard.wire.node import BlockHeader

_NO_NETWORK: Final = (NetworkId(0), None)
_WITH_EMPTY_SEGMENT: Final = 3


class GasApi:
    """Answers what follows ``/networks/`` in a path, for authenticated callers."""

    def __init__(
        self, fees: Mapping[NetworkId, FollowedNetwork], clock: Clock, oldest: timedelta
    ) -> None:
        """Serve the fees of these networks until `oldest` after their node last answered."""
        self._fees = {str(network_id): (network_id, each) for network_id, each in fees.items()}
        self._clock = clock
        self._oldest = oldest

    def answer(self, rest: Sequence[str], caller: ApiKey) -> Response | HttpReply:
        """Answer ``<network_id>/<operation>``, given as its segments."""
        network_text, operation = _network_and_operation(rest)
        if operation not in FEE_OPERATIONS:
            known = ", ".join(sorted(FEE_OPERATIONS))
            return status_error(
                404, f"{shorten(operation)} is not an operation; there are {known}."
            )
        network_id, network = self._fees.get(network_text, _NO_NETWORK)
        if network is None or not caller.opens(network_id):
            return status_error(400, f"{shorten(network_text)} is not a supported chain id.")
        replies = network.replies
        if replies is None or self._clock() - replies.read_at > self._oldest:
            return _unavailable(network)
        return replies.ready[operation]


def _unavailable(network: FollowedNetwork) -> Response:
    """Refuse for lack of recent fees; the client may try again after about the next poll."""
    if network.loading is not None:
        return status_error(503, network.loading, {"Retry-After": "1"})
    msg = f"The node of {network.name} does not answer and no recent fees are held."
    return status_error(503, msg, {"Retry-After": "5"})


def status_error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error in the form of every address except the RPC's."""
    return Response(
        encode_error(status, message),
        status_code=status,
        media_type="application/json",
        headers={"Cache-Control": "no-store", **(headers or {})},
    )


def _network_and_operation(rest: Sequence[str]) -> tuple[str, str]:
    """Split the segments; some clients send ``/networks//1/busyThreshold``."""
    if len(rest) == _WITH_EMPTY_SEGMENT and not rest[0]:
        rest = rest[1:]
    return (rest[0] if rest else ""), "/".join(rest[1:])


_SLOWEST_RETRY: Final = timedelta(seconds=15)
_HEADS_REMEMBERED: Final = 30
_HEADS_FOR_BLOCK_TIME: Final = 3
_POLLS_WHILE_LATE: Final = 4
_LONGEST_PAUSE: Final = 3

_log = get_logger(__name__)


class GasReplies(Struct, frozen=True):
    """The four replies of one network as of one block, and the fees in them.

    `block_time` is the mean of the blocks seen; a guess until there are two.
    """

    fees: ChainFees
    ready: Mapping[str, HttpReply]
    block_time: timedelta

    @property
    def read_at(self) -> datetime:
        return self.fees.read_at

    def refreshed(self, fees: ChainFees) -> GasReplies | None:
        """Return these replies as of `fees`; None if more than the time of reading changed."""
        if replace(fees, read_at=self.read_at) != self.fees:
            return None
        return replace(self, fees=fees)


class FollowedNetwork:
    """Follows the node of one network, and keeps its gas replies ready.

    Each network has its own task and its own pauses, so that none delays another.
    """

    def __init__(
        self,
        name: str,
        follower: Follower,
        period: timedelta,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        now: Callable[[], float] = anyio.current_time,
    ) -> None:
        """Poll about once per `period`, spent in `pause`; `now` is a monotonic clock in seconds."""
        self.name = name
        self.follower = follower
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

        They are computed from the whole window, never from a part of it.
        """
        return self._replies

    @property
    def loading(self) -> str | None:
        """How much of the window is read, in words; None once all is, or before the first block."""
        if self.follower.is_complete or not self.follower.blocks_held:
            return None
        return (
            f"The window of {self.name} is being read: "
            f"{self.follower.blocks_held:,} of {self.follower.window_blocks:,} blocks."
        )

    async def follow(self) -> None:
        while True:
            await self._pause((await self.refresh()).total_seconds())

    async def refresh(self) -> timedelta:
        """Poll the node once; return how long to pause."""
        try:
            before = self.follower.blocks_held
            await self.follower.refresh()
            if self.follower.is_complete:
                self._replies = self._replies_of(self.follower.snapshot())
        except UpstreamError as error:
            return self._pause_after(error)
        except Exception:  # noqa: BLE001 - top of a loop that a mistake of ours must not end
            _log.exception("Following a node failed unexpectedly", network=self.name)
            self._failures += 1
            self.failures_total += 1
            return _SLOWEST_RETRY
        if self._failures:
            _log.info("The node answers again", network=self.name, failures=self._failures)
        self._failures = 0
        if not self.follower.is_complete:
            return timedelta(0) if self.follower.blocks_held > before else self._period
        return self._until_next_block()

    def _until_next_block(self) -> timedelta:
        """Return how long to pause: until the next block is due, and briefly while it is late.

        If the block time is not known yet, or blocks have stopped: one period.
        """
        if len(self._heads) < _HEADS_FOR_BLOCK_TIME or self._replies is None:
            return self._period
        block_seconds = self._replies.block_time.total_seconds()
        due = self._new_head_at + block_seconds - self._now()
        shortest = self._period / _POLLS_WHILE_LATE
        if due < -block_seconds:
            return self._period
        return min(max(timedelta(seconds=due), shortest), self._period * _LONGEST_PAUSE)

    def _replies_of(self, fees: ChainFees) -> GasReplies:
        """Encode the replies, unless nothing is new, as is usual between two blocks."""
        refreshed = None if self._replies is None else self._replies.refreshed(fees)
        if refreshed is not None:
            return refreshed
        if not self._heads or self._heads[-1] != fees.head:
            self._heads.append(fees.head)
            self._new_head_at = self._now()
        block_seconds = block_time(self._heads, self._period)
        return GasReplies(fees, ready_replies(fees, block_seconds), block_seconds)

    def _pause_after(self, error: UpstreamError) -> timedelta:
        """Log the first failure in a row, and pause longer after each."""
        if not self._failures:
            _log.warning("The node does not answer", network=self.name, why=str(error))
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


def ready_replies(fees: ChainFees, block_time: timedelta) -> dict[str, HttpReply]:
    """Return the reply to each operation; clients may cache it until the next block is due."""
    seconds = max(1, math.floor(block_time.total_seconds()))
    cached = (b"cache-control", b"max-age=%d" % seconds)
    return {
        operation: json_reply(body, more=[cached]) for operation, body in encode_fees(fees).items()
    }


def block_time(heads: Sequence[BlockHeader], unknown: timedelta) -> timedelta:
    """Return the mean time between the blocks seen; `unknown` if there is only one."""
    if len(heads) < 2:  # noqa: PLR2004 - a distance needs two ends
        return unknown
    blocks = heads[-1].number - heads[0].number
    elapsed = heads[-1].timestamp - heads[0].timestamp
    return elapsed / blocks if blocks > 0 and elapsed > timedelta(0) else unknown
