"""Inclusion told by blocks: fewer questions, and never another answer than the node's own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.errors import UpstreamUnavailable
from dashboard.poll.block_follower import BlockFollower
from dashboard.upstream.blocks import BlockStream
from dashboard.upstream.node import NodeClient
from tests.builders import a_hash, an_address, seconds
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import SILENCE
from tests.unit.upstream.chain_followers import a_chain
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker

HASHES = [a_hash(number) for number in range(30)]
INCLUDED = Inclusion(1, bytes(32))


class Scene:
    """A chain, its receipts, and what was said last of every hash."""

    def __init__(self) -> None:
        self.chain: FakeChain = a_chain(3)
        self.clock = FakeClock()
        self.receipts_asked = 0
        self.is_down = False
        self.lost: set[TxHash] = set()
        self.is_lagging = False
        self.said: dict[TxHash, bool] = {}
        node = NodeClient(ScriptedAsker(self._blocks))
        stream = BlockStream([node], NetworkId(424242))
        self.follower = BlockFollower(self, stream, self.clock.elapsed)

    def _blocks(self, calls: list[Call]) -> object:
        return UpstreamUnavailable("down") if self.is_down else self.chain.answer(calls)

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Answer about receipts."""
        self.receipts_asked += len(questions)
        return [self._answer(each.tx_hash) for each in questions]

    def _answer(self, tx_hash: TxHash) -> InclusionAnswer:
        if tx_hash in self.lost:
            return InclusionAnswer(tx_hash, failure=SILENCE)
        is_held = not self.is_lagging and str(tx_hash) in self.chain.transactions
        return InclusionAnswer(tx_hash, INCLUDED if is_held else None)

    async def poll(self, *senders: TxHash) -> int:
        """Ask as the poll does about what is not included; return how many receipts that took."""
        before = self.receipts_asked
        due = [each for each in HASHES if not self.said.get(each)]
        asked: set[TxHash] = set()
        while due:
            asked.update(due)
            sender = {each: an_address() for each in senders}
            questions = [InclusionQuestion(each, sender.get(each)) for each in due]
            for answer in await self.follower.ask(questions):
                self.said[answer.tx_hash] = answer.inclusion is not None
            due = sorted(self.follower.named - asked)
        return self.receipts_asked - before

    async def settled(self) -> None:
        """Poll until blocks are known to be complete."""
        for _ in range(3):
            await self.poll()
            self.clock.wait(seconds(61))


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_hash_in_no_block_needs_no_receipt(scene: Scene) -> None:
    await scene.settled()
    scene.chain.include(HASHES[4])

    assert await scene.poll() == 1
    assert scene.said[HASHES[4]]
    assert await scene.poll() == 0


async def ask_about_others(scene: Scene) -> frozenset[TxHash]:
    """Ask about all hashes but the fifth; return what else is to be asked about."""
    others = [InclusionQuestion(each) for each in HASHES if each != HASHES[4]]
    await scene.follower.ask(others)
    return scene.follower.named


@pytest.mark.parametrize("is_lagging", [False, True])
async def test_hash_that_a_block_names_stays_named_until_the_node_has_its_receipt(
    scene: Scene, *, is_lagging: bool
) -> None:
    await scene.settled()
    scene.chain.include(HASHES[4])
    scene.is_lagging = is_lagging
    scene.lost.update([] if is_lagging else [HASHES[4]])
    question = [InclusionQuestion(HASHES[4])]
    assert await ask_about_others(scene) == {HASHES[4]}

    await scene.follower.ask(question)
    assert await ask_about_others(scene) == frozenset()
    scene.clock.wait(seconds(15))
    assert await ask_about_others(scene) == {HASHES[4]}
    scene.is_lagging = False
    scene.lost.clear()
    await scene.follower.ask(question)

    assert await ask_about_others(scene) == frozenset()


async def test_hash_that_a_block_names_is_found_however_far_the_node_of_receipts_is_behind(
    scene: Scene,
) -> None:
    await scene.settled()
    scene.is_lagging = True
    scene.chain.include(HASHES[4])
    for _ in range(20):  # five minutes
        await scene.poll()
        scene.chain.mine(7)
        scene.clock.wait(seconds(15))
    scene.is_lagging = False

    await scene.poll()

    assert scene.said[HASHES[4]]


async def test_nonce_of_a_known_sender_is_asked_for_all_the_same(scene: Scene) -> None:
    await scene.settled()

    assert await scene.poll(HASHES[0], HASHES[1]) == 2


async def test_blocks_that_cannot_be_read_are_replaced_by_receipts_for_a_while(
    scene: Scene,
) -> None:
    await scene.settled()
    scene.is_down = True
    scene.chain.include(HASHES[4])

    assert await scene.poll() == 30
    scene.is_down = False
    assert await scene.poll() == 29
    scene.clock.wait(timedelta(minutes=5))
    assert await scene.poll() == 0


async def test_gap_in_the_blocks_asks_about_everything_again(scene: Scene) -> None:
    await scene.settled()
    scene.chain.include(HASHES[4])
    scene.chain.mine(*range(300))

    assert await scene.poll() == 30
    assert scene.said[HASHES[4]]


async def test_blocks_are_not_read_where_receipts_are_fewer(scene: Scene) -> None:
    await scene.settled()
    scene.chain.mine(*range(31))

    assert await scene.poll() == 30
    assert len(scene.chain.calls) < 10


async def test_blocks_are_not_read_where_they_would_spare_no_question(scene: Scene) -> None:
    await scene.poll()
    scene.chain.mine(*range(9))

    assert await scene.poll() == 30
    assert [number for number, _ in scene.chain.asked("eth_getBlockByNumber")] == ["latest"] * 2


async def test_inclusion_that_a_reorganisation_took_away_is_seen_at_once(scene: Scene) -> None:
    await scene.settled()
    scene.chain.include(HASHES[4])
    await scene.poll()
    scene.chain.drop(1)
    scene.chain.mine(7, 7)

    await scene.poll()

    assert not any(scene.said.values())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("include"), st.integers(0, 14)),
        st.tuples(st.just("mine"), st.integers(1, 40)),
        st.tuples(st.just("drop"), st.integers(1, 3)),
        st.tuples(st.just("wait"), st.integers(1, 90)),
        st.tuples(st.just("poll"), st.just(0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_what_was_said_last_is_what_the_chain_holds(steps: list[tuple[str, int]]) -> None:
    async def play() -> None:
        scene = Scene()
        for step, number in [("wait", 1), ("poll", 0), ("wait", 61), ("poll", 0), *steps]:
            if step == "include":
                scene.chain.include(HASHES[number])
            elif step == "mine":
                scene.chain.mine(*range(number))
            elif step == "drop":
                scene.chain.drop(min(number, len(scene.chain.blocks) - 3))
            elif step == "wait":
                scene.clock.wait(seconds(min(number, 20)))
            else:
                await scene.poll()
        scene.chain.mine(*range(450))  # blocks that were too many to be read are a gap at last
        await scene.poll()
        held = {each for each in HASHES if str(each) in scene.chain.transactions}
        assert {each for each, is_included in scene.said.items() if is_included} == held

    asyncio.run(play())
