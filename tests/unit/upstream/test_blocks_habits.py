"""Following a node that refuses, omits, fails or contradicts itself: never a wrong number."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.errors import (
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.node import NodeClient
from tests.builders import GWEI
from tests.unit.upstream.chain_followers import TickingClock, a_chain, assert_holds, follow, load
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, result

HABITS: dict[str, dict[str, Any]] = {
    "refuses old ranges": {"history_depth": 1000},
    "refuses old ranges with a code of its own": {"history_depth": 1000, "history_fault": -32000},
    "answers fewer blocks": {"most_blocks": 100},
    "leaves rewards out": {"is_rewarding": False},
    "knows no history": {"knows_history": False, "history_fault": -32601},
}


@pytest.mark.parametrize("habit", HABITS)
async def test_base_fees_are_complete_whatever_the_habits_of_the_node(habit: str) -> None:
    chain = a_chain(2600, **HABITS[habit])
    follower = follow(chain)

    await load(follower)
    chain.mine(4321)
    await follower.refresh()

    assert follower.is_complete
    assert_holds(follower, chain.base_fees)


async def test_node_without_rewards_gets_the_floors_suggested() -> None:
    follower = follow(a_chain(10, is_rewarding=False))

    await load(follower)

    fees = follower.snapshot().suggested_gas_fees
    assert fees.low.suggested_max_priority_fee_per_gas == GWEI
    assert fees.historical_priority_fee_range == (0, 0)


async def test_chain_without_base_fees_counts_zero_wei() -> None:
    chain = FakeChain(has_base_fee=False, knows_history=False)
    chain.mine(0, 0, 0)
    follower = follow(chain)

    await load(follower)

    assert_holds(follower, (0, 0, 0))
    assert follower.snapshot().suggested_gas_fees.base_fee_trend == "level"


async def test_constant_fee_chain_is_never_above_its_threshold() -> None:
    chain = FakeChain()
    chain.mine(*[7] * 600)
    follower = follow(chain)

    await load(follower)

    found = follower.snapshot()
    assert found.busy_threshold == found.base_fee_percentile == 7
    assert found.suggested_gas_fees.network_congestion == 0


async def test_chain_of_one_block_is_answered() -> None:
    chain = a_chain(1)
    follower = follow(chain)

    await load(follower)

    assert follower.is_complete
    assert_holds(follower, chain.base_fees)


async def test_trouble_with_older_blocks_spoils_no_newer_ones() -> None:
    chain = a_chain(1000)

    def answer(calls: list[Call]) -> object:
        is_old = calls[0]["method"] == "eth_feeHistory" and calls[0]["params"][1] == hex(799)
        return UpstreamUnavailable("down") if is_old else chain.answer(calls)

    follower = follow(chain, answer=answer)
    await load(follower)

    assert not follower.is_complete
    assert_holds(follower, chain.base_fees[-200:])
    for _ in range(60):  # each reads the clock, which goes on by a second
        await follower.refresh()
    assert follower.is_complete


async def test_what_is_held_is_kept_while_the_node_is_down() -> None:
    chain = a_chain(300)
    is_down: list[bool] = []
    follower = follow(
        chain, answer=lambda calls: UpstreamUnavailable("down") if is_down else chain.answer(calls)
    )
    await load(follower)
    before = follower.snapshot()
    is_down.append(True)

    with pytest.raises(UpstreamUnavailable, match="down"):
        await follower.refresh()

    assert follower.snapshot() is before


async def test_throttled_history_is_not_taken_for_a_refused_range() -> None:
    follower = follow(a_chain(300, knows_history=False, history_fault=-32005))

    with pytest.raises(UpstreamThrottled):
        await follower.refresh()


async def test_history_of_other_blocks_is_refused() -> None:
    chain = a_chain(300)

    def answer(calls: list[Call]) -> object:
        reply = chain.answer(calls)
        if calls[0]["method"] == "eth_feeHistory":
            reply["result"]["oldestBlock"] = "0x0"
        return reply

    with pytest.raises(UpstreamUnreadable, match="answered for other blocks"):
        await follow(chain, answer=answer).refresh()


async def test_chain_that_changes_while_it_is_read_is_read_again_later() -> None:
    chain = a_chain(300)

    def answer(calls: list[Call]) -> object:
        if calls[0]["method"] == "eth_feeHistory" and len(chain.blocks) == 300:
            chain.drop(1)
            chain.mine(9999)
        return chain.answer(calls)

    follower = follow(chain, answer=answer)
    with pytest.raises(UpstreamUnavailable, match="changed while it was read"):
        await follower.refresh()
    chain.mine(5)
    await load(follower)

    assert_holds(follower, chain.base_fees)


async def test_node_of_another_network_is_refused_each_time() -> None:
    chain = a_chain(3)
    node = NodeClient(ScriptedAsker(chain.answer))
    follower = ChainFollower(node, NetworkId(1), FollowPolicy(), TickingClock())

    for _ in range(2):
        with pytest.raises(UpstreamRefused, match="follows network 424242, not 1"):
            await follower.refresh()


async def test_node_without_a_newest_block_is_unreadable() -> None:
    with pytest.raises(UpstreamUnreadable, match="no newest block"):
        await follow(FakeChain()).refresh()


async def test_header_of_another_block_is_refused() -> None:
    chain = a_chain(30, knows_history=False)

    def answer(calls: list[Call]) -> object:
        replies = chain.answer(calls)
        if len(calls) > 1:
            replies[0], replies[1] = (
                result(calls[0], replies[1]["result"]),
                result(calls[1], replies[0]["result"]),
            )
        return replies

    with pytest.raises(UpstreamUnreadable, match="did not answer with block 0"):
        await follow(chain, answer=answer).refresh()
