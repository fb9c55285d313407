"""Where the chain of a node forks from the blocks of it that are in memory."""

from __future__ import annotations

from dashboard.errors import UpstreamRolledBack, UpstreamUnavailable
from dashboard.upstream.chain import ChainWindow
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader


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
