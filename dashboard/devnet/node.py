"""The node: blocks, transactions and fees up to the present moment."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dashboard.devnet.admission import (
    AcceptedTransaction,
    AcceptedTransactions,
    Admission,
    TransactionFields,
    read_fields,
)
from dashboard.devnet.blockspace import Blockspace, gas_weighted
from dashboard.devnet.chain import GAS_LIMIT, Block, Chain
from dashboard.domain.clock import Clock
from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.wire.node import FeeHistory
from dashboard.wire.transaction import decode_transaction

_SEARCHED_BLOCKS: Final = 256
_KEPT_BLOCKS: Final = 1024


@dataclass(frozen=True, slots=True)
class IncludedTransaction:
    """A transaction in its block; `gas_before` is what those before it in the block used."""

    transaction: SignedTransaction
    fields: TransactionFields
    block: int
    index: int
    gas_used: int
    gas_before: int


class Node:
    """Joins the chain, which knows its own transactions, with those accepted from outside."""

    def __init__(self, chain: Chain, accepted: AcceptedTransactions, clock: Clock) -> None:
        """Show `chain` as far as `clock` has come, with what `accepted` holds."""
        self.chain = chain
        self._accepted = accepted
        self._clock = clock
        self._blockspace = Blockspace(chain)
        self._admission = Admission(chain, self._blockspace, accepted)
        self._head = 0
        self._signed: OrderedDict[int, tuple[IncludedTransaction, ...]] = OrderedDict()
        self._places: dict[TxHash, tuple[int, int]] = {}

    def head(self) -> int:
        """Return the number of the newest block; a clock that is set back holds it still."""
        self._head = max(self._head, self.chain.head(self._clock()))
        return self._head

    def send(self, raw: bytes) -> TxHash:
        """Accept a signed transaction from outside; see `Admission.send` for what is refused."""
        transaction = decode_transaction(raw)
        self._admission.send(transaction, self.head())
        return transaction.tx_hash

    def place(self, transaction: SignedTransaction) -> None:
        """Include a simulated sender's transaction in a coming block, once."""
        if self._accepted.find(transaction.tx_hash) is None:
            self._admission.place(transaction, self.head())

    def next_nonce(self, sender: Address, until: int | None) -> int:
        """Return a sender's next nonce after block `until`; None includes pending ones."""
        return self._admission.next_nonce(sender, until, self.head())

    def inclusions(self, number: int) -> tuple[IncludedTransaction, ...]:
        """Return the signed transactions of a block, which must not lie ahead of the head."""
        if number not in self._signed:
            signed = self._signed[number] = self._sign(number)
            self._places.update((each.transaction.tx_hash, (number, each.index)) for each in signed)
            if len(self._signed) > _KEPT_BLOCKS:
                _, forgotten = self._signed.popitem(last=False)
                for each in forgotten:
                    del self._places[each.transaction.tx_hash]
        return self._signed[number]

    def pending_block(self) -> tuple[IncludedTransaction, ...]:
        """Return the transactions of the block after the head, as far as they are known."""
        return self._sign(self.head() + 1)

    def find(self, tx_hash: TxHash) -> IncludedTransaction | None:
        """Return a transaction that is in a block by now.

        From outside: any. The chain's own: where its block was requested recently, or is one
        of the last 256.
        """
        head = self.head()
        entry = self._accepted.find(tx_hash)
        if entry is not None:
            return self._inclusion_of(entry) if entry.block <= head else None
        if tx_hash not in self._places:
            for number in range(max(0, head - _SEARCHED_BLOCKS + 1), head + 1):
                self.inclusions(number)
        place = self._places.get(tx_hash)
        return self.inclusions(place[0])[place[1]] if place else None

    def waiting(self, tx_hash: TxHash) -> SignedTransaction | None:
        """Return an accepted transaction whose block is still to come."""
        entry = self._accepted.find(tx_hash)
        return decode_transaction(entry.raw) if entry and entry.block > self.head() else None

    def fees(self, newest: int, count: int, percentiles: Sequence[Fraction] | None) -> FeeHistory:
        """Return the fees of up to `count` blocks that end at block `newest`."""
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
        entries = self._accepted.in_block(block.number)
        slots = self._blockspace.slots(block, self._accepted.gas_in(block.number))
        fee = block.base_fee_per_gas
        outside = [(read_fields(each.raw).tip(fee), each.gas_used) for each in entries]
        tips = [*outside, *((slot.tip, slot.gas_used) for slot in slots)]
        return gas_weighted(tips, percentiles)

    def _inclusion_of(self, entry: AcceptedTransaction) -> IncludedTransaction:
        place = self._accepted.in_block(entry.block).index(entry)
        return self.inclusions(entry.block)[place]

    def _sign(self, number: int) -> tuple[IncludedTransaction, ...]:
        """Sign a block: first transactions from outside, in order, then the chain's own."""
        contents = [
            (decode_transaction(entry.raw), entry.gas_used)
            for entry in self._accepted.in_block(number)
        ]
        slots = self._blockspace.slots(self.chain.block(number), self._accepted.gas_in(number))
        contents += [(self._blockspace.sign(slot), slot.gas_used) for slot in slots]
        inclusions, gas = [], 0
        for index, (transaction, gas_used) in enumerate(contents):
            fields = read_fields(transaction.raw)
            inclusions.append(
                IncludedTransaction(transaction, fields, number, index, gas_used, gas)
            )
            gas += gas_used
        return tuple(inclusions)
