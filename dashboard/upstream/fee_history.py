"""The fees of consecutive blocks, from `eth_feeHistory` or, where a node refuses, from headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.domain.fees.gas import BlockFees
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamUnreadable
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader, FeeHistory

HISTORY_BLOCKS: Final = 1024
"""Blocks in one `eth_feeHistory`: geth gives no more, Besu refuses more."""

MOST_PARTS: Final = 64
"""Answers for one range: a node that gives a block at a time is not asked a thousand times."""

HEADER_BLOCKS: Final = 100
"""Headers in one batch, each with the hashes of its transactions."""


@dataclass(frozen=True, slots=True)
class FeeRange:
    """Consecutive blocks, oldest first, and the base fee after the last one where it is known."""

    blocks: tuple[BlockFees, ...]
    next_base_fee: Wei | None = None


async def read_range(
    node: NodeClient, first: int, last: int, percentiles: Sequence[int] = ()
) -> FeeRange:
    """Read blocks `first` to `last`, with the rewards at `percentiles` where the node has them.

    A node may answer fewer blocks than were asked: it is asked again for those before, and
    where it makes that too many questions, the newest of these blocks are returned.
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
    """Rewards that are not those that were asked for count as none.

    A node that puts the percentiles into an order of its own is read all the same: rewards
    never fall from one percentile to the next.
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
    """Count a base fee of 0 wei, as `eth_feeHistory` does, where EIP-1559 is not yet active."""
    return BlockFees(
        number=header.number,
        base_fee_per_gas=header.base_fee_per_gas or Wei(0),
        gas_used_ratio=header.gas_used / header.gas_limit if header.gas_limit else 0.0,
    )
