"""Small devnets for tests: a chain at a fixed moment, and questions to it as clients ask them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from dashboard.devnet.chain import Chain
from dashboard.devnet.genesis import BLOCK_SECONDS, Genesis
from dashboard.devnet.methods import Methods, answer_body
from dashboard.devnet.node import Node

BEGIN = 1_795_000_000
HEAD = 300
NOW = datetime.fromtimestamp(BEGIN + HEAD * BLOCK_SECONDS, UTC)
Json: TypeAlias = Any


def a_chain(seed: int = 7, begin: int = BEGIN) -> Chain:
    return Chain(Genesis(seed=seed, timestamp=begin))


@dataclass
class ManualClock:
    """A clock that stands still until it is told to move."""

    moment: datetime = NOW

    def __call__(self) -> datetime:
        return self.moment

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


@dataclass
class Devnet:
    """A node with its head at block 300, asked by JSON text."""

    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.chain = a_chain()
        self.methods = Methods(Node(self.chain, self.clock))

    def reply(self, method: str, *params: object) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = json.loads(self.body(json.dumps(call).encode()) or b"null")
        return answer

    def ask(self, method: str, *params: object) -> Json:
        reply = self.reply(method, *params)
        assert "result" in reply, reply
        return reply["result"]

    def block(self, tag: object, *, is_whole: bool = False) -> Json:
        return self.ask("eth_getBlockByNumber", tag, is_whole)

    def fault(self, method: str, *params: object) -> tuple[int, str]:
        error = self.reply(method, *params)["error"]
        return error["code"], error["message"]

    def body(self, body: bytes) -> bytes | None:
        return answer_body(self.methods, body)

    def next_block(self) -> None:
        self.clock.pass_by(BLOCK_SECONDS)
