"""Following a chain whose blocks are replaced: nothing of what was replaced is kept."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.upstream.chain_followers import (
    a_chain,
    assert_holds,
    follow,
    load,
)


@pytest.mark.parametrize("replaced", [1, 2, 5, 30])
@pytest.mark.parametrize("replacing", [1, 3, 40])
async def test_reorganisation_replaces_what_it_replaced(replaced: int, replacing: int) -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await load(follower)
    for base_fee in range(2000, 2040):
        chain.mine(base_fee)
        await follower.refresh()

    chain.drop(replaced)
    chain.mine(*range(3000, 3000 + replacing))
    await follower.refresh()

    assert follower.head is not None
    assert follower.head.number == len(chain.blocks) - 1
    assert_holds(follower, chain.base_fees)


async def test_fewer_blocks_than_were_replaced_leave_two_hundred_behind_the_ranges() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await load(follower)
    for base_fee in range(2000, 2150):
        chain.mine(base_fee)
        await follower.refresh()

    chain.drop(140)
    chain.mine(3000)
    await follower.refresh()

    newest = chain.base_fees[-200:]
    fees = follower.snapshot().suggested_gas_fees
    assert fees.historical_base_fee_range == (min(newest), max(newest))


async def test_reorganisation_right_after_the_start_reads_one_block() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await load(follower)
    chain.drop(1)
    chain.mine(3000)
    chain.calls.clear()

    await follower.refresh()

    assert len(chain.calls) == 2
    assert_holds(follower, chain.base_fees)


async def test_reorganisation_deeper_than_what_is_known_reads_afresh() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await load(follower)
    chain.drop(50)
    chain.mine(*range(3000, 3060))

    await follower.refresh()

    assert_holds(follower, chain.base_fees)


async def test_node_that_lags_behind_does_not_take_blocks_away() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await load(follower)
    chain.mine(2000)
    await follower.refresh()
    before = follower.snapshot()
    newest = chain.blocks[-1]

    chain.drop(1)
    await follower.refresh()
    lagging = follower.snapshot()
    chain.blocks.append(newest)
    await follower.refresh()

    assert lagging is before
    assert follower.snapshot().head == before.head


async def test_chain_that_stays_shorter_is_believed() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await load(follower)
    chain.mine(2000)
    await follower.refresh()

    chain.drop(1)
    for _ in range(3):
        await follower.refresh()

    assert_holds(follower, chain.base_fees)


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.lists(st.integers(1, 9), min_size=1, max_size=30)),
        max_size=12,
    )
)
def test_what_is_held_equals_the_chain_after_any_history(
    steps: list[tuple[int, list[int]]],
) -> None:
    async def run() -> None:
        chain = a_chain(20)
        follower = follow(chain, window_blocks=60)
        for replaced, base_fees in steps:
            chain.drop(min(replaced, len(chain.blocks) - 1))
            chain.mine(*base_fees)
            await load(follower)
        for _ in range(3):
            await follower.refresh()
        assert_holds(follower, chain.base_fees[-60:])

    asyncio.run(run())


async def test_reorganisation_is_found_after_hundreds_of_blocks_that_were_seen_singly() -> None:
    chain = a_chain(20)
    follower = follow(chain)
    for base_fee in range(2000, 2300):
        chain.mine(base_fee)
        await load(follower)
    chain.drop(100)
    chain.mine(*range(3000, 3120))
    chain.calls.clear()

    await follower.refresh()

    assert len(chain.asked("eth_getBlockByNumber")) <= 10
    assert len(chain.asked("eth_feeHistory")) == 1
    assert_holds(follower, chain.base_fees)
