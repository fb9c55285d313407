"""The newest blocks of a chain in memory: their fees, and the hashes that prove them."""

from __future__ import annotations

from collections import deque
from typing import Final

from dashboard.domain.fees.gas import BlockFees, SuggestedGasFees
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.fees.suggestion import FeePolicy, next_base_fee, suggest
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamRolledBack, UpstreamUnavailable
from dashboard.upstream.fee_history import FeeRange
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader

_CHECKPOINTS: Final = 256


class ChainWindow:
    """Consecutive blocks up to `head`: base fees of the whole window, rewards of the newest."""

    def __init__(self, head: BlockHeader, newest: FeeRange, policy: FeePolicy) -> None:
        """Hold `newest`, whose last block is `head`."""
        self.head = head
        self.window = FeeWindow(policy.window_blocks)
        self._policy = policy
        self._recent: deque[BlockFees] = deque(maxlen=policy.historical_blocks)
        self._hashes: dict[int, bytes] = {}
        self._next_base_fee = Wei(0)
        self.extend(head, newest)

    @property
    def oldest(self) -> int:
        """The number of the oldest block in the window."""
        return self.head.number - len(self.window) + 1

    @property
    def oldest_rewarded(self) -> int:
        """The number of the oldest block whose rewards are held."""
        return self._recent[0].number

    @property
    def missing(self) -> range:
        """The blocks before the oldest that the window still has room for."""
        room = self.window.capacity - len(self.window)
        return range(max(0, self.oldest - room), self.oldest)

    @property
    def known_numbers(self) -> list[int]:
        """The blocks whose hashes are known, ascending: heads that were seen, and their parents."""
        return sorted(self._hashes)

    def is_known(self, number: int, block_hash: bytes) -> bool:
        """Return whether this very block is known to be one of those in memory."""
        return self._hashes.get(number) == block_hash

    def extend(self, head: BlockHeader, newer: FeeRange) -> None:
        """Add the blocks that follow, of which `head` is the last."""
        for block in newer.blocks:
            self.window.append(block.base_fee_per_gas)
            self._recent.append(block)
        self.head = head
        self._next_base_fee = (
            _next_base_fee(head) if newer.next_base_fee is None else newer.next_base_fee
        )
        if head.number:
            self._hashes[head.number - 1] = head.parent_hash
        self._hashes[head.number] = head.hash
        for number in self.known_numbers[:-_CHECKPOINTS]:
            del self._hashes[number]

    def rewind(self, number: int) -> None:
        """Forget the blocks after `number`, which were replaced; `extend` must follow."""
        self.window.truncate(self.head.number - number)
        while self._recent and self._recent[-1].number > number:
            self._recent.pop()
        self._hashes = {each: found for each, found in self._hashes.items() if each <= number}

    def prepend(self, older: FeeRange) -> None:
        """Add the blocks that precede the oldest one."""
        self.window.prepend([block.base_fee_per_gas for block in older.blocks])

    def suggested_gas_fees(self) -> SuggestedGasFees:
        """Compute the suggestions that follow from what is held."""
        return suggest(tuple(self._recent), self._next_base_fee, self.window, self._policy)


def _next_base_fee(head: BlockHeader) -> Wei:
    return next_base_fee(head.base_fee_per_gas or Wei(0), head.gas_used, head.gas_limit)


async def newest_shared_block(node: NodeClient, held: ChainWindow, head: BlockHeader) -> int:
    """Return the newest block known to be both in what is held and below (or at) `head`.

    -1 where none is. The parent of the head mostly shows it; otherwise the node is asked
    for some of the blocks whose hashes are known: all below a shared one are shared.
    """
    if held.is_known(head.number, head.hash):
        return head.number
    if held.is_known(head.number - 1, head.parent_hash):
        return head.number - 1
    known = [number for number in held.known_numbers if number < head.number]
    low, high = 0, len(known)
    middle = high - 1  # most often nothing was replaced, and the newest is shared
    while low < high:
        block = await node.block(known[middle])
        if block is not None and held.is_known(block.number, block.hash):
            low = middle + 1
        else:
            high = middle
        middle = (low + high) // 2
    shared = known[low - 1] if low else -1
    if shared == head.number - 1 and low:
        raise UpstreamUnavailable(
            f"{node.endpoint.name}: block {head.number} does not follow the block before it"
        )
    return shared


def rolled_back(
    node: NodeClient, held: ChainWindow, head: BlockHeader, shared: int
) -> UpstreamRolledBack:
    """Return the error for a head that takes away blocks which nothing replaces."""
    name, number = node.endpoint.name, held.head.number
    if shared == head.number:
        return UpstreamRolledBack(f"{name}: its chain went back from block {number} to {shared}")
    return UpstreamRolledBack(
        f"{name}: its block {head.number} shares no known block with the chain up to {number}"
    )
