"""The methods that devnet answers: names, parameters, and where the answers come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Raw

from dashboard.devnet import params as read
from dashboard.devnet.chain import DEVNET_ID
from dashboard.devnet.node import Node
from dashboard.devnet.params import LARGEST_FEE_HISTORY, Params
from dashboard.devnet.rpc_results import RpcResults, pending
from dashboard.devnet.transaction_fields import read_fields
from dashboard.domain.quantity import TxHash
from dashboard.errors import InputError, WireError
from dashboard.wire.inclusion import encode_receipt, encode_transaction
from dashboard.wire.node import encode_block, encode_fee_history, encode_quantity

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
        read.check_count(params, 0, 0)
        return encode_quantity(DEVNET_ID)

    def _net_version(self, params: Params) -> bytes:
        read.check_count(params, 0, 0)
        return b'"%d"' % DEVNET_ID

    def _client_version(self, params: Params) -> bytes:
        read.check_count(params, 0, 0)
        return CLIENT_VERSION

    def _block_number(self, params: Params) -> bytes:
        read.check_count(params, 0, 0)
        return encode_quantity(self._node.head())

    def _block_by_number(self, params: Params) -> bytes:
        read.check_count(params, 1, 2)
        head = self._node.head()
        number = read.block_number(params, 0, head)
        is_whole = read.flag(params, 1)
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
        read.check_count(params, 2, 3)
        count = read.quantity(params, 0)
        if not 1 <= count <= LARGEST_FEE_HISTORY:
            raise WireError(
                f"invalid argument 0: between 1 and {LARGEST_FEE_HISTORY} blocks can be asked for"
            )
        head = self._node.head()
        newest = head if params[1] == "pending" else read.block_number(params, 1, head)
        percentiles = read.percentiles(params, 2)
        if newest > head:
            raise InputError(f"request beyond head block: requested {newest}, head {head}")
        return encode_fee_history(self._node.fees(newest, count, percentiles))

    def _transaction_by_hash(self, params: Params) -> bytes:
        read.check_count(params, 1, 1)
        tx_hash = read.tx_hash(params, 0)
        inclusion = self._node.find(tx_hash)
        if inclusion is not None:
            block = self._node.chain.block(inclusion.block)
            return encode_transaction(self._results.included(inclusion, block))
        accepted = self._node.waiting(tx_hash)
        view = pending(accepted, read_fields(accepted.raw)) if accepted else None
        return encode_transaction(view)

    def _transaction_receipt(self, params: Params) -> bytes:
        read.check_count(params, 1, 1)
        inclusion = self._node.find(read.tx_hash(params, 0))
        if inclusion is None:
            return encode_receipt(None)
        block = self._node.chain.block(inclusion.block)
        return encode_receipt(self._results.receipt(inclusion, block))

    def _transaction_count(self, params: Params) -> bytes:
        read.check_count(params, 1, 2)
        head = self._node.head()
        sender = read.address(params, 0)
        number = read.block_number(params, 1, head)
        is_pending = len(params) > 1 and params[1] == "pending"
        if number > head and not is_pending:
            raise InputError(f"block {number} is beyond the head block {head}")
        return encode_quantity(self._node.next_nonce(sender, None if is_pending else number))

    def _send_raw_transaction(self, params: Params) -> bytes:
        read.check_count(params, 1, 1)
        raw = read.raw_bytes(params, 0)
        try:
            return b'"%b"' % str(self._node.send(raw)).encode()
        except WireError as error:
            raise InputError(f"the transaction is unreadable: {error}") from error
