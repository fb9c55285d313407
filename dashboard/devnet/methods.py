"""The methods that devnet answers: names, parameters read strictly, and the results."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Final

from eth_hash.auto import keccak
from msgspec import Raw

from dashboard.devnet.admission import TransactionFields, read_fields
from dashboard.devnet.chain import GAS_LIMIT, Block
from dashboard.devnet.genesis import DEVNET_ID, Genesis
from dashboard.devnet.node import IncludedTransaction, Node
from dashboard.domain.quantity import (
    Address,
    TxHash,
    Wei,
    parse_hex_bytes,
    parse_hex_quantity,
    shorten,
)
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.errors import InputError, WireError
from dashboard.wire.inclusion import (
    BlockPosition,
    Receipt,
    TransactionView,
    encode_receipt,
    encode_transaction,
)
from dashboard.wire.node import BlockHeader, encode_block, encode_fee_history, encode_quantity
from dashboard.wire.transaction import encode_integer, encode_list

CLIENT_VERSION: Final = b'"Linewatch/devnet"'


class Methods:
    """Answers one call with JSON text.

    WireError is for wrong params, InputError for what a node refuses.
    """

    def __init__(self, node: Node) -> None:
        """Answer from `node`."""
        self._node = node
        self._results = RpcResults(node.chain.genesis)
        self.by_name: dict[str, Callable[[Params], bytes]] = {
            "eth_chainId": self._chain_id,
            "net_version": self._net_version,
            "web3_clientVersion": self._client_version,
            "eth_blockNumber": self._block_number,
            "eth_getBlockByNumber": self._block_by_number,
            "eth_feeHistory": self._fee_history,
            "eth_getTransactionByHash": self._transaction_by_hash,
            "eth_getTransactionReceipt": self._transaction_receipt,
            "eth_getTransactionCount": self._transaction_count,
            "eth_sendRawTransaction": self._send_raw_transaction,
        }

    def _chain_id(self, params: Params) -> bytes:
        check_count(params, 0, 0)
        return encode_quantity(DEVNET_ID)

    def _net_version(self, params: Params) -> bytes:
        check_count(params, 0, 0)
        return b'"%d"' % DEVNET_ID

    def _client_version(self, params: Params) -> bytes:
        check_count(params, 0, 0)
        return CLIENT_VERSION

    def _block_number(self, params: Params) -> bytes:
        check_count(params, 0, 0)
        return encode_quantity(self._node.head())

    def _block_by_number(self, params: Params) -> bytes:
        check_count(params, 1, 2)
        head = self._node.head()
        number = block_number(params, 0, head)
        is_whole = flag(params, 1)
        is_pending = params[0] == "pending"
        if number > head and not is_pending:
            return b"null"
        block = self._node.chain.block(number)
        contents = self._node.pending_block() if is_pending else self._node.inclusions(number)
        transactions: list[TxHash | Raw] = [
            Raw(encode_transaction(self._results.included(each, block)))
            if is_whole
            else each.transaction.tx_hash
            for each in contents
        ]
        return encode_block(self._results.header(block), transactions)

    def _fee_history(self, params: Params) -> bytes:
        check_count(params, 2, 3)
        count = quantity(params, 0)
        if not 1 <= count <= LARGEST_FEE_HISTORY:
            raise WireError(
                f"invalid argument 0: between 1 and {LARGEST_FEE_HISTORY} blocks can be asked for"
            )
        head = self._node.head()
        newest = head if params[1] == "pending" else block_number(params, 1, head)
        of = percentiles(params, 2)
        if newest > head:
            raise InputError(f"request beyond head block: requested {newest}, head {head}")
        return encode_fee_history(self._node.fees(newest, count, of))

    def _transaction_by_hash(self, params: Params) -> bytes:
        check_count(params, 1, 1)
        asked = tx_hash(params, 0)
        inclusion = self._node.find(asked)
        if inclusion is not None:
            block = self._node.chain.block(inclusion.block)
            return encode_transaction(self._results.included(inclusion, block))
        accepted = self._node.waiting(asked)
        view = pending(accepted, read_fields(accepted.raw)) if accepted else None
        return encode_transaction(view)

    def _transaction_receipt(self, params: Params) -> bytes:
        check_count(params, 1, 1)
        inclusion = self._node.find(tx_hash(params, 0))
        if inclusion is None:
            return encode_receipt(None)
        block = self._node.chain.block(inclusion.block)
        return encode_receipt(self._results.receipt(inclusion, block))

    def _transaction_count(self, params: Params) -> bytes:
        check_count(params, 1, 2)
        head = self._node.head()
        sender = address(params, 0)
        number = block_number(params, 1, head)
        is_pending = len(params) > 1 and params[1] == "pending"
        if number > head and not is_pending:
            raise InputError(f"block {number} is beyond the head block {head}")
        return encode_quantity(self._node.next_nonce(sender, None if is_pending else number))

    def _send_raw_transaction(self, params: Params) -> bytes:
        check_count(params, 1, 1)
        raw = raw_bytes(params, 0)
        try:
            return b'"%b"' % str(self._node.send(raw)).encode()
        except WireError as error:
            raise InputError(f"the transaction is unreadable: {error}") from error


LARGEST_FEE_HISTORY: Final = 1024
LARGEST_PERCENTILES: Final = 100

_HEAD_TAGS: Final = frozenset({"latest", "safe", "finalized"})

Params = list[object]


def check_count(params: Params, least: int, most: int) -> None:
    """Refuse fewer or more than a method takes; absent optional ones may also be null."""
    if len(params) < least:
        raise WireError(f"missing value for required argument {len(params)}")
    if len(params) > most:
        raise WireError(f"too many arguments, want at most {most}")


def text(params: Params, place: int) -> str:
    """Return a text."""
    value = params[place]
    if not isinstance(value, str):
        raise WireError(f"invalid argument {place}: a text belongs there")
    return value


def tx_hash(params: Params, place: int) -> TxHash:
    """Return a transaction hash."""
    try:
        return TxHash.parse(text(params, place))
    except InputError as error:
        raise WireError(f"invalid argument {place}: {error}") from error


def address(params: Params, place: int) -> Address:
    """Return an address."""
    try:
        return Address.parse(text(params, place))
    except InputError as error:
        raise WireError(f"invalid argument {place}: {error}") from error


def raw_bytes(params: Params, place: int) -> bytes:
    """Return bytes from hexadecimal text."""
    try:
        return parse_hex_bytes(text(params, place))
    except WireError as error:
        raise WireError(f"invalid argument {place}: {error}") from error


def flag(params: Params, place: int) -> bool:
    """Return a truth value; absent or null is false."""
    value = params[place] if place < len(params) else None
    if value is not None and not isinstance(value, bool):
        raise WireError(f"invalid argument {place}: true or false belongs there")
    return bool(value)


def block_number(params: Params, place: int, head: int) -> int:
    """Return a block number; ``pending`` is the one after `head`, absent or null the head."""
    value = params[place] if place < len(params) else None
    if value is None or (isinstance(value, str) and value in _HEAD_TAGS):
        return head
    if value == "earliest":
        return 0
    if value == "pending":
        return head + 1
    return quantity([value], 0, f"invalid argument {place}")


def quantity(params: Params, place: int, subject: str = "") -> int:
    """Return a hex quantity or a plain number."""
    value = params[place]
    named = subject or f"invalid argument {place}"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if not isinstance(value, str):
        raise WireError(f"{named}: a hex quantity such as 0x1a belongs there")
    try:
        return parse_hex_quantity(value)
    except WireError as error:
        raise WireError(f"{named}: {error}") from error


def percentiles(params: Params, place: int) -> tuple[Fraction, ...] | None:
    """Return ascending percentiles of 0 to 100; None where none were asked."""
    value = params[place] if place < len(params) else None
    if not value:
        if value is not None and value != []:
            raise WireError(f"invalid argument {place}: a list of percentiles belongs there")
        return None
    if not isinstance(value, list) or len(value) > LARGEST_PERCENTILES:
        raise WireError(
            f"invalid argument {place}: a list of at most {LARGEST_PERCENTILES} percentiles "
            "belongs there"
        )
    shares = tuple(_percentile(each) for each in value)
    for before, after in pairwise(shares):
        if after < before:
            raise WireError(
                f"invalid reward percentile: {float(after):g} follows {float(before):g}; "
                "percentiles ascend"
            )
    return shares


def _percentile(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:  # noqa: PLR2004 - a percentile
        raise WireError(f"invalid reward percentile: {shorten(repr(value))} is not from 0 to 100")
    return Fraction(value)


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
