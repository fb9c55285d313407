"""Admission: which transactions from outside enter the chain, and in which block."""

from __future__ import annotations

from typing import Final

from dashboard.devnet.accepted_transactions import AcceptedTransaction, AcceptedTransactions
from dashboard.devnet.blockspace import Blockspace, capacity
from dashboard.devnet.chain import DEVNET_ID, GAS_LIMIT, Chain
from dashboard.devnet.transaction_fields import TransactionFields, read_fields
from dashboard.domain.exclusion import SignedTransaction
from dashboard.domain.quantity import Address, format_gwei
from dashboard.errors import InputError

LARGEST_TRANSACTION: Final = 128 * 1024
"""Bytes; larger ones are refused as most nodes do."""

_BLOCKS_AHEAD: Final = 43_200  # a day


class Admission:
    """Places transactions into coming blocks, and saves that before it returns."""

    def __init__(
        self, chain: Chain, blockspace: Blockspace, accepted: AcceptedTransactions
    ) -> None:
        """Place into the free gas of `chain`, beside its own transactions in `blockspace`."""
        self._chain = chain
        self._blockspace = blockspace
        self._accepted = accepted

    def send(self, transaction: SignedTransaction, head: int) -> None:
        """Accept a transaction as a node does, after the block `head`.

        InputError says what is wrong with it; StoreUnavailable that it could not be kept.
        """
        self._check_sender(transaction, head)
        self.place(transaction, head)

    def place(self, transaction: SignedTransaction, head: int) -> None:
        """Accept a transaction with any nonce, as the simulated senders use."""
        if self._accepted.find(transaction.tx_hash):
            raise InputError(f"already known: {transaction.tx_hash} was accepted before")
        _check_chain(transaction)
        fields = read_fields(transaction.raw)
        _check_gas(fields)
        block = self._first_block_for(transaction, fields, head + 1)
        self._accepted.append(AcceptedTransaction.of(transaction, block, fields.intrinsic_gas()))

    def next_nonce(self, sender: Address, until: int | None, head: int) -> int:
        """Return the nonce that follows `sender`'s own up to a block, or all accepted ones."""
        own = self._blockspace.next_nonce(
            sender, self._chain.block(head if until is None else until)
        )
        if own is not None:
            return own
        last = self._accepted.last_of(sender, until)
        return last.nonce + 1 if last else 0

    def _check_sender(self, transaction: SignedTransaction, head: int) -> None:
        sender, nonce = transaction.sender, transaction.nonce
        if self._accepted.find(transaction.tx_hash):
            return  # `place` has the better message
        if self._blockspace.next_nonce(sender, self._chain.block(head)) is not None:
            raise InputError(f"{sender} is one of devnet's own senders: use another account")
        due = self.next_nonce(sender, None, head)
        if nonce != due:
            side = "low" if nonce < due else "high"
            raise InputError(f"nonce too {side}: the next nonce of {sender} is {due}, not {nonce}")

    def _first_block_for(
        self, transaction: SignedTransaction, fields: TransactionFields, earliest: int
    ) -> int:
        previous = self._accepted.last_of(transaction.sender)
        first = max(earliest, previous.block if previous else 0)
        gas = fields.intrinsic_gas()
        for number in range(first, first + _BLOCKS_AHEAD):
            block = self._chain.block(number)
            if fields.max_fee_per_gas < block.base_fee_per_gas:
                continue
            if self._accepted.gas_in(number) + gas <= capacity(block):
                return number
        raise InputError(
            f"transaction underpriced: it pays at most {format_gwei(fields.max_fee_per_gas)} "
            "gwei, and the base fee stays above that for a day"
        )


def _check_chain(transaction: SignedTransaction) -> None:
    if transaction.chain_id is None:
        raise InputError("only replay-protected transactions are accepted: sign with a chain id")
    if transaction.chain_id != DEVNET_ID:
        raise InputError(
            f"invalid chain id: signed for {transaction.chain_id}, this chain is {DEVNET_ID}"
        )
    if len(transaction.raw) > LARGEST_TRANSACTION:
        raise InputError(f"oversized data: at most {LARGEST_TRANSACTION} bytes are accepted")


def _check_gas(fields: TransactionFields) -> None:
    if fields.max_priority_fee_per_gas > fields.max_fee_per_gas:
        raise InputError("max priority fee per gas higher than max fee per gas")
    if fields.gas > GAS_LIMIT:
        raise InputError(f"exceeds block gas limit: {fields.gas} is more than {GAS_LIMIT}")
    needed = fields.intrinsic_gas()
    if fields.gas < needed:
        raise InputError(f"intrinsic gas too low: it allows {fields.gas} and needs {needed}")
