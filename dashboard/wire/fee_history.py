"""The answer to eth_feeHistory: base fees and rewards of consecutive blocks.

Geth and Besu differ in what they leave out; both forms are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Raw

from dashboard.domain.quantity import Wei
from dashboard.errors import WireError
from dashboard.wire.decoding import named, read
from dashboard.wire.hexadecimal import parse_fee, parse_number

_Ratio = Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class FeeHistory:
    """The answer to eth_feeHistory for N blocks from `oldest_block` on, oldest first.

    `base_fee_per_gas` has N+1 entries, the last for the block to come; for no blocks it may
    be empty. `reward` has one row per block, all of one width, or is None where it was not
    asked or the node left it out.
    """

    oldest_block: int
    base_fee_per_gas: tuple[Wei, ...]
    gas_used_ratio: tuple[float, ...]
    reward: tuple[tuple[Wei, ...], ...] | None


class _FeeHistory(msgspec.Struct, rename="camel"):
    oldest_block: str
    base_fee_per_gas: list[str] | None = None
    gas_used_ratio: list[_Ratio] | None = None
    reward: list[list[str]] | None = None


_FEE_HISTORY: Final = msgspec.json.Decoder(_FeeHistory)


def decode_fee_history(raw: bytes | Raw) -> FeeHistory:
    """Read eth_feeHistory, whose arrays must fit each other in length."""
    return named("eth_feeHistory", _fee_history, read(_FEE_HISTORY, raw, "eth_feeHistory"))


def _fee_history(history: _FeeHistory) -> FeeHistory:
    base_fees = tuple(parse_fee(text) for text in history.base_fee_per_gas or ())
    ratios = tuple(history.gas_used_ratio or ())
    if len(base_fees) != len(ratios) + 1 and (base_fees or ratios):
        raise WireError(f"{len(base_fees)} base fees do not fit {len(ratios)} blocks")
    return FeeHistory(
        oldest_block=parse_number(history.oldest_block),
        base_fee_per_gas=base_fees,
        gas_used_ratio=ratios,
        reward=_rewards(history.reward, len(ratios)) if history.reward else None,
    )


def _rewards(rows: list[list[str]], block_count: int) -> tuple[tuple[Wei, ...], ...]:
    if len(rows) != block_count:
        raise WireError(f"{len(rows)} rows of rewards do not fit {block_count} blocks")
    if len({len(row) for row in rows}) > 1:
        raise WireError("the rows of rewards are not of one length")
    return tuple(tuple(parse_fee(text) for text in row) for row in rows)


def encode_fee_history(history: FeeHistory) -> bytes:
    """Write eth_feeHistory; ``reward`` only where there is one."""
    answer: dict[str, Any] = {
        "oldestBlock": hex(history.oldest_block),
        "baseFeePerGas": [hex(each) for each in history.base_fee_per_gas],
        "gasUsedRatio": history.gas_used_ratio,
    }
    if history.reward is not None:
        answer["reward"] = [[hex(each) for each in row] for row in history.reward]
    return msgspec.json.encode(answer)
