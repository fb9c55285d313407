"""A chain of our own behind an asker, with the habits that real nodes have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from dashboard.domain.quantity import TxHash
from tests.unit.upstream.scripted_asker import Call, fault, result

GAS_LIMIT = 30_000_000


@dataclass(frozen=True)
class Block:
    """One block; `tip` is what every reward percentile of it says."""

    hash: str
    parent: str
    base_fee: int
    tip: int
    transactions: tuple[str, ...] = ()


@dataclass
class FakeChain:
    """A node's chain. `calls` keeps every call; the other fields are its habits.

    `history_depth`: ranges that end further behind the head are refused. `most_blocks`: a
    history has no more. `is_rewarding`, `knows_history`, `has_base_fee`: what it can tell.
    """

    history_depth: int = 10**9
    most_blocks: int = 1024
    is_rewarding: bool = True
    knows_history: bool = True
    has_base_fee: bool = True
    history_fault: int = -32602
    blocks: list[Block] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    _hashes: count[int] = field(default_factory=lambda: count(1))

    def mine(self, *base_fees: int, tip: int = 5) -> None:
        """Add blocks with these base fees."""
        for base_fee in base_fees:
            parent = self.blocks[-1].hash if self.blocks else f"0x{0:064x}"
            self.blocks.append(Block(f"0x{next(self._hashes):064x}", parent, base_fee, tip))

    def include(self, *hashes: TxHash) -> None:
        """Add a block that holds these."""
        self.mine(7)
        self.blocks[-1] = replace(self.blocks[-1], transactions=tuple(map(str, hashes)))

    @property
    def transactions(self) -> set[str]:
        """The hashes of all transactions."""
        return {each for block in self.blocks for each in block.transactions}

    def drop(self, how_many: int) -> None:
        """Forget the newest blocks, as before a reorganisation."""
        del self.blocks[len(self.blocks) - how_many :]

    @property
    def base_fees(self) -> tuple[int, ...]:
        """The base fees of all blocks, oldest first."""
        return tuple(block.base_fee for block in self.blocks)

    def asked(self, method: str) -> list[list[Any]]:
        """Return the params of every call of a method."""
        return [call["params"] for call in self.calls if call["method"] == method]

    def answer(self, calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        """Answer a question as a ScriptedAsker hands it over."""
        self.calls += calls
        replies = [self._reply(call) for call in calls]
        return replies if len(replies) > 1 else replies[0]

    def _reply(self, call: Call) -> dict[str, Any]:
        match call["method"], call["params"]:
            case "eth_chainId", _:
                return result(call, hex(424242))
            case "eth_getBlockByNumber", ["latest", _]:
                return result(call, self._header(len(self.blocks) - 1))
            case "eth_getBlockByNumber", [number, _]:
                return result(call, self._header(int(number, 16)))
            case "eth_feeHistory", [block_count, newest, percentiles]:
                return self._history(call, int(block_count, 16), int(newest, 16), percentiles)
            case _:
                return fault(-32601, call)

    def _header(self, number: int) -> dict[str, Any] | None:
        if not 0 <= number < len(self.blocks):
            return None
        block = self.blocks[number]
        base_fee = {"baseFeePerGas": hex(block.base_fee)} if self.has_base_fee else {}
        return base_fee | {
            "number": hex(number),
            "hash": block.hash,
            "parentHash": block.parent,
            "timestamp": hex(1_700_000_000 + 2 * number),
            "gasUsed": hex(GAS_LIMIT // 2),
            "gasLimit": hex(GAS_LIMIT),
            "transactions": list(block.transactions),
        }

    def _history(
        self, call: Call, block_count: int, newest: int, percentiles: list[int]
    ) -> dict[str, Any]:
        head = len(self.blocks) - 1
        if not self.knows_history or not head - self.history_depth <= newest <= head:
            return fault(self.history_fault, call)
        oldest = max(0, newest + 1 - min(block_count, self.most_blocks))
        blocks = self.blocks[oldest : newest + 1]
        following = self.blocks[newest + 1 : newest + 2] or blocks[-1:]
        history = {
            "oldestBlock": hex(oldest),
            "baseFeePerGas": [hex(block.base_fee) for block in [*blocks, *following]],
            "gasUsedRatio": [0.5] * len(blocks),
        }
        if self.is_rewarding and percentiles:
            history["reward"] = [[hex(block.tip)] * len(percentiles) for block in blocks]
        return result(call, history)
