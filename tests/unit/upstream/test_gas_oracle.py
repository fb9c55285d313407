"""Following a chain: what is held equals what the chain says, at the fewest questions."""

from __future__ import annotations

import pytest

from dashboard.errors import (
    UpstreamUnavailable,
)
from tests.builders import GWEI
from tests.unit.upstream.chain_followers import a_chain, assert_holds, follow, load
from tests.unit.upstream.scripted_asker import Call


async def test_follower_has_no_answer_before_its_first_block() -> None:
    follower = follow(a_chain(3))

    with pytest.raises(UpstreamUnavailable, match="no block has been read yet"):
        follower.snapshot()
    assert follower.head is None
    assert follower.read_at is None
    assert not follower.is_complete


async def test_first_answer_rests_on_the_newest_blocks_and_the_rest_follows() -> None:
    chain = a_chain(3000)
    follower = follow(chain, window_blocks=2500, chunks_per_refresh=1)

    await follower.refresh()
    assert_holds(follower, chain.base_fees[-200:])
    await follower.refresh()
    assert_holds(follower, chain.base_fees[-1224:])
    await load(follower)

    assert follower.is_complete
    assert_holds(follower, chain.base_fees[-2500:])


async def test_answer_is_there_while_older_blocks_still_load() -> None:
    chain = a_chain(3000)
    seen: list[tuple[int, ...]] = []

    def answer(calls: list[Call]) -> object:
        if follower.head is not None:
            seen.append(follower.snapshot().base_fee_history)
        return chain.answer(calls)

    follower = follow(chain, answer=answer)
    await load(follower)

    assert seen[0] == chain.base_fees[-200:]
    assert seen[-1] == chain.base_fees[-500:]
    assert_holds(follower, chain.base_fees)


async def test_history_is_asked_in_chunks_and_rewards_for_two_hundred_blocks() -> None:
    chain = a_chain(3000)

    await load(follow(chain))

    asked = [
        (int(blocks, 16), int(newest, 16), percentiles)
        for blocks, newest, percentiles in chain.asked("eth_feeHistory")
    ]
    assert asked == [
        (200, 2999, [10, 20, 30, 50, 95]),
        (1024, 2799, []),
        (1024, 1775, []),
        (752, 751, []),
    ]


async def test_node_is_asked_once_per_block_however_many_want_to_know() -> None:
    chain = a_chain(300)
    follower = follow(chain)
    await load(follower)
    chain.mine(1234)
    chain.calls.clear()

    await follower.refresh()
    answers = [follower.snapshot() for _ in range(1000)]

    assert [call["method"] for call in chain.calls] == ["eth_getBlockByNumber", "eth_feeHistory"]
    assert int(chain.asked("eth_feeHistory")[0][0], 16) == 1
    assert all(each is answers[0] for each in answers)


async def test_refresh_without_a_new_block_asks_one_question_and_renews_the_age() -> None:
    chain = a_chain(300)
    follower = follow(chain)
    await load(follower)
    before = follower.snapshot()
    chain.calls.clear()

    await follower.refresh()

    assert len(chain.calls) == 1
    renewed = follower.snapshot()
    assert renewed.read_at == follower.read_at
    assert renewed.read_at > before.read_at
    assert renewed.suggested_gas_fees is before.suggested_gas_fees
    assert renewed.base_fee_history is before.base_fee_history


@pytest.mark.parametrize("new_blocks", [1, 2, 199, 200, 201, 1500])
async def test_new_blocks_join_what_is_held(new_blocks: int) -> None:
    chain = a_chain(700)
    follower = follow(chain, window_blocks=2000)
    await load(follower)

    chain.mine(*range(5000, 5000 + new_blocks), tip=3 * GWEI)
    await follower.refresh()

    assert_holds(follower, chain.base_fees[-2000:])
    assert follower.snapshot().suggested_gas_fees.latest_priority_fee_range == (3 * GWEI, 3 * GWEI)


async def test_chain_that_ran_far_ahead_is_read_afresh() -> None:
    chain = a_chain(700)
    follower = follow(chain, window_blocks=300)
    await load(follower)

    chain.mine(*range(5000, 5500))
    await follower.refresh()

    assert_holds(follower, chain.base_fees[-300:])
