"""Follow a chain: compute fees from its newest blocks, read once for all who want to know."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.fees.gas import SuggestedGasFees
from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Clock, NetworkId, Wei
from dashboard.errors import (
    UpstreamError,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.logs import get_logger
from dashboard.upstream.chain import (
    HISTORY_BLOCKS,
    ChainWindow,
    FeeRange,
    newest_shared_block,
    read_range,
    rolled_back,
)
from dashboard.upstream.node import NodeClient
from dashboard.wire.node import BlockHeader

_LOG: Final = get_logger(__name__)


class FollowPolicy(Struct, frozen=True):
    """How a chain is followed.

    Percentiles and congestion use the window of `fees`. The first refresh loads only the newest
    blocks, each later one up to `chunks_per_refresh` times 1024 older ones. A chain that seems
    shorter is believed after `patience` refreshes: until then one of several nodes may merely lag
    behind. If older blocks cannot be read for `older_patience`, the node does not have them.
    """

    fees: FeePolicy = FeePolicy()
    chunks_per_refresh: int = 2
    patience: int = 3
    older_patience: timedelta = timedelta(minutes=1)


class ChainFees(Struct, frozen=True):
    """The four gas operations of one network at one block.

    `base_fee_history` is oldest first. `read_at` is when the node last confirmed `head` as its
    newest block; it says nothing about how old that block is.
    """

    network_id: NetworkId
    head: BlockHeader
    read_at: datetime
    suggested_gas_fees: SuggestedGasFees
    base_fee_history: tuple[Wei, ...]
    base_fee_percentile: Wei
    busy_threshold: Wei

    def answer(self, operation: Operation) -> Any:  # noqa: ANN401 - each operation has its own answer
        return getattr(self, operation.name.lower())


class ChainFollower:
    """Keeps the newest blocks of one node's chain; `refresh` asks, `snapshot` answers from memory.

    The newest blocks are loaded first; older ones follow with each refresh. Until the window
    `is_complete`, a snapshot uses only part of it and must not be served. Blocks that the chain
    replaced are replaced here too.
    """

    def __init__(
        self, node: NodeClient, network_id: NetworkId, policy: FollowPolicy, clock: Clock
    ) -> None:
        self._node = node
        self._network_id = network_id
        self._policy = policy
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._is_network_checked = False
        self._held: ChainWindow | None = None
        self._read_at: datetime | None = None
        self._snapshot: ChainFees | None = None
        self._times_shorter = 0
        self._older_fail_since: datetime | None = None
        self._has_no_older = False

    @property
    def head(self) -> BlockHeader | None:
        """The newest block in memory."""
        return None if self._held is None else self._held.head

    @property
    def read_at(self) -> datetime | None:
        """When the node last confirmed `head` as its newest block."""
        return self._read_at

    @property
    def is_complete(self) -> bool:
        """Whether the window holds as many blocks as it should, or all that the node has."""
        held = self._held
        return held is not None and (not held.missing or self._has_no_older)

    @property
    def window_blocks(self) -> int:
        """How many blocks the window may hold."""
        return self._policy.fees.window_blocks

    @property
    def blocks_held(self) -> int:
        """How many blocks the window holds."""
        return 0 if self._held is None else len(self._held.window)

    def turn_to(self, node: NodeClient) -> None:
        """Ask another node from now on; blocks in memory stay and are compared with its chain."""
        self._node = node
        self._is_network_checked = False

    async def refresh(self, *, may_roll_back: bool = True) -> None:
        """Ask the node for new blocks, then load some older ones; raises UpstreamError.

        If the node gives no answer, the blocks in memory stay and are still served; with
        `may_roll_back` off, also if its chain would remove blocks without replacing them.
        """
        async with self._one_at_a_time:
            await self._check_network()
            is_first = self._held is None
            await self._follow(await self._newest(), may_roll_back=may_roll_back)
            if not is_first:
                await self._load_older()

    async def continues(self, node: NodeClient, head: BlockHeader) -> bool:
        """Whether the chain of a node with this head shares a block with those in memory."""
        held = self._held
        if held is None or head.number < held.known_numbers[0]:
            return True  # there is nothing to compare it with
        return await newest_shared_block(node, held, head) >= 0

    def snapshot(self) -> ChainFees:
        """Return the fees of the blocks in memory; UpstreamUnavailable while there are none."""
        if self._held is None or self._read_at is None:
            raise UpstreamUnavailable(f"{self._node.endpoint.name}: no block has been read yet")
        if self._snapshot is None:
            self._snapshot = self._compute(self._held, self._read_at)
        return self._snapshot

    def _compute(self, held: ChainWindow, read_at: datetime) -> ChainFees:
        fees = self._policy.fees
        return ChainFees(
            network_id=self._network_id,
            head=held.head,
            read_at=read_at,
            suggested_gas_fees=held.suggested_gas_fees(),
            base_fee_history=held.window.newest(fees.history_blocks),
            base_fee_percentile=held.window.percentile(fees.usual_percentile),
            busy_threshold=held.window.percentile(fees.busy_percentile),
        )

    async def _check_network(self) -> None:
        """Refuse a node of another network: its fees would be worse than none."""
        if self._is_network_checked:
            return
        await self._node.check_network(self._network_id)
        self._is_network_checked = True

    async def _newest(self) -> BlockHeader:
        head = await self._node.block("latest")
        if head is None:
            raise UpstreamUnreadable(f"{self._node.endpoint.name}: it has no newest block")
        return head

    async def _follow(self, head: BlockHeader, *, may_roll_back: bool) -> None:
        held = self._held
        if held is None:
            await self._start(head)
        elif head.hash != held.head.hash:
            await self._advance(held, head, may_roll_back=may_roll_back)
        else:
            self._confirm()

    async def _start(self, head: BlockHeader) -> None:
        first = max(0, head.number - self._policy.fees.historical_blocks + 1)
        self._begin(head, await self._read(first, head))

    def _begin(self, head: BlockHeader, newest: FeeRange) -> None:
        self._older_fail_since, self._has_no_older = None, False
        self._believe(ChainWindow(head, newest, self._policy.fees))

    async def _advance(self, held: ChainWindow, head: BlockHeader, *, may_roll_back: bool) -> None:
        shared = await newest_shared_block(self._node, held, head)
        if shared == head.number and self._times_shorter + 1 < self._policy.patience:
            self._times_shorter += 1
            return
        if (shared == head.number or shared < held.oldest) and not may_roll_back:
            raise rolled_back(self._node, held, head, shared)
        first = self._first_to_read(held, head, shared)
        if shared == head.number or first <= held.oldest:
            self._is_network_checked = False  # the chain is another one now
            await self._check_network()
            await self._start(head)
        elif head.number - shared > self._policy.fees.window_blocks:
            await self._start(head)
        else:
            await self._extend(held, head, first)

    def _first_to_read(self, held: ChainWindow, head: BlockHeader, shared: int) -> int:
        """Return the first block to read, usually the first new one.

        If blocks were replaced by fewer, some older blocks need their dropped rewards again.
        """
        rewarded = max(0, head.number - self._policy.fees.historical_blocks + 1)
        if shared < held.head.number and held.oldest_rewarded > rewarded:
            return min(shared + 1, rewarded)
        return shared + 1

    async def _extend(self, held: ChainWindow, head: BlockHeader, first: int) -> None:
        newer = await self._read(first, head)
        if newer.blocks[0].number != first:
            self._begin(head, newer)
            return
        held.rewind(first - 1)
        held.extend(head, newer)
        self._believe(held)

    async def _read(self, first: int, head: BlockHeader) -> FeeRange:
        """Read the blocks from `first` to `head`, with rewards of the newest ones only.

        If the node gives too few at a time, only the newest of them are returned.
        """
        fees = self._policy.fees
        rewarded = max(first, head.number - fees.historical_blocks + 1)
        newest = await read_range(self._node, rewarded, head.number, fees.reward_percentiles)
        if newest.blocks[-1].base_fee_per_gas != (head.base_fee_per_gas or 0):
            raise UpstreamUnavailable(
                f"{self._node.endpoint.name}: its chain changed while it was read"
            )
        if newest.blocks[0].number > rewarded:
            return newest
        older = await read_range(self._node, first, rewarded - 1)
        return FeeRange(older.blocks + newest.blocks, newest.next_base_fee)

    def _believe(self, held: ChainWindow) -> None:
        self._held, self._read_at, self._snapshot = held, self._clock(), None
        self._times_shorter = 0

    def _confirm(self) -> None:
        """Update `read_at`: the head is unchanged, and so is everything computed from it."""
        self._read_at = self._clock()
        if self._snapshot is not None:
            self._snapshot = replace(self._snapshot, read_at=self._read_at)
        self._times_shorter = 0

    async def _load_older(self) -> None:
        """Load some of the window's missing blocks; a failure does not affect newer ones."""
        try:
            for _ in range(self._policy.chunks_per_refresh):
                await self._load_chunk()
        except UpstreamError as error:
            self._note_no_older(error)
        else:
            self._older_fail_since = None

    def _note_no_older(self, error: UpstreamError) -> None:
        """Stop loading older blocks after a node has failed to return them for long."""
        if self._has_no_older:
            return
        now, endpoint = self._clock(), self._node.endpoint.name
        self._older_fail_since = since = self._older_fail_since or now
        _LOG.warning("older blocks could not be read", endpoint=endpoint, why=str(error))
        if now - since >= self._policy.older_patience:
            self._has_no_older = True
            _LOG.warning(
                "the node has no older blocks: percentile, threshold and congestion are computed "
                "from fewer blocks than configured",
                endpoint=endpoint,
                blocks=self.blocks_held,
                window_blocks=self.window_blocks,
            )

    async def _load_chunk(self) -> None:
        held = self._held
        if held is None or not held.missing:
            return
        missing = held.missing
        first = max(missing.start, missing.stop - HISTORY_BLOCKS)
        held.prepend(await read_range(self._node, first, missing.stop - 1))
        self._snapshot = None
