"""A node for the gas benchmark: mines when it is told to, and counts what it is asked."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from msgspec import Raw
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dashboard.wire.jsonrpc import (
    Request,
    RpcError,
    batch_reply,
    error_reply,
    parse_message,
    result_reply,
)
from dashboard.wire.node import encode_block, encode_fee_history, encode_quantity
from tests.bench.expected_replies import NETWORK
from tests.bench.mined_chain import FIRST_HEAD, fee_history, header
from tests.bench.peers.record import run


class Node:
    """Answers for a chain that it mines."""

    def __init__(self) -> None:
        self.head = FIRST_HEAD
        self.asked: Counter[str] = Counter()

    async def answer(self, request: HttpRequest) -> Response:
        """Answer one HTTP request of a client."""
        message = parse_message(await request.body())
        self.asked["requests"] += 1
        replies = [
            self._reply(item.id, item.method, item.params)
            for item in message.items
            if isinstance(item, Request) and isinstance(item.id, Raw)
        ]
        return Response(batch_reply(replies) if message.is_batch else replies[0])

    async def mine(self, _: HttpRequest) -> Response:
        """Add one block; tell which."""
        self.head += 1
        return JSONResponse({"head": self.head})

    async def count(self, _: HttpRequest) -> Response:
        """Tell how often everything was asked, and how often each method."""
        return JSONResponse({"head": self.head, **self.asked})

    def _reply(self, request_id: Raw, method: str, params: Any) -> bytes:  # noqa: ANN401 - any JSON
        self.asked[method] += 1
        match method:
            case "eth_chainId":
                result = encode_quantity(NETWORK)
            case "eth_blockNumber":
                result = encode_quantity(self.head)
            case "eth_getBlockByNumber":
                result = encode_block(header(self._number(params[0])), [])
            case "eth_feeHistory":
                count = params[0] if isinstance(params[0], int) else int(params[0], 16)
                result = encode_fee_history(fee_history(count, self._number(params[1]), params[2]))
            case _:
                return error_reply(request_id, RpcError.method_not_found(method))
        return result_reply(request_id, result)

    def _number(self, text: Any) -> int:  # noqa: ANN401 - any JSON
        return self.head if text in {"latest", "pending"} else int(text, 16)


def build_app() -> Starlette:
    """Serve a node with its two levers."""
    node = Node()
    return Starlette(
        routes=[
            Route("/", node.answer, methods=["POST"]),
            Route("/mine", node.mine, methods=["POST"]),
            Route("/count", node.count),
        ]
    )


if __name__ == "__main__":
    run(build_app(), int(sys.argv[1]))
