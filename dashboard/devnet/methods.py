"""The methods of devnet, strict about their params; over HTTP, single calls and batches."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Final

import msgspec
from eth_hash.auto import keccak
from msgspec import UNSET, Raw
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from dashboard.devnet.chain import GAS_LIMIT, Block, Chain
from dashboard.devnet.genesis import DEVNET_ID, Genesis
from dashboard.devnet.node import IncludedTransaction, Node
from dashboard.domain.quantity import Address, Clock, TxHash, Wei, parse_hex_quantity, shorten
from dashboard.domain.rejections.exclusion import SignedTransaction
from dashboard.errors import InputError, WireError
from dashboard.logs import get_logger
from dashboard.wire import jsonrpc
from dashboard.wire.decoding import named
from dashboard.wire.jsonrpc import ErrorReply, RpcError
from dashboard.wire.node import (
    BlockHeader,
    encode_block,
    encode_fee_history,
    encode_quantity,
    parse_address,
    parse_tx_hash,
)
from dashboard.wire.transaction import encode_integer, encode_list, items_of, whole_item

CLIENT_VERSION: Final = b'"Linewatch/devnet"'


class Methods:
    """Answers one call with JSON text.

    WireError for wrong params, InputError for what a node refuses.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._hash_of = block_hashes(node.chain.genesis)
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
        transactions: list[TxHash | Raw] = [
            Raw(encode(self._transaction(each))) if is_whole else each.transaction.tx_hash
            for each in self._node.inclusions(number)
        ]
        return encode_block(self._header(block), transactions)

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
        found = self._node.find(tx_hash(params, 0))
        return encode(None if found is None else self._transaction(found))

    def _transaction_receipt(self, params: Params) -> bytes:
        check_count(params, 1, 1)
        found = self._node.find(tx_hash(params, 0))
        return encode(None if found is None else self._receipt(found))

    def _transaction_count(self, params: Params) -> bytes:
        check_count(params, 1, 2)
        head = self._node.head()
        sender = address(params, 0)
        number = block_number(params, 1, head)
        if number > head and params[1] != "pending":
            raise InputError(f"block {number} is beyond the head block {head}")
        return encode_quantity(self._node.next_nonce(sender, number))

    def _header(self, block: Block) -> BlockHeader:
        return BlockHeader(
            number=block.number,
            hash=self._hash_of(block.number),
            parent_hash=self._hash_of(block.number - 1) if block.number else _NO_PARENT,
            timestamp=block.timestamp,
            base_fee_per_gas=block.base_fee_per_gas,
            gas_used=block.gas_used,
            gas_limit=GAS_LIMIT,
        )

    def _transaction(self, found: IncludedTransaction) -> dict[str, object]:
        """Return a transaction in its block, with the members of type 2 (EIP-1559)."""
        signed, payment = found.transaction, found.payment
        parity, r, s = (
            hex(int.from_bytes(each.content, "big"))
            for each in items_of(whole_item(signed.raw[1:]))[-3:]
        )
        return {
            "hash": str(signed.tx_hash),
            "type": "0x2",
            "chainId": hex(DEVNET_ID),
            "nonce": hex(signed.nonce),
            "blockHash": f"0x{self._hash_of(found.block).hex()}",
            "blockNumber": hex(found.block),
            "transactionIndex": hex(found.index),
            "from": str(signed.sender),
            "to": _text(signed.recipient),
            "value": hex(payment.value),
            "gas": hex(payment.gas),
            "gasPrice": hex(self._price(found)),
            "maxFeePerGas": hex(payment.max_fee_per_gas),
            "maxPriorityFeePerGas": hex(payment.max_priority_fee_per_gas),
            "input": f"0x{payment.data.hex()}",
            "accessList": [],
            "yParity": parity,
            "v": parity,
            "r": r,
            "s": s,
        }

    def _receipt(self, found: IncludedTransaction) -> dict[str, object]:
        """Return the receipt of a transaction; on devnet every included one succeeds."""
        signed = found.transaction
        return {
            "transactionHash": str(signed.tx_hash),
            "transactionIndex": hex(found.index),
            "blockHash": f"0x{self._hash_of(found.block).hex()}",
            "blockNumber": hex(found.block),
            "from": str(signed.sender),
            "to": _text(signed.recipient),
            "cumulativeGasUsed": hex(found.gas_before + found.gas_used),
            "gasUsed": hex(found.gas_used),
            "contractAddress": None if signed.recipient else str(contract_of(signed)),
            "logs": [],
            "logsBloom": f"0x{'0' * 512}",
            "type": "0x2",
            "effectiveGasPrice": hex(self._price(found)),
            "status": "0x1",
        }

    def _price(self, found: IncludedTransaction) -> Wei:
        """Return the total price per gas of a transaction."""
        base_fee = self._node.chain.block(found.block).base_fee_per_gas
        return Wei(base_fee + found.payment.tip(base_fee))


LARGEST_FEE_HISTORY: Final = 1024
LARGEST_PERCENTILES: Final = 100

_HEAD_TAGS: Final = frozenset({"latest", "safe", "finalized"})

Params = list[object]


def check_count(params: Params, least: int, most: int) -> None:
    """Raise WireError for too few or too many params; optional ones may also be null."""
    if len(params) < least:
        raise WireError(f"missing value for required argument {len(params)}")
    if len(params) > most:
        raise WireError(f"too many arguments, want at most {most}")


def text(params: Params, place: int) -> str:
    value = params[place]
    if not isinstance(value, str):
        raise WireError(f"invalid argument {place}: a text belongs there")
    return value


def tx_hash(params: Params, place: int) -> TxHash:
    return named(f"invalid argument {place}", parse_tx_hash, text(params, place))


def address(params: Params, place: int) -> Address:
    return named(f"invalid argument {place}", parse_address, text(params, place))


def flag(params: Params, place: int) -> bool:
    """Return a boolean; false if it is missing or null."""
    value = params[place] if place < len(params) else None
    if value is not None and not isinstance(value, bool):
        raise WireError(f"invalid argument {place}: true or false belongs there")
    return bool(value)


def block_number(params: Params, place: int, head: int) -> int:
    """Return a block number; ``pending`` follows `head`, missing or null is `head`."""
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
    complaint = subject or f"invalid argument {place}"
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if not isinstance(value, str):
        raise WireError(f"{complaint}: a hex quantity such as 0x1a belongs there")
    return named(complaint, parse_hex_quantity, value)


def percentiles(params: Params, place: int) -> tuple[Fraction, ...] | None:
    """Return ascending percentiles from 0 to 100; None if none were requested."""
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


def block_hashes(genesis: Genesis) -> Callable[[int], bytes]:
    """Return a function that hashes a block from nothing but the genesis and its number."""
    name = f"{DEVNET_ID}:{genesis.seed}:{genesis.timestamp}"
    return lambda number: keccak(f"{name}:{number}".encode())


def contract_of(deployment: SignedTransaction) -> Address:
    """Return the address of the contract that a deployment creates (Yellow Paper, section 7)."""
    sender = bytes((0x80 + Address.LENGTH,)) + deployment.sender
    return Address(keccak(encode_list(sender + encode_integer(deployment.nonce)))[-20:])


def encode(answer: dict[str, object] | None) -> bytes:
    """Write an answer, or null."""
    return msgspec.json.encode(answer)


def _text(account: Address | None) -> str | None:
    return None if account is None else str(account)


LARGEST_BODY: Final = 1_000_000
LARGEST_BATCH: Final = 1000

_REFUSED: Final = -32000
_log = get_logger(__name__)


def build_app(chain: Chain, clock: Clock) -> ASGIApp:
    """Return the app of a devnet."""
    methods = Methods(Node(chain, clock))

    async def post(request: Request) -> Response:
        try:
            body = await _read(request)
        except ClientDisconnect:
            return Response()  # the client has left
        if body is None:
            error = RpcError.invalid_request(f"a body may hold {LARGEST_BODY} bytes")
            return _json(jsonrpc.error_reply(jsonrpc.NULL_ID, error), status=413)
        answer = answer_body(methods, body)
        return Response(status_code=204) if answer is None else _json(answer)

    return Starlette(routes=[Route("/", post, methods=["POST"])])


def answer_body(methods: Methods, body: bytes) -> bytes | None:
    """Answer one HTTP body; None if it expects no reply (notifications only)."""
    message = jsonrpc.parse_message(body, LARGEST_BATCH)
    replies = [_answer(methods, item) for item in message.items]
    written = [reply for reply in replies if reply is not None]
    if not written:
        return None
    return jsonrpc.batch_reply(written) if message.is_batch else written[0]


def _answer(methods: Methods, item: jsonrpc.Request | ErrorReply) -> bytes | None:
    if isinstance(item, ErrorReply):
        return jsonrpc.error_reply(item.id, item.error)
    outcome = _outcome(methods, item)
    if item.id is UNSET:
        return None
    if isinstance(outcome, RpcError):
        return jsonrpc.error_reply(item.id, outcome)
    return jsonrpc.result_reply(item.id, outcome)


def _outcome(methods: Methods, request: jsonrpc.Request) -> bytes | RpcError:
    """Run one call; an error is returned, so that other calls of a batch continue."""
    method = methods.by_name.get(request.method)
    if method is None:
        return RpcError.method_not_found(request.method)
    params = [] if request.params is UNSET else request.params
    try:
        if not isinstance(params, list):
            raise WireError("params belong in a list")
        return method(params)
    except WireError as error:
        return RpcError.invalid_params(str(error))
    except InputError as error:
        return RpcError(_REFUSED, str(error))
    except Exception:  # noqa: BLE001 - one broken answer must not end the node
        _log.exception("A call failed unexpectedly", method=request.method)
        return RpcError.internal_error()


async def _read(request: Request) -> bytes | None:
    """Return the body, or None once it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            return None
    return body


def _json(body: bytes, status: int = 200) -> Response:
    return Response(body, status_code=status, media_type="application/json")
