"""Blocks, transactions and receipts of devnet as values of the wire."""

from __future__ import annotations

from typing import Final

from eth_hash.auto import keccak

from dashboard.devnet.chain import DEVNET_ID, GAS_LIMIT, Block, Genesis
from dashboard.devnet.node import IncludedTransaction
from dashboard.devnet.transaction_fields import TransactionFields
from dashboard.domain.exclusion import SignedTransaction
from dashboard.domain.quantity import Address, Wei
from dashboard.wire.inclusion import BlockPosition, Receipt, TransactionView
from dashboard.wire.node import BlockHeader
from dashboard.wire.rlp import encode_integer, encode_list

_NO_PARENT: Final = bytes(32)


class RpcResults:
    """Describes one chain; hashes of blocks depend on genesis and number alone."""

    def __init__(self, genesis: Genesis) -> None:
        """Name blocks after `genesis`."""
        self._name = f"{DEVNET_ID}:{genesis.seed}:{genesis.timestamp}"

    def header(self, block: Block) -> BlockHeader:
        """Describe a block."""
        return BlockHeader(
            number=block.number,
            hash=self._hash(block.number),
            parent_hash=self._hash(block.number - 1) if block.number else _NO_PARENT,
            timestamp=block.timestamp,
            base_fee_per_gas=block.base_fee_per_gas,
            gas_used=block.gas_used,
            gas_limit=GAS_LIMIT,
        )

    def included(self, inclusion: IncludedTransaction, block: Block) -> TransactionView:
        """Describe a transaction in its block."""
        price = inclusion.fields.price(block.base_fee_per_gas)
        place = BlockPosition(self._hash(block.number), block.number, inclusion.index)
        return _view(inclusion.transaction, inclusion.fields, price, place)

    def receipt(self, inclusion: IncludedTransaction, block: Block) -> Receipt:
        """Describe the result of a transaction; on devnet every included one succeeds."""
        transaction = inclusion.transaction
        return Receipt(
            tx_hash=transaction.tx_hash,
            block_hash=self._hash(block.number),
            block_number=block.number,
            transaction_index=inclusion.index,
            sender=transaction.sender,
            recipient=transaction.recipient,
            gas_used=inclusion.gas_used,
            cumulative_gas_used=inclusion.gas_before + inclusion.gas_used,
            effective_gas_price=inclusion.fields.price(block.base_fee_per_gas),
            is_successful=True,
            contract_address=None if transaction.recipient else contract_of(transaction),
            kind=inclusion.fields.kind,
        )

    def _hash(self, number: int) -> bytes:
        return keccak(f"{self._name}:{number}".encode())


def pending(transaction: SignedTransaction, fields: TransactionFields) -> TransactionView:
    """Describe a transaction whose block is still to come."""
    return _view(transaction, fields, fields.max_fee_per_gas, None)


def contract_of(deployment: SignedTransaction) -> Address:
    """Return the address of the contract that a deployment makes (Yellow Paper, section 7)."""
    sender = bytes((0x80 + Address.LENGTH,)) + deployment.sender
    return Address(keccak(encode_list(sender + encode_integer(deployment.nonce)))[-20:])


def _view(
    transaction: SignedTransaction,
    fields: TransactionFields,
    price: Wei,
    place: BlockPosition | None,
) -> TransactionView:
    return TransactionView(
        transaction=transaction,
        kind=fields.kind,
        gas=fields.gas,
        gas_price=price,
        max_fee_per_gas=fields.max_fee_per_gas,
        max_priority_fee_per_gas=fields.max_priority_fee_per_gas,
        value=fields.value,
        data=fields.data,
        v=fields.v,
        r=fields.r,
        s=fields.s,
        access_list=fields.access_list,
        place=place,
    )
