"""A node: the Ethereum JSON-RPC methods that Linewatch calls, for blocks, fees and inclusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, Literal, TypeVar

from msgspec import Raw

from dashboard.domain.health.observation import Failure, FailureKind
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnreadable,
    WireError,
)
from dashboard.upstream.batches import BatchSize
from dashboard.upstream.endpoint import (
    Asker,
    Charge,
    body_limit,
    failure_of,
    rpc_error,
    unreadable,
)
from dashboard.wire.jsonrpc import RpcReply, decode_replies, decode_reply, encode_batch, encode_call
from dashboard.wire.node import (
    BlockHeader,
    BlockTransactions,
    FeeHistory,
    Receipt,
    decode_block,
    decode_block_transactions,
    decode_fee_history,
    decode_quantity,
    decode_receipt,
)

Answer = TypeVar("Answer")
Block = TypeVar("Block", BlockHeader, BlockTransactions)

BLOCK_ALLOWANCE: Final = 256 * 1024
"""Bytes for a usual block or receipt: 70 for each transaction's hash, some hundred for a log."""

_LARGE: Final = 4 * 1024 * 1024
"""Additional bytes of an answer, for a block or receipt that is large: one transaction may send a
thousand tokens, with a log each."""

_LIMIT: Final = body_limit(1)


def _block_limit(count: int) -> int:
    """Return the most bytes that an answer with so many blocks or receipts may have."""
    return _LARGE + BLOCK_ALLOWANCE * count


class NodeClient:
    """Asks one node; every method raises UpstreamError."""

    def __init__(self, asker: Asker, *, for_fees: bool = False) -> None:
        """Count ids up from one, so that a late reply matches no later question.

        `for_fees`: a budget is charged for fees, which come before transactions.
        """
        self._for_fees = for_fees
        self.endpoint = asker.endpoint
        self._asker = asker
        self._next_id = 1
        self.requests = 0

    async def chain_id(self) -> NetworkId:
        return NetworkId(await self._call("eth_chainId", [], decode_quantity))

    async def block(self, number: int | Literal["latest"]) -> BlockHeader | None:
        """Return a block's header, or None if the node does not have the block."""
        params = [number if isinstance(number, str) else hex(number), False]
        return await self._call("eth_getBlockByNumber", params, decode_block, _block_limit(1))

    async def blocks(self, numbers: Sequence[int]) -> list[BlockHeader]:
        """Return the headers of these blocks, in order, from one batch."""
        return await self._blocks(numbers, decode_block)

    async def _blocks(
        self, numbers: Sequence[int], decode: Callable[[Raw], Block | None]
    ) -> list[Block]:
        params = [[hex(number), False] for number in numbers]
        limit = _block_limit(len(numbers))
        replies = await self._ask_all("eth_getBlockByNumber", params, limit)
        found = []
        for reply, number in zip(replies, numbers, strict=True):
            block = None if reply is None else self._result(reply, decode)
            if block is None or block.number != number:
                name = self.endpoint.name
                raise UpstreamUnreadable(f"{name}: did not answer with block {number}")
            found.append(block)
        return found

    async def newest_transactions(self) -> BlockTransactions:
        params: list[Any] = ["latest", False]
        decode = decode_block_transactions
        head = await self._call("eth_getBlockByNumber", params, decode, _block_limit(1))
        if head is None:
            raise UpstreamUnreadable(f"{self.endpoint.name}: it has no newest block")
        return head

    async def transactions_of(self, numbers: Sequence[int]) -> list[BlockTransactions]:
        """Return the transactions of these blocks, in order, from one batch."""
        return await self._blocks(numbers, decode_block_transactions)

    async def fee_history(
        self, block_count: int, newest: int, percentiles: Sequence[int]
    ) -> FeeHistory | None:
        """Return `eth_feeHistory`, or None if the node answers with an error.

        Nodes refuse old ranges, each with its own code, and some do not know the method.
        UpstreamThrottled if the node asks for fewer requests.
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
        """Return the receipt of an included transaction, or None if the node has none."""
        params = [str(tx_hash)]
        limit = _block_limit(1)
        return await self._call("eth_getTransactionReceipt", params, decode_receipt, limit)

    async def receipts(self, hashes: Sequence[TxHash]) -> list[Receipt | None]:
        """Return these receipts, in order, from one batch; None as for `receipt`."""
        params = [[str(tx_hash)] for tx_hash in hashes]
        limit = _block_limit(len(hashes))
        replies = await self._ask_all("eth_getTransactionReceipt", params, limit)
        return [
            self._receipt(reply, tx_hash) for reply, tx_hash in zip(replies, hashes, strict=True)
        ]

    async def transaction_counts(self, senders: Sequence[Address]) -> list[int]:
        """Return the number of included transactions of each sender, which is its next nonce."""
        params = [[str(sender), "latest"] for sender in senders]
        replies = await self._ask_all("eth_getTransactionCount", params, body_limit(len(senders)))
        return [self._answered(reply, decode_quantity) for reply in replies]

    async def check_network(self, network_id: NetworkId) -> None:
        """Raise UpstreamRefused if the node follows another network."""
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
        call = encode_call(method, params, request_id)
        body = await self._asker.post_json(call, limit, Charge(method, 1, self._for_fees))
        reply = self._read(decode_reply, body)
        if reply.id != request_id and reply.error is None:
            raise UpstreamUnreadable(f"{self.endpoint.name}: answered another question")
        return reply

    async def _ask_all(
        self, method: str, params: Sequence[list[Any]], limit: int
    ) -> list[RpcReply | None]:
        """Ask one batch, or a single question alone; None for a question without a reply."""
        if len(params) == 1:
            return [await self._ask(method, params[0], limit)]
        first_id = self._take_ids(len(params))
        self.requests += 1
        batch = encode_batch(method, params, first_id)
        charge = Charge(method, len(params), self._for_fees)
        body = await self._asker.post_json(batch, limit, charge)
        replies = self._read(decode_replies, body)
        by_id = {reply.id: reply for reply in replies}
        return [by_id.get(first_id + place) for place in range(len(params))]

    def _take_ids(self, how_many: int) -> int:
        first, self._next_id = self._next_id, self._next_id + how_many
        return first

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


LARGEST_BATCH: Final = 50
"""Receipts in one batch: they are large, and some gateways allow no more."""

_GIVES_UP_AFTER: Final = 2
"""After this many single questions without an answer, the rest would fail too."""


class InclusionClient:
    """Asks one node of one network.

    If a batch fails, its hashes are asked one by one, so that trouble with one hash, or with
    batches, does not affect the others; if single questions work, batches get smaller for a while.
    """

    def __init__(self, node: NodeClient, network_id: NetworkId) -> None:
        self._node = node
        self._network_id = network_id
        self._is_network_checked = False
        self._size = BatchSize(LARGEST_BATCH)

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Return one answer for each question, in order; trouble is a failure in its answer."""
        try:
            if not self._is_network_checked:
                await self._node.check_network(self._network_id)
                self._is_network_checked = True
        except UpstreamError as error:
            return _unanswered(questions, failure_of(error))
        answers: list[InclusionAnswer] = []
        while len(answers) < len(questions) and not _is_hopeless(answers):
            start = len(answers)
            answers += await self._ask_some(questions[start : start + self._size.now])
        if all(each.failure is not None for each in answers):
            self._is_network_checked = False  # it may come back as another one
        return answers + _left(questions, answers)

    async def _ask_some(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        try:
            answers = await self._exchange(questions)
        except UpstreamError as error:
            failure = failure_of(error)
        else:
            self._size.answer(len(questions))
            return answers
        if len(questions) == 1 or failure.kind is FailureKind.THROTTLED:
            return _unanswered(questions, failure)
        return await self._ask_singly(questions)

    async def _ask_singly(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        answers: list[InclusionAnswer] = []
        while len(answers) < len(questions) and not _is_hopeless(answers):
            answers += await self._ask_some([questions[len(answers)]])
        if all(answer.failure is None for answer in answers):
            self._size.refuse(len(questions))  # no single hash was the reason
        return answers + _left(questions, answers)

    async def _exchange(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Ask for nonces first: one that is used, without a receipt, was used by another.

        The other way round, the transaction itself might be included in between.
        """
        senders = [each.sender for each in questions if each.sender is not None]
        next_nonces = await self._next_nonces(senders)
        receipts = await self._node.receipts([each.tx_hash for each in questions])
        return [
            InclusionAnswer(
                question.tx_hash,
                None if receipt is None else _inclusion(receipt),
                None if question.sender is None else next_nonces[question.sender],
            )
            for question, receipt in zip(questions, receipts, strict=True)
        ]

    async def _next_nonces(self, senders: Sequence[Address]) -> dict[Address, int]:
        distinct = list(dict.fromkeys(senders))
        if not distinct:
            return {}
        counts = await self._node.transaction_counts(distinct)
        return dict(zip(distinct, counts, strict=True))


_MEASURED_BLOCKS: Final = 1000
_FURTHEST: Final = timedelta(days=3650)


class BlockClient:
    """Dates a block, or estimates its time, with the first node that answers.

    Without a `block_time`, the estimate uses the interval of the last thousand blocks.
    """

    def __init__(
        self, nodes: Sequence[NodeClient], network_id: NetworkId, block_time: timedelta | None
    ) -> None:
        self._nodes = nodes
        self._network_id = network_id
        self._block_time = block_time

    async def end_with(self, block_number: int) -> LimitsEnd:
        """Return the end of line limits with a block, dated or estimated; raises UpstreamError."""
        *others, last = self._nodes
        for node in others:
            with suppress(UpstreamError):
                return await self._dated(node, block_number)
        return await self._dated(last, block_number)

    async def _dated(self, node: NodeClient, block_number: int) -> LimitsEnd:
        await node.check_network(self._network_id)
        head = await node.block("latest")
        if head is None:
            raise UpstreamUnreadable(f"{node.endpoint.name}: it has no newest block")
        if head.number >= block_number:
            found = await node.block(block_number)
            if found is None:
                raise UpstreamUnreadable(f"{node.endpoint.name}: it has no block {block_number}")
            return LimitsEnd(found.timestamp, block_number)
        interval = await self._block_interval(node, head)
        seconds = (block_number - head.number) * interval.total_seconds()
        away = timedelta(seconds=min(seconds, _FURTHEST.total_seconds()))
        return LimitsEnd(head.timestamp + away, block_number, is_expected=True)

    async def _block_interval(self, node: NodeClient, head: BlockHeader) -> timedelta:
        if self._block_time is not None:
            return self._block_time
        earlier = await node.block(max(0, head.number - _MEASURED_BLOCKS))
        if earlier is None or earlier.number == head.number:
            return timedelta()
        return (head.timestamp - earlier.timestamp) / (head.number - earlier.number)


def _inclusion(receipt: Receipt) -> Inclusion:
    return Inclusion(receipt.block_number, receipt.block_hash, receipt.is_successful)


def _unanswered(
    questions: Sequence[InclusionQuestion], failure: Failure | None
) -> list[InclusionAnswer]:
    return [InclusionAnswer(each.tx_hash, failure=failure) for each in questions]


def _left(
    questions: Sequence[InclusionQuestion], answers: Sequence[InclusionAnswer]
) -> list[InclusionAnswer]:
    """Return answers for questions that were not asked, with the failure that ended the asking."""
    rest = questions[len(answers) :]
    return _unanswered(rest, answers[-1].failure) if rest else []


def _is_hopeless(answers: Sequence[InclusionAnswer]) -> bool:
    """Whether the node, rather than a hash, is the reason of the failures."""
    last = [each.failure for each in answers[-_GIVES_UP_AFTER:] if each.failure is not None]
    return len(last) == _GIVES_UP_AFTER and all(
        failure.kind is not FailureKind.UNREADABLE for failure in last
    )
