"""The four gas operations from a node's blocks, computed anew without any code of the product.

Written from the published rules: plain integers, everything sorted again each time. Percentages of
gas are compared by cross-multiplying, so nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.anvil import Anvil

LEVELS = {
    "low": (10, 94, 1_000_000_000, 110, 30_000),
    "medium": (20, 97, 1_500_000_000, 120, 45_000),
    "high": (30, 98, 2_000_000_000, 125, 60_000),
}


@dataclass(frozen=True)
class Block:
    """What counts of one block; `tips` are (priority fee paid per gas, gas used)."""

    base_fee: int
    gas_used: int
    gas_limit: int
    tips: tuple[tuple[int, int], ...]

    def reward(self, percent: int) -> int:
        """Return the smallest tip that covers `percent` of the block's gas; 0 when empty."""
        covered = 0
        for tip, gas in sorted(self.tips):
            covered += gas
            if covered * 100 >= percent * self.gas_used:
                return tip
        return 0


def read_blocks(node: Anvil) -> list[Block]:
    """Read every block with the receipts of its transactions."""
    return [_block(node, block) for block in node.blocks()]


class Mirror:
    """The blocks of a node, kept up to date by reading what is new or was replaced."""

    def __init__(self, node: Anvil) -> None:
        self._node = node
        self._hashes: list[str] = []
        self._blocks: list[Block] = []

    def read(self) -> list[Block]:
        """Return all blocks, oldest first, after looking from the newest down to a known one."""
        if not self._hashes:
            found = self._node.blocks()
            self._hashes = [block["hash"] for block in found]
            self._blocks = [_block(self._node, block) for block in found]
        number = int(self._node.ask("eth_blockNumber"), 16)
        del self._hashes[number + 1 :], self._blocks[number + 1 :]
        newer: list[tuple[str, Block]] = []
        while number >= 0:
            block = self._node.ask("eth_getBlockByNumber", hex(number), *(True,))
            if number < len(self._hashes) and self._hashes[number] == block["hash"]:
                break
            newer.append((block["hash"], _block(self._node, block)))
            number -= 1
        del self._hashes[number + 1 :], self._blocks[number + 1 :]
        for block_hash, each in reversed(newer):
            self._hashes.append(block_hash)
            self._blocks.append(each)
        return self._blocks


def _block(node: Anvil, block: dict[str, Any]) -> Block:
    base_fee = int(block["baseFeePerGas"], 16)
    receipts = [
        node.ask("eth_getTransactionReceipt", transaction["hash"])
        for transaction in block["transactions"]
    ]
    tips = tuple(
        (int(each["effectiveGasPrice"], 16) - base_fee, int(each["gasUsed"], 16))
        for each in receipts
    )
    return Block(base_fee, int(block["gasUsed"], 16), int(block["gasLimit"], 16), tips)


def gas_operations(blocks: Sequence[Block], window_blocks: int) -> dict[str, Any]:
    """Return what each operation has to answer, as JSON values."""
    window = [block.base_fee for block in blocks[-window_blocks:]]
    return {
        "suggestedGasFees": _suggested(blocks, window),
        "baseFeeHistory": [gwei(fee) for fee in window[-500:]],
        "baseFeePercentile": {"baseFeePercentile": gwei(_nearest_rank(window, 50))},
        "busyThreshold": {"busyThreshold": gwei(_nearest_rank(window, 90))},
    }


def _suggested(blocks: Sequence[Block], window: Sequence[int]) -> dict[str, Any]:
    latest, historical = blocks[-1], blocks[-200:]
    tens = [block.reward(10) for block in historical if block.reward(10)]
    base_fees = [block.base_fee for block in historical]
    middles = [block.reward(50) for block in blocks[-2:] if block.reward(50)]
    return {
        **{name: _level(blocks[-5:], *numbers) for name, numbers in LEVELS.items()},
        "estimatedBaseFee": gwei(latest.base_fee),
        "networkCongestion": sum(fee < latest.base_fee for fee in window) / len(window),
        "latestPriorityFeeRange": [gwei(latest.reward(10)), gwei(latest.reward(95))],
        "historicalPriorityFeeRange": [
            gwei(min(tens, default=0)),
            gwei(max(block.reward(95) for block in historical)),
        ],
        "historicalBaseFeeRange": [gwei(min(base_fees)), gwei(max(base_fees))],
        "priorityFeeTrend": _trend(middles[0], middles[-1]) if middles else "level",
        "baseFeeTrend": _trend(latest.base_fee, _next_base_fee(latest)),
    }


def _level(
    recent: Sequence[Block], percent: int, share: int, floor: int, base_share: int, longest: int
) -> dict[str, Any]:
    rewards = sorted(block.reward(percent) for block in recent)
    tip = max(rewards[(len(rewards) - 1) // 2] * share // 100, floor)
    return {
        "suggestedMaxPriorityFeePerGas": gwei(tip),
        "suggestedMaxFeePerGas": gwei(recent[-1].base_fee * base_share // 100 + tip),
        "minWaitTimeEstimate": 15_000,
        "maxWaitTimeEstimate": longest,
    }


def _nearest_rank(values: Sequence[int], percent: int) -> int:
    return sorted(values)[(len(values) * percent + 99) // 100 - 1]


def _next_base_fee(block: Block) -> int:
    """EIP-1559, with its divisions in its order."""
    target = block.gas_limit // 2
    if block.gas_used == target:
        return block.base_fee
    if block.gas_used > target:
        rise = block.base_fee * (block.gas_used - target) // target // 8
        return block.base_fee + max(rise, 1)
    return block.base_fee - block.base_fee * (target - block.gas_used) // target // 8


def _trend(before: int, after: int) -> str:
    return "level" if before == after else "up" if after > before else "down"


def gwei(wei: int) -> str:
    text = format(Decimal(wei).scaleb(-9), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
