"""A node: the few Ethereum JSON-RPC methods that Linewatch calls, one by one and in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar

from msgspec import Raw

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.errors import UpstreamRefused, UpstreamThrottled, UpstreamUnreadable, WireError
from dashboard.upstream.endpoint import BODY_ALLOWANCE, Asker, body_limit
from dashboard.upstream.errors import rpc_error, unreadable
from dashboard.wire.inclusion import Receipt, decode_receipt
from dashboard.wire.jsonrpc_client import (
    RpcReply,
    decode_replies,
    decode_reply,
    encode_batch,
    encode_call,
)
from dashboard.wire.node import (
    BlockHeader,
    FeeHistory,
    decode_block,
    decode_fee_history,
    decode_quantity,
)

Answer = TypeVar("Answer")

BLOCK_ALLOWANCE: Final = 256 * 1024
"""Bytes for one block or receipt: 70 for each transaction's hash in it, some hundred for a log."""

_LIMIT: Final = body_limit(1)
_BLOCK_LIMIT: Final = BODY_ALLOWANCE + BLOCK_ALLOWANCE


class NodeClient:
    """Asks one node; every method raises UpstreamError."""

    def __init__(self, asker: Asker) -> None:
        """Ask nothing yet; ids count up from one, so that a late reply fits no later question."""
        self.endpoint = asker.endpoint
        self._asker = asker
        self._next_id = 1
        self.requests = 0

    async def chain_id(self) -> NetworkId:
        """Return the id of the network that the node follows."""
        return NetworkId(await self._call("eth_chainId", [], decode_quantity))

    async def block(self, number: int | Literal["latest"]) -> BlockHeader | None:
        """Return a block's header, or None where the node has no such block."""
        params = [number if isinstance(number, str) else hex(number), False]
        return await self._call("eth_getBlockByNumber", params, decode_block, _BLOCK_LIMIT)

    async def blocks(self, numbers: Sequence[int]) -> list[BlockHeader]:
        """Return the headers of all these blocks, in this order, asked in one batch."""
        params = [[hex(number), False] for number in numbers]
        limit = BODY_ALLOWANCE + BLOCK_ALLOWANCE * len(numbers)
        replies = await self._ask_all("eth_getBlockByNumber", params, limit)
        return [self._header(reply, number) for reply, number in zip(replies, numbers, strict=True)]

    async def fee_history(
        self, block_count: int, newest: int, percentiles: Sequence[int]
    ) -> FeeHistory | None:
        """Return `eth_feeHistory`, or None where the node answers that with an error.

        Nodes refuse old ranges, each with a code of its own, and some do not know the method.
        A node that asks for patience raises UpstreamThrottled all the same.
        """
        params = [hex(block_count), hex(newest), list(percentiles)]
        reply = await self._ask("eth_feeHistory", params, body_limit(block_count))
        if reply.error is None:
            return self._result(reply, decode_fee_history)
        error = rpc_error(self.endpoint.name, reply.error.code)
        if isinstance(error, UpstreamThrottled):
            raise error
        return None

    async def receipt(self, tx_hash: TxHash) -> Receipt | None:
        """Return the receipt of an included transaction, or None where the node has none."""
        params = [str(tx_hash)]
        return await self._call("eth_getTransactionReceipt", params, decode_receipt, _BLOCK_LIMIT)

    async def receipts(self, hashes: Sequence[TxHash]) -> list[Receipt | None]:
        """Return all these receipts, in this order, asked in one batch; None as for `receipt`."""
        params = [[str(tx_hash)] for tx_hash in hashes]
        limit = BODY_ALLOWANCE + BLOCK_ALLOWANCE * len(hashes)
        replies = await self._ask_all("eth_getTransactionReceipt", params, limit)
        return [
            self._receipt(reply, tx_hash) for reply, tx_hash in zip(replies, hashes, strict=True)
        ]

    async def transaction_counts(self, senders: Sequence[Address]) -> list[int]:
        """Return how many transactions of each sender are in blocks: the next nonce of each."""
        params = [[str(sender), "latest"] for sender in senders]
        replies = await self._ask_all("eth_getTransactionCount", params, body_limit(len(senders)))
        return [self._answered(reply, decode_quantity) for reply in replies]

    async def check_network(self, network_id: NetworkId) -> None:
        """Raise UpstreamRefused where the node follows another network than this one."""
        found = await self.chain_id()
        if found != network_id:
            raise UpstreamRefused(
                f"{self.endpoint.name}: it follows network {found}, not {network_id}: "
                "correct its address or the network's id"
            )

    async def _call(
        self, method: str, params: list[Any], decode: Callable[[Raw], Answer], limit: int = _LIMIT
    ) -> Answer:
        return self._result(await self._ask(method, params, limit), decode)

    async def _ask(self, method: str, params: list[Any], limit: int) -> RpcReply:
        request_id = self._take_ids(1)
        self.requests += 1
        self.endpoint.note(method, 1)
        body = await self._asker.post_json(encode_call(method, params, request_id), limit)
        reply = self._read(decode_reply, body)
        if reply.id != request_id and reply.error is None:
            raise UpstreamUnreadable(f"{self.endpoint.name}: answered another question")
        return reply

    async def _ask_all(
        self, method: str, params: Sequence[list[Any]], limit: int
    ) -> list[RpcReply | None]:
        """Ask one batch, or one question alone; None for each that no reply names."""
        if len(params) == 1:
            return [await self._ask(method, params[0], limit)]
        first_id = self._take_ids(len(params))
        self.requests += 1
        self.endpoint.note(method, len(params))
        body = encode_batch(method, params, first_id)
        replies = self._read(decode_replies, await self._asker.post_json(body, limit))
        by_id = {reply.id: reply for reply in replies}
        return [by_id.get(first_id + place) for place in range(len(params))]

    def _take_ids(self, how_many: int) -> int:
        first, self._next_id = self._next_id, self._next_id + how_many
        return first

    def _header(self, reply: RpcReply | None, number: int) -> BlockHeader:
        header = None if reply is None else self._result(reply, decode_block)
        if header is None or header.number != number:
            raise UpstreamUnreadable(f"{self.endpoint.name}: did not answer with block {number}")
        return header

    def _receipt(self, reply: RpcReply | None, tx_hash: TxHash) -> Receipt | None:
        receipt = self._answered(reply, decode_receipt)
        if receipt is not None and receipt.tx_hash != tx_hash:
            raise UpstreamUnreadable(f"{self.endpoint.name}: answered with another receipt")
        return receipt

    def _answered(self, reply: RpcReply | None, decode: Callable[[Raw], Answer]) -> Answer:
        if reply is None:
            raise UpstreamUnreadable(
                f"{self.endpoint.name}: did not answer every question of a batch"
            )
        return self._result(reply, decode)

    def _result(self, reply: RpcReply, decode: Callable[[Raw], Answer]) -> Answer:
        if reply.error is not None:
            raise rpc_error(self.endpoint.name, reply.error.code)
        if reply.result is None:
            raise UpstreamUnreadable(f"{self.endpoint.name}: answered without a result")
        return self._read(decode, reply.result)

    def _read(self, decode: Callable[[Any], Answer], text: bytes | Raw) -> Answer:
        try:
            return decode(text)
        except WireError as error:
            raise unreadable(self.endpoint, error) from None
