"""Small devnets for tests: a chain at a fixed moment, and questions to it as clients ask them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from eth_account import Account

from dashboard.devnet.admission import AcceptedTransactions
from dashboard.devnet.app import answer_body
from dashboard.devnet.chain import Chain
from dashboard.devnet.genesis import BLOCK_SECONDS, DEVNET_ID, Genesis
from dashboard.devnet.methods import Methods
from dashboard.devnet.node import Node
from dashboard.domain.quantity import WEI_PER_GWEI

BEGIN = 1_795_000_000
HEAD = 300
NOW = datetime.fromtimestamp(BEGIN + HEAD * BLOCK_SECONDS, UTC)
Json: TypeAlias = Any
KEY = "0x" + "11" * 32
SENDER = Account.from_key(KEY).address.lower()


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

    folder: Path
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.chain = a_chain()
        self.accepted = AcceptedTransactions(self.folder)
        self.methods = Methods(Node(self.chain, self.accepted, self.clock))

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

    def send(self, **changes: object) -> str:
        sent: str = self.ask("eth_sendRawTransaction", a_transaction(**changes))
        return sent

    def next_block(self) -> None:
        self.clock.pass_by(BLOCK_SECONDS)


def a_transaction(**changes: object) -> str:
    """Sign a transfer with eth-account; a `gasPrice` makes it a legacy one."""
    fields: dict[str, object] = {
        "chainId": DEVNET_ID,
        "nonce": 0,
        "to": "0x" + "22" * 20,
        "value": 10**18,
        "gas": 21_000,
        "data": b"",
        "maxFeePerGas": 200 * WEI_PER_GWEI,
        "maxPriorityFeePerGas": WEI_PER_GWEI,
    } | changes
    if "gasPrice" in changes:
        del fields["maxFeePerGas"], fields["maxPriorityFeePerGas"]
    present = {name: value for name, value in fields.items() if value is not None}
    return f"0x{bytes(Account.sign_transaction(present, KEY).raw_transaction).hex()}"
