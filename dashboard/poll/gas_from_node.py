"""Fees computed from a node's blocks, in place of a gas API's answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, Protocol

import anyio

from dashboard.domain.formatting import span
from dashboard.domain.health.observation import Operation
from dashboard.errors import UpstreamError, UpstreamUnavailable
from dashboard.poll.lease import Clocks
from dashboard.upstream.gas_oracle import ChainFees

_SHARED_FOR: Final = timedelta(milliseconds=500)
"""How long other callers share what one refresh read."""

_LONGEST_LOAD: Final = timedelta(seconds=8)
"""How long a question waits for the whole window; then it fails, and is asked again."""


class ChainReader(Protocol):
    """Reads a chain's fees; `upstream.node_failover.FailoverFollower` implements it."""

    @property
    def is_complete(self) -> bool: ...
    @property
    def blocks_held(self) -> int: ...
    async def refresh(self) -> None: ...
    def snapshot(self) -> ChainFees: ...


class GasFromNode:
    """Answers as a gas API does.

    The questions of one poll share one reading of the node, or its failure. All answers need the
    whole window and wait until that is loaded, because of the congestion among the suggested fees.
    With `stalled_after`, an older newest block counts as no answer: the node lost its peers, or
    nothing is mined.
    """

    def __init__(
        self, follower: ChainReader, clocks: Clocks, stalled_after: timedelta | None = None
    ) -> None:
        self._follower = follower
        self._clocks = clocks
        self._stalled_after = stalled_after
        self._one_at_a_time = anyio.Lock()
        self._read_at: timedelta | None = None
        self._trouble: UpstreamError | None = None

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - each has its own answer
        """Return what the newest blocks say; raises UpstreamError."""
        return (await self._read_whole_window()).answer(operation)

    async def _read_whole_window(self) -> ChainFees:
        """Load the window first; UpstreamUnavailable if that stalls, or takes long."""
        async with self._one_at_a_time:
            now = self._clocks.elapsed()
            if self._read_at is None or now - self._read_at > _SHARED_FOR:
                await self._refresh()
        if self._trouble is not None:
            raise self._trouble
        started, held = self._clocks.elapsed(), -1
        while not self._follower.is_complete:
            before, held = held, self._follower.blocks_held
            if held == before or self._clocks.elapsed() - started > _LONGEST_LOAD:
                raise UpstreamUnavailable(f"the node's window is being read: {held} blocks so far")
            async with self._one_at_a_time:
                await self._follower.refresh()
        return self._follower.snapshot()

    async def _refresh(self) -> None:
        self._trouble = None
        try:
            await self._follower.refresh()
            self._check_age(self._follower.snapshot())
        except UpstreamError as error:
            self._trouble = error
        self._read_at = self._clocks.elapsed()

    def _check_age(self, fees: ChainFees) -> None:
        age = self._clocks.now() - fees.head.timestamp
        if self._stalled_after is not None and age > self._stalled_after:
            raise UpstreamUnavailable(
                f"the node is stalled: its newest block {fees.head.number} is {span(age)} old"
            )
