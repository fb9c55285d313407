"""A node answers the four gas operations: one look for all questions of a poll."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.domain.health.observation import FEE_OPERATIONS, Operation
from dashboard.errors import UpstreamUnavailable
from dashboard.poll.gas_from_node import GasFromNode
from tests.builders import seconds
from tests.fake_clock import FakeClock
from tests.unit.upstream.chain_followers import a_chain, follow
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call


class MoodyNode:
    """Answers from a chain unless it is down."""

    def __init__(self, *, is_down: bool) -> None:
        self.chain = a_chain(50)
        self.is_down = is_down

    def answer(self, calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        return UpstreamUnavailable("down") if self.is_down else self.chain.answer(calls)


def looks_at(chain: FakeChain) -> int:
    """Count how often the node was asked for its newest block."""
    return sum(params[0] == "latest" for params in chain.asked("eth_getBlockByNumber"))


async def test_node_tells_the_four_operations_of_its_blocks(fake_clock: FakeClock) -> None:
    chain = a_chain(50)
    gas = GasFromNode(follow(chain), fake_clock.clocks)

    assert (await gas.ask(Operation.SUGGESTED_GAS_FEES)).estimated_base_fee == chain.base_fees[-1]
    assert await gas.ask(Operation.BASE_FEE_HISTORY) == chain.base_fees
    assert await gas.ask(Operation.BASE_FEE_PERCENTILE) == sorted(chain.base_fees)[24]
    assert await gas.ask(Operation.BUSY_THRESHOLD) == sorted(chain.base_fees)[44]


async def test_questions_of_one_moment_share_one_look(fake_clock: FakeClock) -> None:
    chain = a_chain(50)
    gas = GasFromNode(follow(chain), fake_clock.clocks)

    await gas.ask(Operation.SUGGESTED_GAS_FEES)
    await gas.ask(Operation.BUSY_THRESHOLD)

    assert looks_at(chain) == 1


async def test_later_question_sees_the_newer_block(fake_clock: FakeClock) -> None:
    chain = a_chain(50)
    gas = GasFromNode(follow(chain), fake_clock.clocks)
    await gas.ask(Operation.SUGGESTED_GAS_FEES)
    chain.mine(5555)
    fake_clock.wait(seconds(4))

    assert (await gas.ask(Operation.SUGGESTED_GAS_FEES)).estimated_base_fee == 5555


async def test_silent_node_is_asked_once_for_all_and_tells_nothing_old(
    fake_clock: FakeClock,
) -> None:
    node = MoodyNode(is_down=False)
    gas = GasFromNode(follow(node.chain, answer=node.answer), fake_clock.clocks)
    await gas.ask(Operation.SUGGESTED_GAS_FEES)
    node.is_down = True
    fake_clock.wait(seconds(4))

    for operation in (Operation.SUGGESTED_GAS_FEES, Operation.BUSY_THRESHOLD):
        with pytest.raises(UpstreamUnavailable, match="down"):
            await gas.ask(operation)


async def test_node_that_answers_again_is_believed_at_once(fake_clock: FakeClock) -> None:
    node = MoodyNode(is_down=True)
    gas = GasFromNode(follow(node.chain, answer=node.answer), fake_clock.clocks)
    with pytest.raises(UpstreamUnavailable):
        await gas.ask(Operation.SUGGESTED_GAS_FEES)
    node.is_down = False
    fake_clock.wait(seconds(4))

    assert (await gas.ask(Operation.SUGGESTED_GAS_FEES)).estimated_base_fee == node.chain.base_fees[
        -1
    ]


async def test_percentiles_rest_on_the_whole_window_from_the_first_answer(
    fake_clock: FakeClock,
) -> None:
    chain = a_chain(3000)
    gas = GasFromNode(follow(chain, chunks_per_refresh=1), fake_clock.clocks)

    assert await gas.ask(Operation.BUSY_THRESHOLD) == sorted(chain.base_fees)[2699]


async def test_window_that_takes_too_long_is_asked_for_again_later(fake_clock: FakeClock) -> None:
    chain = a_chain(4500)

    def answer(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        fake_clock.wait(seconds(3))
        return chain.answer(calls)

    gas = GasFromNode(follow(chain, chunks_per_refresh=1, answer=answer), fake_clock.clocks)

    with pytest.raises(UpstreamUnavailable, match="the node's window is being read"):
        await gas.ask(Operation.BUSY_THRESHOLD)
    assert await gas.ask(Operation.BUSY_THRESHOLD) == sorted(chain.base_fees)[4049]


async def test_nothing_is_told_of_a_part_of_the_window(fake_clock: FakeClock) -> None:
    node = MoodyNode(is_down=False)
    node.chain = a_chain(3000)

    def answer(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        is_old = calls[0]["method"] == "eth_feeHistory" and calls[0]["params"][1] == hex(2799)
        return UpstreamUnavailable("a moment") if is_old else node.chain.answer(calls)

    gas = GasFromNode(follow(node.chain, answer=answer), fake_clock.clocks)

    for operation in FEE_OPERATIONS:
        with pytest.raises(UpstreamUnavailable, match="being read: 200 blocks so far"):
            await gas.ask(operation)


async def test_window_that_a_node_has_not_told_for_a_minute_is_done_without(
    fake_clock: FakeClock,
) -> None:
    chain = a_chain(3000)

    def answer(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        is_old = calls[0]["method"] == "eth_feeHistory" and calls[0]["params"][1] == hex(2799)
        return UpstreamUnavailable("pruned") if is_old else chain.answer(calls)

    follower = follow(chain, answer=answer)
    gas = GasFromNode(follower, fake_clock.clocks)
    for _ in range(60):  # each reads the follower's clock, which goes on by a second
        await follower.refresh()

    assert await gas.ask(Operation.BUSY_THRESHOLD) == sorted(chain.base_fees[-200:])[179]


async def test_node_whose_chain_stands_still_tells_nothing(fake_clock: FakeClock) -> None:
    gas = GasFromNode(follow(a_chain(50)), fake_clock.clocks, stalled_after=seconds(300))

    with pytest.raises(UpstreamUnavailable, match="stalled: its newest block 49 is"):
        await gas.ask(Operation.SUGGESTED_GAS_FEES)
