"""The newest blocks of a chain in memory: their hashes, and their fees as nodes report them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from dashboard.domain.fees.gas import BlockFees, SuggestedGasFees
from dashboard.domain.fees.percentiles import FeeWindow
from dashboard.domain.fees.suggestion import FeePolicy, next_base_fee, suggest
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamRolledBack, UpstreamUnavailable, UpstreamUnreadable
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader, FeeHistory

HISTORY_BLOCKS: Final = 1024
"""Blocks in one `eth_feeHistory`: geth truncates a longer one, Besu refuses it."""

MOST_PARTS: Final = 64
"""Answers for one range: a node that gives one block at a time is not asked a thousand times."""

HEADER_BLOCKS: Final = 100
"""Headers in one batch, each with the hashes of its transactions."""


class FeeRange(Struct, frozen=True):
    """Consecutive blocks, oldest first, and the base fee after the last one, if it is known."""

    blocks: tuple[BlockFees, ...]
    next_base_fee: Wei | None = None


async def read_range(
    node: NodeClient, first: int, last: int, percentiles: Sequence[int] = ()
) -> FeeRange:
    """Read blocks `first` to `last`, with rewards at `percentiles` if the node has them.

    A node may answer fewer blocks than requested: it is asked again for the earlier ones. If that
    takes too many questions, only the newest blocks are returned.
    """
    blocks: list[BlockFees] = []
    next_base_fee = None
    newest = last
    for _ in range(MOST_PARTS):
        if newest < first:
            break
        part = await _read_part(node, max(first, newest - HISTORY_BLOCKS + 1), newest, percentiles)
        blocks[:0] = part.blocks
        next_base_fee = part.next_base_fee if newest == last else next_base_fee
        newest = part.blocks[0].number - 1
    return FeeRange(tuple(blocks), next_base_fee)


async def _read_part(
    node: NodeClient, first: int, last: int, percentiles: Sequence[int]
) -> FeeRange:
    """Read at least the newest of these blocks."""
    history = await node.fee_history(last - first + 1, last, percentiles)
    if history is None or not history.gas_used_ratio:
        return await _read_headers(node, first, last)
    if history.oldest_block + len(history.gas_used_ratio) - 1 != last:
        raise UpstreamUnreadable(f"{node.endpoint.name}: eth_feeHistory answered for other blocks")
    blocks = _from_history(history, len(percentiles))
    return FeeRange(
        tuple(block for block in blocks if block.number >= first), history.base_fee_per_gas[-1]
    )


def _from_history(history: FeeHistory, reward_count: int) -> list[BlockFees]:
    """Convert a fee history; rewards of another number than requested count as none.

    A node may put the percentiles into another order: rewards never fall from one percentile to the
    next, so they are sorted.
    """
    rewards = history.reward or ((),) * len(history.gas_used_ratio)
    return [
        BlockFees(
            number=history.oldest_block + place,
            base_fee_per_gas=history.base_fee_per_gas[place],
            gas_used_ratio=history.gas_used_ratio[place],
            rewards=tuple(sorted(reward)) if len(reward) == reward_count else (),
        )
        for place, reward in enumerate(rewards)
    ]


async def _read_headers(node: NodeClient, first: int, last: int) -> FeeRange:
    headers: list[BlockHeader] = []
    for start in range(first, last + 1, HEADER_BLOCKS):
        numbers = range(start, min(start + HEADER_BLOCKS, last + 1))
        headers += await node.blocks(numbers)
    return FeeRange(tuple(map(_from_header, headers)))


def _from_header(header: BlockHeader) -> BlockFees:
    """Convert a header; before EIP-1559 the base fee is 0 wei, as in `eth_feeHistory`."""
    return BlockFees(
        number=header.number,
        base_fee_per_gas=header.base_fee_per_gas or Wei(0),
        gas_used_ratio=header.gas_used / header.gas_limit if header.gas_limit else 0.0,
    )


_CHECKPOINTS: Final = 256


class ChainWindow:
    """Consecutive blocks up to `head`: base fees of the whole window, rewards of the newest."""

    def __init__(self, head: BlockHeader, newest: FeeRange, policy: FeePolicy) -> None:
        """Start with `newest`, whose last block is `head`."""
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
        """The number of the oldest block with rewards in memory."""
        return self._recent[0].number

    @property
    def missing(self) -> range:
        """The blocks before the oldest one for which the window has room."""
        room = self.window.capacity - len(self.window)
        return range(max(0, self.oldest - room), self.oldest)

    @property
    def known_numbers(self) -> list[int]:
        """The blocks with known hashes, ascending: heads that were seen, and their parents."""
        return sorted(self._hashes)

    def is_known(self, number: int, block_hash: bytes) -> bool:
        """Return whether this block is known to be in memory, with this hash."""
        return self._hashes.get(number) == block_hash

    def extend(self, head: BlockHeader, newer: FeeRange) -> None:
        """Add the following blocks, the last of which is `head`."""
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
        """Remove the blocks after `number`, which were replaced; `extend` must follow."""
        self.window.truncate(self.head.number - number)
        while self._recent and self._recent[-1].number > number:
            self._recent.pop()
        self._hashes = {each: found for each, found in self._hashes.items() if each <= number}

    def prepend(self, older: FeeRange) -> None:
        """Add the blocks before the oldest one."""
        self.window.prepend([block.base_fee_per_gas for block in older.blocks])

    def suggested_gas_fees(self) -> SuggestedGasFees:
        """Compute the suggestions from the blocks in memory."""
        return suggest(tuple(self._recent), self._next_base_fee, self.window, self._policy)


def _next_base_fee(head: BlockHeader) -> Wei:
    return next_base_fee(head.base_fee_per_gas or Wei(0), head.gas_used, head.gas_limit)


async def newest_shared_block(node: NodeClient, held: ChainWindow, head: BlockHeader) -> int:
    """Return the newest block up to `head` that is known to be in memory too; -1 if there is none.

    The parent of the head usually tells; otherwise the node is asked for some of the blocks with
    known hashes: all blocks below a shared one are shared.
    """
    if held.is_known(head.number, head.hash):
        return head.number
    if held.is_known(head.number - 1, head.parent_hash):
        return head.number - 1
    known = [number for number in held.known_numbers if number < head.number]
    low, high = 0, len(known)
    middle = high - 1  # usually nothing was replaced, so the newest is shared
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
    """Return the error for a head that removes blocks without replacing them."""
    name, number = node.endpoint.name, held.head.number
    if shared == head.number:
        return UpstreamRolledBack(f"{name}: its chain went back from block {number} to {shared}")
    return UpstreamRolledBack(
        f"{name}: its block {head.number} shares no known block with the chain up to {number}"
    )
