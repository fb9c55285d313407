"""Transactions and receipts of a node: where and how a transaction was included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Raw

from dashboard.domain.quantity import Address, TxHash, Wei
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.wire.decoding import named, read
from dashboard.wire.node import (
    parse_address,
    parse_block_hash,
    parse_fee,
    parse_number,
    parse_tx_hash,
)

_NO_LOGS: Final = f"0x{'0' * 512}"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The result of an included transaction.

    `is_successful` is None before EIP-658; `kind` is the transaction type (EIP-2718).
    `contract_address` is set for deployments only.
    """

    tx_hash: TxHash
    block_hash: bytes
    block_number: int
    transaction_index: int
    sender: Address
    recipient: Address | None
    gas_used: int
    cumulative_gas_used: int
    effective_gas_price: Wei | None = None
    is_successful: bool | None = None
    contract_address: Address | None = None
    kind: int = 0


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """The block of a transaction and its index in it."""

    block_hash: bytes
    block_number: int
    transaction_index: int


class _ReceiptJson(msgspec.Struct, rename="camel"):
    transaction_hash: str
    sender: str = msgspec.field(name="from")
    gas_used: str
    cumulative_gas_used: str
    block_hash: str | None = None
    block_number: str | None = None
    transaction_index: str | None = None
    to: str | None = None
    effective_gas_price: str | None = None
    status: str | None = None
    contract_address: str | None = None
    type: str = "0x0"


_RECEIPT: Final[msgspec.json.Decoder[_ReceiptJson | None]] = msgspec.json.Decoder(
    _ReceiptJson | None
)


def decode_receipt(raw: bytes | Raw) -> Receipt | None:
    """Read eth_getTransactionReceipt; None where the transaction is not in a block."""
    receipt = read(_RECEIPT, raw, "receipt")
    return None if receipt is None else named("receipt", _receipt, receipt)


def _receipt(receipt: _ReceiptJson) -> Receipt | None:
    if receipt.block_hash is None or receipt.block_number is None:
        return None
    price, status = receipt.effective_gas_price, receipt.status
    return Receipt(
        tx_hash=parse_tx_hash(receipt.transaction_hash),
        block_hash=parse_block_hash(receipt.block_hash),
        block_number=parse_number(receipt.block_number),
        transaction_index=parse_number(receipt.transaction_index or "0x0"),
        sender=parse_address(receipt.sender),
        recipient=_address(receipt.to),
        gas_used=parse_number(receipt.gas_used),
        cumulative_gas_used=parse_number(receipt.cumulative_gas_used),
        effective_gas_price=None if price is None else parse_fee(price),
        is_successful=None if status is None else parse_number(status) == 1,
        contract_address=_address(receipt.contract_address),
        kind=parse_number(receipt.type),
    )


def _address(text: str | None) -> Address | None:
    return None if text is None else parse_address(text)


def encode_receipt(receipt: Receipt | None) -> bytes:
    """Write eth_getTransactionReceipt; without logs, which devnet does not have."""
    if receipt is None:
        return b"null"
    answer: dict[str, Any] = {
        "transactionHash": str(receipt.tx_hash),
        "transactionIndex": hex(receipt.transaction_index),
        "blockHash": f"0x{receipt.block_hash.hex()}",
        "blockNumber": hex(receipt.block_number),
        "from": str(receipt.sender),
        "to": _text(receipt.recipient),
        "cumulativeGasUsed": hex(receipt.cumulative_gas_used),
        "gasUsed": hex(receipt.gas_used),
        "contractAddress": _text(receipt.contract_address),
        "logs": [],
        "logsBloom": _NO_LOGS,
        "type": hex(receipt.kind),
    }
    if receipt.effective_gas_price is not None:
        answer["effectiveGasPrice"] = hex(receipt.effective_gas_price)
    if receipt.is_successful is not None:
        answer["status"] = "0x1" if receipt.is_successful else "0x0"
    return msgspec.json.encode(answer)


@dataclass(frozen=True, slots=True)
class TransactionView:
    """A transaction as a node describes it; `place` is None while it waits for a block.

    `gas_price` is what it pays for one unit: known for legacy kinds, else once it has a place.
    """

    transaction: SignedTransaction
    kind: int
    gas: int
    gas_price: Wei
    max_fee_per_gas: Wei
    max_priority_fee_per_gas: Wei
    value: int
    data: bytes
    v: int
    r: int
    s: int
    access_list: tuple[tuple[Address, tuple[TxHash, ...]], ...] = ()
    place: BlockPosition | None = None


_ACCESS_LIST_KIND: Final = 1
_DYNAMIC_FEE_KIND: Final = 2


def encode_transaction(view: TransactionView | None) -> bytes:
    """Write eth_getTransactionByHash: the members that its kind has (EIP-2718), or null."""
    if view is None:
        return b"null"
    signed, place = view.transaction, view.place
    answer: dict[str, Any] = {
        "hash": str(signed.tx_hash),
        "type": hex(view.kind),
        "nonce": hex(signed.nonce),
        "blockHash": None if place is None else f"0x{place.block_hash.hex()}",
        "blockNumber": None if place is None else hex(place.block_number),
        "transactionIndex": None if place is None else hex(place.transaction_index),
        "from": str(signed.sender),
        "to": _text(signed.recipient),
        "value": hex(view.value),
        "gas": hex(view.gas),
        "gasPrice": hex(view.gas_price),
        "input": f"0x{view.data.hex()}",
        "v": hex(view.v),
        "r": hex(view.r),
        "s": hex(view.s),
    }
    return msgspec.json.encode(answer | _typed_members(view))


def _typed_members(view: TransactionView) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if view.transaction.chain_id is not None:
        members["chainId"] = hex(view.transaction.chain_id)
    if view.kind >= _ACCESS_LIST_KIND:
        members["yParity"] = hex(view.v)
        members["accessList"] = [
            {"address": str(account), "storageKeys": [str(key) for key in keys]}
            for account, keys in view.access_list
        ]
    if view.kind >= _DYNAMIC_FEE_KIND:
        members["maxFeePerGas"] = hex(view.max_fee_per_gas)
        members["maxPriorityFeePerGas"] = hex(view.max_priority_fee_per_gas)
    return members


def _text(account: Address | None) -> str | None:
    return None if account is None else str(account)
