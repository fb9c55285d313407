"""A node's answers to eth_* calls, within bounds: blocks, receipts, quantities, fee history."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Raw, Struct

from dashboard.domain.quantity import (
    LARGEST_FEE,
    Address,
    TxHash,
    Wei,
    parse_hex_bytes,
    parse_hex_quantity,
)
from dashboard.errors import InputError, WireError
from dashboard.wire.decoding import named, read

_LAST_SECOND: Final = 253_402_300_799
_NO_HASH: Final = f"0x{'0' * 64}"
_NO_UNCLES: Final = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"
_EMPTY_TREE: Final = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"


class BlockHeader(Struct, frozen=True):
    """A block without its transactions; `base_fee_per_gas` is None before EIP-1559."""

    number: int
    hash: bytes
    parent_hash: bytes
    timestamp: datetime
    base_fee_per_gas: Wei | None
    gas_used: int
    gas_limit: int


class BlockTransactions(Struct, frozen=True):
    """The hashes of the transactions in a block, and the block's parent."""

    number: int
    hash: bytes
    parent_hash: bytes
    tx_hashes: frozenset[TxHash]


class _HeaderJson(msgspec.Struct, rename="camel"):
    number: str
    hash: str
    parent_hash: str
    timestamp: str
    gas_used: str
    gas_limit: str
    base_fee_per_gas: str | None = None


class _TransactionsJson(msgspec.Struct, rename="camel"):
    number: str
    hash: str
    parent_hash: str
    transactions: list[str]


_QUANTITY: Final = msgspec.json.Decoder(str)
_HEADER: Final[msgspec.json.Decoder[_HeaderJson | None]] = msgspec.json.Decoder(_HeaderJson | None)

_TRANSACTIONS: Final[msgspec.json.Decoder[_TransactionsJson | None]] = msgspec.json.Decoder(
    _TransactionsJson | None
)


def decode_quantity(raw: bytes | Raw) -> int:
    """Read a quantity such as the answer to eth_blockNumber."""
    return named("quantity", parse_number, read(_QUANTITY, raw, "quantity"))


def encode_quantity(value: int) -> bytes:
    return b'"0x%x"' % value


def decode_block(raw: bytes | Raw) -> BlockHeader | None:
    """Decode the header of a block; None if the node does not have it."""
    header = read(_HEADER, raw, "block")
    return None if header is None else named("block", _block, header)


def _block(header: _HeaderJson) -> BlockHeader:
    seconds = parse_number(header.timestamp)
    if seconds > _LAST_SECOND:
        raise WireError(f"its time, {seconds} s, is after the year 9999")
    base_fee = header.base_fee_per_gas
    return BlockHeader(
        number=parse_number(header.number),
        hash=parse_block_hash(header.hash),
        parent_hash=parse_block_hash(header.parent_hash),
        timestamp=datetime.fromtimestamp(seconds, UTC),
        base_fee_per_gas=None if base_fee is None else parse_fee(base_fee),
        gas_used=parse_number(header.gas_used),
        gas_limit=parse_number(header.gas_limit),
    )


def decode_block_transactions(raw: bytes | Raw) -> BlockTransactions | None:
    """Decode the hashes of a block's transactions; None if the node does not have the block."""
    block = read(_TRANSACTIONS, raw, "block")
    return None if block is None else named("block", _transactions, block)


def _transactions(block: _TransactionsJson) -> BlockTransactions:
    return BlockTransactions(
        number=parse_number(block.number),
        hash=parse_block_hash(block.hash),
        parent_hash=parse_block_hash(block.parent_hash),
        tx_hashes=frozenset(map(parse_tx_hash, block.transactions)),
    )


def encode_block(header: BlockHeader, transactions: Sequence[TxHash | Raw]) -> bytes:
    """Encode a block as clients expect it; fields that devnet lacks are zero.

    `transactions` are hashes, or whole transactions as JSON text.
    """
    block: dict[str, Any] = {
        "number": hex(header.number),
        "hash": f"0x{header.hash.hex()}",
        "parentHash": f"0x{header.parent_hash.hex()}",
        "nonce": "0x0000000000000000",
        "sha3Uncles": _NO_UNCLES,
        "logsBloom": f"0x{'0' * 512}",
        "transactionsRoot": _EMPTY_TREE,
        "stateRoot": _NO_HASH,
        "receiptsRoot": _EMPTY_TREE,
        "miner": f"0x{'0' * 40}",
        "difficulty": "0x0",
        "totalDifficulty": "0x0",
        "extraData": "0x",
        "size": "0x0",
        "gasLimit": hex(header.gas_limit),
        "gasUsed": hex(header.gas_used),
        "timestamp": hex(int(header.timestamp.timestamp())),
        "transactions": [each if isinstance(each, Raw) else str(each) for each in transactions],
        "uncles": [],
        "mixHash": _NO_HASH,
    }
    if header.base_fee_per_gas is not None:
        block["baseFeePerGas"] = hex(header.base_fee_per_gas)
    return msgspec.json.encode(block)


_Ratio = Annotated[float, msgspec.Meta(ge=0)]


class FeeHistory(Struct, frozen=True):
    """The answer to eth_feeHistory for N blocks from `oldest_block` on, oldest first.

    `base_fee_per_gas` has N+1 entries, the last for the next block; without blocks it may be empty.
    `reward` has one row per block, all of the same width; it is None if it was not requested or the
    node omitted it.
    """

    oldest_block: int
    base_fee_per_gas: tuple[Wei, ...]
    gas_used_ratio: tuple[float, ...]
    reward: tuple[tuple[Wei, ...], ...] | None


class _FeeHistoryJson(msgspec.Struct, rename="camel"):
    oldest_block: str
    base_fee_per_gas: list[str] | None = None
    gas_used_ratio: list[_Ratio] | None = None
    reward: list[list[str]] | None = None


_FEE_HISTORY: Final = msgspec.json.Decoder(_FeeHistoryJson)


def decode_fee_history(raw: bytes | Raw) -> FeeHistory:
    """Decode eth_feeHistory; WireError if the lengths of its arrays do not fit."""
    return named("eth_feeHistory", _fee_history, read(_FEE_HISTORY, raw, "eth_feeHistory"))


def _fee_history(history: _FeeHistoryJson) -> FeeHistory:
    base_fees = tuple(parse_fee(text) for text in history.base_fee_per_gas or ())
    ratios = tuple(history.gas_used_ratio or ())
    if len(base_fees) != len(ratios) + 1 and (base_fees or ratios):
        raise WireError(f"{len(base_fees)} base fees do not fit {len(ratios)} blocks")
    return FeeHistory(
        oldest_block=parse_number(history.oldest_block),
        base_fee_per_gas=base_fees,
        gas_used_ratio=ratios,
        reward=_rewards(history.reward, len(ratios)) if history.reward else None,
    )


def _rewards(rows: list[list[str]], block_count: int) -> tuple[tuple[Wei, ...], ...]:
    if len(rows) != block_count:
        raise WireError(f"{len(rows)} rows of rewards do not fit {block_count} blocks")
    if len({len(row) for row in rows}) > 1:
        raise WireError("the rows of rewards are not of one length")
    return tuple(tuple(parse_fee(text) for text in row) for row in rows)


def encode_fee_history(history: FeeHistory) -> bytes:
    """Encode eth_feeHistory; ``reward`` only if there is one."""
    answer: dict[str, Any] = {
        "oldestBlock": hex(history.oldest_block),
        "baseFeePerGas": [hex(each) for each in history.base_fee_per_gas],
        "gasUsedRatio": history.gas_used_ratio,
    }
    if history.reward is not None:
        answer["reward"] = [[hex(each) for each in row] for row in history.reward]
    return msgspec.json.encode(answer)


class Receipt(Struct, frozen=True):
    """Where a transaction is included; `is_successful` is None before EIP-658."""

    tx_hash: TxHash
    block_hash: bytes
    block_number: int
    is_successful: bool | None = None


class _ReceiptJson(msgspec.Struct, rename="camel"):
    transaction_hash: str
    block_hash: str | None = None
    block_number: str | None = None
    status: str | None = None


_RECEIPT: Final[msgspec.json.Decoder[_ReceiptJson | None]] = msgspec.json.Decoder(
    _ReceiptJson | None
)


def decode_receipt(raw: bytes | Raw) -> Receipt | None:
    """Decode eth_getTransactionReceipt; None if the transaction is not in a block."""
    receipt = read(_RECEIPT, raw, "receipt")
    return None if receipt is None else named("receipt", _receipt, receipt)


def _receipt(receipt: _ReceiptJson) -> Receipt | None:
    if receipt.block_hash is None or receipt.block_number is None:
        return None
    status = receipt.status
    return Receipt(
        tx_hash=parse_tx_hash(receipt.transaction_hash),
        block_hash=parse_block_hash(receipt.block_hash),
        block_number=parse_number(receipt.block_number),
        is_successful=None if status is None else parse_number(status) == 1,
    )


_HASH_LENGTH: Final = 32
LARGEST_NUMBER: Final = 2**63 - 1
"""The largest block number, count or amount of gas, since the store's integers end here."""


def parse_bounded(text: str, largest: int) -> int:
    """Read a quantity of 0 to `largest`."""
    value = parse_hex_quantity(text)
    if value > largest:
        raise WireError(f"{text} is larger than 0x{largest:x}")
    return value


def parse_number(text: str) -> int:
    """Read a block number, a count or an amount of gas."""
    return parse_bounded(text, LARGEST_NUMBER)


def parse_fee(text: str) -> Wei:
    """Read a fee in wei."""
    return Wei(parse_bounded(text, LARGEST_FEE))


def parse_block_hash(text: str) -> bytes:
    """Parse the 32 bytes of a block hash."""
    raw = parse_hex_bytes(text)
    if len(raw) != _HASH_LENGTH:
        raise WireError(f"a block hash has {_HASH_LENGTH} bytes, not {len(raw)}")
    return raw


def parse_tx_hash(text: str) -> TxHash:
    try:
        return TxHash.parse(text)
    except InputError as error:
        raise WireError(str(error)) from error


def parse_address(text: str) -> Address:
    try:
        return Address.parse(text)
    except InputError as error:
        raise WireError(str(error)) from error
