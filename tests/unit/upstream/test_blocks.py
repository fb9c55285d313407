"""Following a chain: what is held equals what the chain says, at the fewest questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.quantity import NetworkId
from dashboard.errors import (
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.blocks import ChainFollower, FollowPolicy
from dashboard.upstream.node import NodeClient
from tests.unit.upstream.askers import Call, ScriptedAsker, result
from tests.unit.upstream.chains import FakeChain

pytestmark = pytest.mark.anyio

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
GWEI = 10**9


def a_chain(length: int, **habits: Any) -> FakeChain:  # noqa: ANN401 - fields of FakeChain
    chain = FakeChain(**habits)
    chain.mine(*(1000 + number * 7919 % 101 for number in range(length)))
    return chain


class Ticking:
    """A clock that is one second later each time it is read."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def follow(
    chain: FakeChain,
    window_blocks: int = 5000,
    chunks_per_refresh: int = 8,
    answer: Callable[[list[Call]], Any] | None = None,
) -> ChainFollower:
    node = NodeClient(ScriptedAsker(answer or chain.answer))
    policy = FollowPolicy(window_blocks=window_blocks, chunks_per_refresh=chunks_per_refresh)
    return ChainFollower(node, NetworkId(424242), policy, Ticking())


def nearest_rank(values: tuple[int, ...], percent: int) -> int:
    return sorted(values)[max(1, -(-len(values) * percent // 100)) - 1]


def assert_holds(follower: ChainFollower, base_fees: tuple[int, ...]) -> None:
    found = follower.snapshot()
    assert found.base_fee_history == base_fees[-500:]
    assert found.base_fee_percentile == nearest_rank(base_fees, 50)
    assert found.busy_threshold == nearest_rank(base_fees, 90)
    below = sum(each < base_fees[-1] for each in base_fees)
    assert found.suggested_gas_fees.network_congestion == below / len(base_fees)


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
    answered = []

    for _ in range(4):
        await follower.refresh()
        answered.append(follower.is_complete)

    assert answered == [False, False, True, True]
    assert_holds(follower, chain.base_fees[-2500:])


async def test_answer_is_there_while_older_blocks_still_load() -> None:
    chain = a_chain(3000)
    seen: list[tuple[int, ...]] = []

    def answer(calls: list[Call]) -> object:
        if follower.head is not None and not seen:
            seen.append(follower.snapshot().base_fee_history)
        return chain.answer(calls)

    follower = follow(chain, answer=answer)
    await follower.refresh()

    assert seen == [chain.base_fees[-200:]]
    assert_holds(follower, chain.base_fees)


async def test_history_is_asked_in_chunks_and_rewards_for_two_hundred_blocks() -> None:
    chain = a_chain(3000)

    await follow(chain).refresh()

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
    await follower.refresh()
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
    await follower.refresh()
    before = follower.snapshot()
    chain.calls.clear()

    await follower.refresh()

    assert len(chain.calls) == 1
    assert follower.snapshot().read_at > before.read_at
    assert follower.snapshot().head == before.head


@pytest.mark.parametrize("new_blocks", [1, 2, 199, 200, 201, 1500])
async def test_new_blocks_join_what_is_held(new_blocks: int) -> None:
    chain = a_chain(700)
    follower = follow(chain, window_blocks=2000)
    await follower.refresh()

    chain.mine(*range(5000, 5000 + new_blocks), tip=3 * GWEI)
    await follower.refresh()

    assert_holds(follower, chain.base_fees[-2000:])
    assert follower.snapshot().suggested_gas_fees.latest_priority_fee_range == (3 * GWEI, 3 * GWEI)


async def test_chain_that_ran_far_ahead_is_read_afresh() -> None:
    chain = a_chain(700)
    follower = follow(chain, window_blocks=300)
    await follower.refresh()

    chain.mine(*range(5000, 5500))
    await follower.refresh()

    assert_holds(follower, chain.base_fees[-300:])


@pytest.mark.parametrize("replaced", [1, 2, 5, 30])
@pytest.mark.parametrize("replacing", [1, 3, 40])
async def test_reorganisation_replaces_what_it_replaced(replaced: int, replacing: int) -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await follower.refresh()
    for base_fee in range(2000, 2040):
        chain.mine(base_fee)
        await follower.refresh()

    chain.drop(replaced)
    chain.mine(*range(3000, 3000 + replacing))
    await follower.refresh()

    assert follower.head is not None
    assert follower.head.number == len(chain.blocks) - 1
    assert_holds(follower, chain.base_fees)


async def test_reorganisation_right_after_the_start_reads_one_block() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await follower.refresh()
    chain.drop(1)
    chain.mine(3000)
    chain.calls.clear()

    await follower.refresh()

    assert len(chain.calls) == 2
    assert_holds(follower, chain.base_fees)


async def test_reorganisation_deeper_than_what_is_known_reads_afresh() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await follower.refresh()
    chain.drop(50)
    chain.mine(*range(3000, 3060))

    await follower.refresh()

    assert_holds(follower, chain.base_fees)


async def test_node_that_lags_behind_does_not_take_blocks_away() -> None:
    chain = a_chain(400)
    follower = follow(chain)
    await follower.refresh()
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
    await follower.refresh()
    chain.mine(2000)
    await follower.refresh()

    chain.drop(1)
    for _ in range(3):
        await follower.refresh()

    assert_holds(follower, chain.base_fees)


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
            await follower.refresh()
        for _ in range(3):
            await follower.refresh()
        assert_holds(follower, chain.base_fees[-60:])

    asyncio.run(run())


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

    await follower.refresh()
    chain.mine(4321)
    await follower.refresh()

    assert follower.is_complete
    assert_holds(follower, chain.base_fees)


async def test_node_without_rewards_gets_the_floors_suggested() -> None:
    follower = follow(a_chain(10, is_rewarding=False))

    await follower.refresh()

    fees = follower.snapshot().suggested_gas_fees
    assert fees.low.suggested_max_priority_fee_per_gas == GWEI
    assert fees.historical_priority_fee_range == (0, 0)


async def test_chain_without_base_fees_counts_zero_wei() -> None:
    chain = FakeChain(has_base_fee=False, knows_history=False)
    chain.mine(0, 0, 0)
    follower = follow(chain)

    await follower.refresh()

    assert_holds(follower, (0, 0, 0))
    assert follower.snapshot().suggested_gas_fees.base_fee_trend == "level"


async def test_constant_fee_chain_is_never_above_its_threshold() -> None:
    chain = FakeChain()
    chain.mine(*[7] * 600)
    follower = follow(chain)

    await follower.refresh()

    found = follower.snapshot()
    assert found.busy_threshold == found.base_fee_percentile == 7
    assert found.suggested_gas_fees.network_congestion == 0


async def test_chain_of_one_block_is_answered() -> None:
    chain = a_chain(1)
    follower = follow(chain)

    await follower.refresh()

    assert follower.is_complete
    assert_holds(follower, chain.base_fees)


async def test_trouble_with_older_blocks_spoils_no_newer_ones() -> None:
    chain = a_chain(1000)

    def answer(calls: list[Call]) -> object:
        is_old = calls[0]["method"] == "eth_feeHistory" and calls[0]["params"][1] == hex(799)
        return UpstreamUnavailable("down") if is_old else chain.answer(calls)

    follower = follow(chain, answer=answer)
    await follower.refresh()

    assert not follower.is_complete
    assert_holds(follower, chain.base_fees[-200:])


async def test_what_is_held_is_kept_while_the_node_is_down() -> None:
    chain = a_chain(300)
    is_down: list[bool] = []
    follower = follow(
        chain, answer=lambda calls: UpstreamUnavailable("down") if is_down else chain.answer(calls)
    )
    await follower.refresh()
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

    with pytest.raises(UpstreamUnreadable, match="told of other blocks"):
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
    await follower.refresh()

    assert_holds(follower, chain.base_fees)


async def test_reorganisation_is_found_after_hundreds_of_blocks_that_were_seen_singly() -> None:
    chain = a_chain(20)
    follower = follow(chain)
    for base_fee in range(2000, 2300):
        chain.mine(base_fee)
        await follower.refresh()
    chain.drop(100)
    chain.mine(*range(3000, 3120))
    chain.calls.clear()

    await follower.refresh()

    assert len(chain.asked("eth_getBlockByNumber")) <= 10
    assert len(chain.asked("eth_feeHistory")) == 1
    assert_holds(follower, chain.base_fees)


async def test_node_of_another_network_is_refused_each_time() -> None:
    chain = a_chain(3)
    node = NodeClient(ScriptedAsker(chain.answer))
    follower = ChainFollower(node, NetworkId(1), FollowPolicy(), Ticking())

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
