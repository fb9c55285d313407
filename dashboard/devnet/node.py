"""The node: blocks, transactions and fees up to now."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec import Struct

from dashboard.devnet.chain import GAS_LIMIT, Block, Chain
from dashboard.devnet.genesis import BLOCK_SECONDS
from dashboard.devnet.own_transactions import Blockspace, Payment, gas_weighted
from dashboard.devnet.rejection_scripts import LONGEST_SECONDS
from dashboard.devnet.traffic import SimulatedInclusion, Traffic
from dashboard.domain.quantity import Address, Clock, TxHash, Wei
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.wire.node import FeeHistory

_SEARCHED_BLOCKS: Final = 256
_KEPT_BLOCKS: Final = 512
"""More than a follow-up needs, which settles after 15 minutes."""
_DAY_OF_BLOCKS: Final = 86_400 // BLOCK_SECONDS
_STORY_OF_BLOCKS: Final = LONGEST_SECONDS // BLOCK_SECONDS
_MOST_TRAFFIC: Final = 200_000
"""Hashes and senders of the traffic whose blocks are known: those of some two weeks."""


class IncludedTransaction(Struct, frozen=True):
    """A transaction in its block; `gas_before` is the gas of earlier transactions in the block."""

    transaction: SignedTransaction
    payment: Payment
    block: int
    index: int
    gas_used: int
    gas_before: int


class Node:
    """Combines the chain's own transactions with those of the traffic that are included later."""

    def __init__(self, chain: Chain, clock: Clock) -> None:
        """Show `chain` up to the time of `clock`."""
        self.chain = chain
        self._clock = clock
        self._blockspace = Blockspace(chain)
        self._traffic = Traffic(chain)
        self._head = 0
        self._signed: OrderedDict[int, tuple[IncludedTransaction, ...]] = OrderedDict()
        self._places: dict[TxHash, tuple[int, int]] = {}
        self._known_until = max(0, self.head() - _DAY_OF_BLOCKS)
        self._blocks_of_traffic: dict[TxHash | Address, int] = {}

    def head(self) -> int:
        """Return the number of the newest block; a clock that is set back does not lower it."""
        self._head = max(self._head, self.chain.head(self._clock()))
        return self._head

    def next_nonce(self, sender: Address, until: int) -> int:
        """Return a sender's next nonce after block `until`."""
        own = self._blockspace.next_nonce(sender, self.chain.block(until))
        if own is not None:
            return own
        block = self._traffic_until_now().get(sender)
        return int(block is not None and block <= until)

    def inclusions(self, number: int) -> tuple[IncludedTransaction, ...]:
        """Return the signed transactions of a block."""
        if number not in self._signed:
            signed = self._signed[number] = tuple(self._sign(number))
            self._places.update((each.transaction.tx_hash, (number, each.index)) for each in signed)
            if len(self._signed) > _KEPT_BLOCKS:
                _, forgotten = self._signed.popitem(last=False)
                for each in forgotten:
                    del self._places[each.transaction.tx_hash]
        return self._signed[number]

    def find(self, tx_hash: TxHash) -> IncludedTransaction | None:
        """Return a transaction that is in a block by now.

        Transactions of the traffic are known from a day before the start on, for some two weeks;
        the chain's own if their block was requested recently or is one of the last 256.
        """
        head = self.head()
        block = self._traffic_until_now().get(tx_hash)
        if block is not None:
            self.inclusions(block)
        elif tx_hash not in self._places:
            for number in range(max(0, head - _SEARCHED_BLOCKS + 1), head + 1):
                self.inclusions(number)
        place = self._places.get(tx_hash)
        return self.inclusions(place[0])[place[1]] if place and place[0] <= head else None

    def fees(self, newest: int, count: int, percentiles: Sequence[Fraction] | None) -> FeeHistory:
        """Return the fees of up to `count` blocks, the last of which is `newest`."""
        oldest = max(0, newest - count + 1)
        blocks = [self.chain.block(number) for number in range(oldest, newest + 1)]
        following = self.chain.block(newest + 1).base_fee_per_gas
        return FeeHistory(
            oldest_block=oldest,
            base_fee_per_gas=(*(block.base_fee_per_gas for block in blocks), following),
            gas_used_ratio=tuple(block.gas_used / GAS_LIMIT for block in blocks),
            reward=None
            if percentiles is None
            else tuple(self._rewards(block, percentiles) for block in blocks),
        )

    def _rewards(self, block: Block, percentiles: Sequence[Fraction]) -> tuple[Wei, ...]:
        tips = [
            (each.payment.tip(block.base_fee_per_gas), each.payment.intrinsic_gas())
            for each in self._traffic_in(block.number)
        ]
        slots = self._blockspace.slots(block, sum(gas for _, gas in tips))
        return gas_weighted([*tips, *((slot.tip, slot.gas_used) for slot in slots)], percentiles)

    def _traffic_in(self, number: int) -> list[SimulatedInclusion]:
        return list(self._traffic.inclusions(number, number)) if number else []

    def _traffic_until_now(self) -> dict[TxHash | Address, int]:
        """Return the blocks of the traffic's latest transactions, by hash and one-time sender.

        If the clock is set ahead, what was sent meanwhile is skipped, except for the last day.
        """
        head, first = self.head(), self._known_until + 1
        ended = min(head, first + _STORY_OF_BLOCKS)
        for begin, end in ((first, ended), (max(ended + 1, head - _DAY_OF_BLOCKS), head)):
            for each in self._traffic.inclusions(begin, end):
                for key in (each.transaction.tx_hash, each.transaction.sender):
                    self._blocks_of_traffic[key] = each.block
        while len(self._blocks_of_traffic) > _MOST_TRAFFIC:
            del self._blocks_of_traffic[next(iter(self._blocks_of_traffic))]
        self._known_until = head
        return self._blocks_of_traffic

    def _sign(self, number: int) -> Iterator[IncludedTransaction]:
        """Sign a block: transactions of the traffic first, then the chain's own."""
        included = [
            (each.transaction, each.payment, each.payment.intrinsic_gas())
            for each in self._traffic_in(number)
        ]
        taken = sum(gas for _, _, gas in included)
        slots = self._blockspace.slots(self.chain.block(number), taken)
        own = [(self._blockspace.sign(slot), slot.payment, slot.gas_used) for slot in slots]
        gas_before = 0
        for index, (transaction, payment, gas_used) in enumerate([*included, *own]):
            yield IncludedTransaction(transaction, payment, number, index, gas_used, gas_before)
            gas_before += gas_used
