"""The gas API over a real EVM node that is not ours: right to the last wei, through changes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.anvil import Anvil, running_anvil
from tests.builders import GWEI
from tests.integration.reference_gas import gas_operations, read_blocks
from tests.integration.served_gas import api_over

BLOCK_OF_FOUR = ("--gas-limit", "84000")


def live_through(node: Anvil, blocks: int, seed: int) -> None:
    """Mine blocks that are empty, half full and full, with tips from dust to high."""
    chance = Random(seed)  # noqa: S311 - traffic that repeats, nothing to guard
    for _ in range(blocks):
        for _ in range(chance.randrange(5)):
            node.send(chance.randrange(1, 9 * GWEI), 10_000 * GWEI)
        node.mine()


@pytest.mark.parametrize("window_blocks", [20_000, 40])
async def test_all_four_operations_agree_with_the_blocks_to_the_last_wei(
    tmp_path: Path, window_blocks: int
) -> None:
    with running_anvil(*BLOCK_OF_FOUR) as node:
        live_through(node, 60, seed=1559)
        async with api_over(node, tmp_path, window_blocks) as api:
            assert await api.answers() == gas_operations(read_blocks(node), window_blocks)

            live_through(node, 15, seed=7)
            assert await api.answers() == gas_operations(read_blocks(node), window_blocks)


async def test_longer_chain_is_told_by_its_newest_five_hundred_blocks(tmp_path: Path) -> None:
    with running_anvil(*BLOCK_OF_FOUR) as node:
        live_through(node, 20, seed=3)
        node.mine(500)
        live_through(node, 10, seed=4)
        async with api_over(node, tmp_path, 20_000) as api:
            answers = await api.answers()

        assert len(answers["baseFeeHistory"]) == 500
        assert answers == gas_operations(read_blocks(node), 20_000)


async def test_replaced_blocks_are_replaced_in_every_answer(tmp_path: Path) -> None:
    with running_anvil(*BLOCK_OF_FOUR) as node:
        live_through(node, 20, seed=5)
        fork = node.ask("evm_snapshot")
        node.mine(4)
        async with api_over(node, tmp_path, 20_000) as api:
            await api.answers()
            node.ask("evm_revert", fork)
            live_through(node, 6, seed=6)

            assert await api.answers() == gas_operations(read_blocks(node), 20_000)


async def test_newborn_chain_has_sensible_answers(tmp_path: Path) -> None:
    with running_anvil() as node:
        async with api_over(node, tmp_path, 20_000) as api:
            answers = await api.answers()
            expected = gas_operations(read_blocks(node), 20_000)

    # This node's block 1 repeats the base fee of its block 0, whatever EIP-1559 says.
    expected["suggestedGasFees"]["baseFeeTrend"] = "level"
    assert answers == expected
