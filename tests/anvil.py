"""A real EVM node that is not ours: Foundry's anvil on a free port, fed with real transactions."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
from eth_account import Account

from tests.provision import anvil
from tests.waiting import PATIENCE, eventually

CHAIN_ID: Final = 31337
# The first account of the phrase that every development node is born with: worth nothing.
_RICH_KEY: Final = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
_RECIPIENT: Final = (0xA11CE).to_bytes(20)
_LISTENING: Final = re.compile(r"Listening on (\S+)")
_SHORTEST_GAS: Final = 21_000
_GAS_OF_A_BYTE: Final = 40
_AT_ONCE: Final = 500
"""Calls in one request."""


class Snapshot(NamedTuple):
    """A chain that can be gone back to, and the sender's next nonce on it."""

    name: str
    nonce: int


@dataclass
class Anvil:
    """A running node; it is asked here without any code of the product."""

    url: str
    _client: httpx.Client
    _nonce: int = field(default=0)

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever the node says
        """Return the result of one JSON-RPC call; AssertionError where it is an error."""
        reply = self._client.post(self.url, json=_call(method, *params)).json()
        assert "error" not in reply, reply
        return reply["result"]

    def mine(self, blocks: int = 1) -> None:
        """Mine blocks; the first takes the transactions that wait."""
        self.ask("anvil_mine", hex(blocks))

    def send(self, priority_fee: int, max_fee: int, data_bytes: int = 0) -> str:
        """Sign and hand in an EIP-1559 transaction, which waits for `mine`; return its hash."""
        signed = Account.sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": self._nonce,
                "to": _RECIPIENT,
                "value": 1,
                "data": b"\x01" * data_bytes,
                "gas": _SHORTEST_GAS + _GAS_OF_A_BYTE * data_bytes,
                "maxPriorityFeePerGas": priority_fee,
                "maxFeePerGas": max_fee,
            },
            _RICH_KEY,
        )
        self._nonce += 1
        tx_hash = self.ask("eth_sendRawTransaction", f"0x{signed.raw_transaction.hex()}")
        assert isinstance(tx_hash, str)
        return tx_hash

    def snapshot(self) -> Snapshot:
        """Remember the chain as it is."""
        return Snapshot(self.ask("evm_snapshot"), self._nonce)

    def revert(self, snapshot: Snapshot) -> None:
        """Go back to a remembered chain, once; what came after it is gone."""
        assert self.ask("evm_revert", snapshot.name)
        self._nonce = snapshot.nonce

    def blocks(self) -> list[dict[str, Any]]:
        """Return every block with its whole transactions, oldest first."""
        newest = int(self.ask("eth_blockNumber"), 16)
        with_transactions = True
        calls = [
            _call("eth_getBlockByNumber", hex(number), with_transactions, request_id=number)
            for number in range(newest + 1)
        ]
        replies = [
            reply
            for begin in range(0, len(calls), _AT_ONCE)
            for reply in self._client.post(self.url, json=calls[begin : begin + _AT_ONCE]).json()
        ]
        return [reply["result"] for reply in sorted(replies, key=lambda each: int(each["id"]))]


def _call(method: str, *params: object, request_id: int = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


@contextmanager
def running_anvil(*options: str, port: int = 0) -> Iterator[Anvil]:
    """Yield a node that mines only when told; `options` are those of anvil's command line."""
    command = [str(anvil()), "--port", str(port), "--no-mining", *options]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "output"
        with output.open("wb") as sink:
            process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
        try:
            eventually(lambda: bool(_LISTENING.search(output.read_text())), what="anvil's start")
            address = _LISTENING.findall(output.read_text())[0]
            with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
                yield Anvil(f"http://{address}", client)
        finally:
            process.terminate()
            process.wait(PATIENCE)
