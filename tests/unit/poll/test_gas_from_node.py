"""A node answers the four gas operations: one look for all questions of a poll."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.errors import UpstreamUnavailable
from dashboard.poll.gas_from_node import GasFromNode
from tests.builders import seconds
from tests.timepiece import Timepiece
from tests.unit.upstream.askers import Call
from tests.unit.upstream.chains import FakeChain
from tests.unit.upstream.following import a_chain, follow

pytestmark = pytest.mark.anyio


@pytest.fixture
def timepiece() -> Timepiece:
    return Timepiece()


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


async def test_node_tells_the_four_operations_of_its_blocks(timepiece: Timepiece) -> None:
    chain = a_chain(50)
    gas = GasFromNode(follow(chain), timepiece.elapsed)

    assert (await gas.suggested_gas_fees()).estimated_base_fee == chain.base_fees[-1]
    assert await gas.base_fee_history() == chain.base_fees
    assert await gas.base_fee_percentile() == sorted(chain.base_fees)[24]
    assert await gas.busy_threshold() == sorted(chain.base_fees)[44]


async def test_questions_of_one_moment_share_one_look(timepiece: Timepiece) -> None:
    chain = a_chain(50)
    gas = GasFromNode(follow(chain), timepiece.elapsed)

    await gas.suggested_gas_fees()
    await gas.busy_threshold()

    assert looks_at(chain) == 1


async def test_later_question_sees_the_newer_block(timepiece: Timepiece) -> None:
    chain = a_chain(50)
    gas = GasFromNode(follow(chain), timepiece.elapsed)
    await gas.suggested_gas_fees()
    chain.mine(5555)
    timepiece.wait(seconds(4))

    assert (await gas.suggested_gas_fees()).estimated_base_fee == 5555


async def test_silent_node_is_asked_once_for_all_and_tells_nothing_old(
    timepiece: Timepiece,
) -> None:
    node = MoodyNode(is_down=False)
    gas = GasFromNode(follow(node.chain, answer=node.answer), timepiece.elapsed)
    await gas.suggested_gas_fees()
    node.is_down = True
    timepiece.wait(seconds(4))

    for ask in (gas.suggested_gas_fees, gas.busy_threshold):
        with pytest.raises(UpstreamUnavailable, match="down"):
            await ask()


async def test_node_that_answers_again_is_believed_at_once(timepiece: Timepiece) -> None:
    node = MoodyNode(is_down=True)
    gas = GasFromNode(follow(node.chain, answer=node.answer), timepiece.elapsed)
    with pytest.raises(UpstreamUnavailable):
        await gas.suggested_gas_fees()
    node.is_down = False
    timepiece.wait(seconds(4))

    assert (await gas.suggested_gas_fees()).estimated_base_fee == node.chain.base_fees[-1]
