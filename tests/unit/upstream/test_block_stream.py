"""The stream of new blocks: what they hold, and when it is known that none was missed."""

from __future__ import annotations

import pytest

from dashboard.domain.quantity import NetworkId
from dashboard.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from dashboard.upstream.blocks import BlockStream, NewBlocks
from dashboard.upstream.node import NodeClient
from tests.builders import a_hash, seconds
from tests.fake_clock import FakeClock
from tests.unit.upstream.chain_followers import a_chain
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, result

NETWORK = NetworkId(424242)


@pytest.fixture
def chain() -> FakeChain:
    return a_chain(5)


@pytest.fixture
def stream(chain: FakeChain) -> BlockStream:
    return BlockStream([NodeClient(ScriptedAsker(chain.answer))], NETWORK)


async def read(stream: BlockStream, most: int = 10) -> NewBlocks:
    new = await stream.read(most)
    assert new is not None
    return new


async def test_every_new_block_is_read_once_in_one_batch(
    chain: FakeChain, stream: BlockStream
) -> None:
    assert not (await read(stream)).is_unbroken
    for number in range(4):
        chain.include(a_hash(number))
    chain.calls.clear()

    new = await read(stream)

    assert new.is_unbroken
    assert new.tx_hashes == {a_hash(number) for number in range(4)}
    assert [each[0] for each in chain.asked("eth_getBlockByNumber")] == [
        "latest",
        "0x5",
        "0x6",
        "0x7",
    ]
    assert (await read(stream)).is_unbroken


async def test_more_blocks_than_wanted_are_left_to_a_later_call(
    chain: FakeChain, stream: BlockStream
) -> None:
    await read(stream)
    chain.include(a_hash())
    chain.mine(*range(200))

    assert await stream.read(200) is None
    assert await read(stream, 201) == NewBlocks(frozenset({a_hash()}), is_unbroken=True)


async def test_more_blocks_than_are_caught_up_with_are_a_gap(
    chain: FakeChain, stream: BlockStream
) -> None:
    await read(stream)
    chain.mine(*range(301))

    assert not (await read(stream, 1000)).is_unbroken
    chain.include(a_hash())
    assert (await read(stream)).tx_hashes == {a_hash()}


@pytest.mark.parametrize("mined", [1, 2, 3], ids=["as long", "longer by one", "longer by two"])
async def test_blocks_that_were_replaced_are_a_gap(
    chain: FakeChain, stream: BlockStream, mined: int
) -> None:
    await read(stream)
    chain.drop(1)
    chain.mine(*range(mined))

    assert not (await read(stream)).is_unbroken


async def test_shorter_chain_is_believed_when_it_stays(
    chain: FakeChain, stream: BlockStream
) -> None:
    await read(stream)
    chain.drop(2)

    assert [(await read(stream)).is_unbroken for _ in range(4)] == [True, True, True, False]


async def test_failed_reading_misses_nothing(chain: FakeChain) -> None:
    down = [False]

    def answer(calls: list[Call]) -> object:
        return UpstreamUnavailable("down") if down[0] else chain.answer(calls)

    stream = BlockStream([NodeClient(ScriptedAsker(answer))], NETWORK)
    await read(stream)
    chain.include(a_hash())
    down[0] = True
    with pytest.raises(UpstreamError):
        await read(stream)
    down[0] = False

    new = await read(stream)

    assert new.is_unbroken
    assert new.tx_hashes == {a_hash()}


async def test_another_node_goes_on_where_one_fails(chain: FakeChain) -> None:
    down = [False]

    def answer(calls: list[Call]) -> object:
        return UpstreamUnavailable("down") if down[0] else chain.answer(calls)

    nodes = [NodeClient(ScriptedAsker(each)) for each in (answer, chain.answer)]
    stream = BlockStream(nodes, NETWORK)
    await read(stream)
    chain.include(a_hash())
    down[0] = True

    assert (await read(stream)).tx_hashes == {a_hash()}


async def test_node_of_another_network_is_not_believed(chain: FakeChain) -> None:
    stream = BlockStream([NodeClient(ScriptedAsker(chain.answer))], NetworkId(1))

    with pytest.raises(UpstreamRefused):
        await read(stream)


async def test_node_without_a_block_is_refused() -> None:
    stream = BlockStream([NodeClient(ScriptedAsker(FakeChain().answer))], NETWORK)

    with pytest.raises(UpstreamError, match="it has no newest block"):
        await read(stream)


async def test_node_that_comes_back_as_another_network_is_not_believed(chain: FakeChain) -> None:
    asker = ScriptedAsker(chain.answer)
    stream = BlockStream([NodeClient(asker)], NETWORK)
    await read(stream)
    asker.answers_with(lambda _: UpstreamUnavailable("no answer"))
    with pytest.raises(UpstreamUnavailable):
        await read(stream)
    asker.answers_with(lambda calls: result(calls[0], "0x2"))

    with pytest.raises(UpstreamRefused, match="follows network 2"):
        await read(stream)


async def test_node_that_hangs_is_asked_last_until_it_answers(chain: FakeChain) -> None:
    clock, asked = FakeClock(), [0]

    def hang(_calls: list[Call]) -> UpstreamError:
        asked[0] += 1
        clock.wait(seconds(5))
        return UpstreamUnavailable("no answer within 5 s")

    nodes = [NodeClient(ScriptedAsker(each)) for each in (hang, chain.answer)]
    stream = BlockStream(nodes, NETWORK, clock.elapsed)

    for _ in range(60):
        await read(stream)
        clock.wait(seconds(1))

    assert asked[0] == 3
