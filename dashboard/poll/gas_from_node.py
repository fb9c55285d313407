"""The four gas operations without a gas API: from the newest blocks of the network's node."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import anyio

from dashboard.domain.gas import SuggestedGasFees
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamError
from dashboard.upstream.blocks import ChainFees, ChainFollower

_ONE_LOOK: Final = timedelta(milliseconds=500)
"""How long one look at the node counts for whoever else asks."""


class GasFromNode:
    """Answers as a gas API does; every method raises UpstreamError.

    The questions of one poll share one look at the node: what it said, or why it did not.
    """

    def __init__(self, follower: ChainFollower, elapsed: Callable[[], timedelta]) -> None:
        """Ask the node nothing before somebody asks here."""
        self._follower = follower
        self._elapsed = elapsed
        self._one_at_a_time = anyio.Lock()
        self._looked_at: timedelta | None = None
        self._trouble: UpstreamError | None = None

    async def suggested_gas_fees(self) -> SuggestedGasFees:
        """Return the fees that the newest blocks suggest."""
        return (await self._look()).suggested_gas_fees

    async def base_fee_history(self) -> tuple[Wei, ...]:
        """Return the base fees of the last blocks, oldest first."""
        return (await self._look()).base_fee_history

    async def base_fee_percentile(self) -> Wei:
        """Return the base fee that half of the window did not exceed."""
        return (await self._look()).base_fee_percentile

    async def busy_threshold(self) -> Wei:
        """Return the base fee strictly above which the network counts as busy."""
        return (await self._look()).busy_threshold

    async def _look(self) -> ChainFees:
        async with self._one_at_a_time:
            if self._looked_at is None or self._elapsed() - self._looked_at > _ONE_LOOK:
                await self._refresh()
        if self._trouble is not None:
            raise self._trouble
        return self._follower.snapshot()

    async def _refresh(self) -> None:
        self._trouble = None
        try:
            await self._follower.refresh()
        except UpstreamError as error:
            self._trouble = error
        self._looked_at = self._elapsed()
