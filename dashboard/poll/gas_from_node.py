"""The four gas operations without a gas API: from the newest blocks of the network's node."""

from __future__ import annotations

from datetime import timedelta
from typing import Final, Protocol

import anyio

from dashboard.domain.fees.gas import SuggestedGasFees
from dashboard.domain.formatting import span
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamError, UpstreamUnavailable
from dashboard.poll.clocks import Clocks
from dashboard.upstream.gas_oracle import ChainFees

_ONE_LOOK: Final = timedelta(milliseconds=500)
"""How long one look at the node serves other callers as well."""

_LONGEST_LOAD: Final = timedelta(seconds=8)
"""How long a question waits for the whole window; then it fails, and is put again."""


class ChainReader(Protocol):
    """Reads a chain's fees; `upstream.failover.FailoverFollower` is the one in use."""

    @property
    def is_complete(self) -> bool: ...
    @property
    def blocks_held(self) -> int: ...
    async def refresh(self) -> None: ...
    def snapshot(self) -> ChainFees: ...


class GasFromNode:
    """Answers as a gas API does; every method raises UpstreamError.

    The questions of one poll share one look at the node: what it said, or why it did not. All
    answers rest on the whole window and wait until that is loaded: the congestion among the
    suggested fees does too. With `stalled_after`, a newest block that is older counts as no
    answer: the node lost its peers, or nothing is mined.
    """

    def __init__(
        self, follower: ChainReader, clocks: Clocks, stalled_after: timedelta | None = None
    ) -> None:
        """Ask the node nothing before a caller asks here."""
        self._follower = follower
        self._clocks = clocks
        self._stalled_after = stalled_after
        self._one_at_a_time = anyio.Lock()
        self._looked_at: timedelta | None = None
        self._trouble: UpstreamError | None = None

    async def suggested_gas_fees(self) -> SuggestedGasFees:
        """Return the fees that the newest blocks suggest."""
        return (await self._look_at_all()).suggested_gas_fees

    async def base_fee_history(self) -> tuple[Wei, ...]:
        """Return the base fees of the last blocks, oldest first."""
        return (await self._look_at_all()).base_fee_history

    async def base_fee_percentile(self) -> Wei:
        """Return the base fee that half of the window did not exceed."""
        return (await self._look_at_all()).base_fee_percentile

    async def busy_threshold(self) -> Wei:
        """Return the base fee strictly above which the network counts as busy."""
        return (await self._look_at_all()).busy_threshold

    async def _look(self) -> ChainFees:
        async with self._one_at_a_time:
            now = self._clocks.elapsed()
            if self._looked_at is None or now - self._looked_at > _ONE_LOOK:
                await self._refresh()
        if self._trouble is not None:
            raise self._trouble
        return self._follower.snapshot()

    async def _look_at_all(self) -> ChainFees:
        """Load the window first; UpstreamUnavailable where that does not go on, or takes long."""
        fees, held = await self._look(), -1
        started = self._clocks.elapsed()
        while not self._follower.is_complete:
            before, held = held, self._follower.blocks_held
            if held == before or self._clocks.elapsed() - started > _LONGEST_LOAD:
                raise UpstreamUnavailable(f"the node's window is being read: {held} blocks so far")
            async with self._one_at_a_time:
                await self._follower.refresh()
            fees = self._follower.snapshot()
        return fees

    async def _refresh(self) -> None:
        self._trouble = None
        try:
            await self._follower.refresh()
            self._check_age(self._follower.snapshot())
        except UpstreamError as error:
            self._trouble = error
        self._looked_at = self._clocks.elapsed()

    def _check_age(self, fees: ChainFees) -> None:
        age = self._clocks.now() - fees.head.timestamp
        if self._stalled_after is not None and age > self._stalled_after:
            raise UpstreamUnavailable(
                f"the node is stalled: its newest block {fees.head.number} is {span(age)} old"
            )
