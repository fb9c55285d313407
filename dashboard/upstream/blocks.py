"""The stream of a chain's new blocks: their transactions, and whether any block was missed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final

from msgspec import Struct

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.errors import UpstreamError
from dashboard.upstream.exclusion import loop_time
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_failover import Elapsed, Preference
from dashboard.wire.node import BlockTransactions

_FURTHEST: Final = 300
"""The most blocks since the last reading to catch up with."""

_AT_ONCE: Final = 100
"""Blocks in one batch."""

_PATIENCE: Final = 3
"""How many times in a row the newest block may be an older one, from a node that lags behind."""


class NewBlocks(Struct, frozen=True):
    """The transactions of the blocks since the last reading.

    `is_unbroken`: no block is missing, and the blocks read before are still part of the chain.
    """

    tx_hashes: frozenset[TxHash]
    is_unbroken: bool


class BlockStream:
    """Reads new blocks of one network from the first of its nodes that answers."""

    def __init__(
        self, nodes: Sequence[NodeClient], network_id: NetworkId, elapsed: Elapsed = loop_time
    ) -> None:
        """Check the network of each node at its first use, and after a failure."""
        self._unchecked = set(nodes)
        self._nodes = Preference(nodes, elapsed)
        self._network_id = network_id
        self._held: BlockTransactions | None = None
        self._times_older = 0

    async def read(self, most: int) -> NewBlocks | None:
        """Read the new blocks if they are at most `most`; None if there are more.

        In that case they are left to a later call; once there are too many to catch up with, a gap
        is reported. UpstreamError if no node answers; the next reading then begins at the same
        block.
        """
        *others, last = self._nodes.in_order()
        for node in others:
            with suppress(UpstreamError):
                return await self._try(node, most)
        return await self._try(last, most)

    async def _try(self, node: NodeClient, most: int) -> NewBlocks | None:
        is_answered, began = False, self._nodes.elapsed()
        try:
            found = await self._read(node, most)
            is_answered = True
        finally:
            self._nodes.note(node, began, is_answered=is_answered)
            if not is_answered:
                self._unchecked.add(node)
        return found

    async def _read(self, node: NodeClient, most: int) -> NewBlocks | None:
        if node in self._unchecked:
            await node.check_network(self._network_id)
            self._unchecked.discard(node)
        held, head = self._held, await node.newest_transactions()
        if held is not None and head.number < held.number and self._times_older < _PATIENCE:
            self._times_older += 1
            return NewBlocks(frozenset(), is_unbroken=True)
        blocks = [head]
        if held is not None and 0 < head.number - held.number <= _FURTHEST:
            if head.number - held.number > most:
                return None
            blocks = [held]
            for first in range(held.number + 1, head.number, _AT_ONCE):
                numbers = range(first, min(first + _AT_ONCE, head.number))
                blocks += await node.transactions_of(numbers)
            blocks.append(head)
        self._held, self._times_older = head, 0
        is_unbroken = head == held or (len(blocks) > 1 and _is_chain(blocks))
        return NewBlocks(frozenset().union(*(each.tx_hashes for each in blocks)), is_unbroken)


def _is_chain(blocks: Sequence[BlockTransactions]) -> bool:
    return all(later.parent_hash == earlier.hash for earlier, later in pairwise(blocks))
