"""An inclusion poll over a real store, and the node and blocks that it asks."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.tracking.cadence import FOLLOW_UP_CADENCE
from dashboard.domain.tracking.inclusion import Inclusion, InclusionAnswer, InclusionQuestion
from dashboard.poll.inclusion import InclusionPoll, ReceiptQueue
from dashboard.poll.lease import NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.upstream.blocks import NewBlocks
from tests.builders import A_NETWORK, a_hash
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import SILENCE
from tests.unit.poll.condition_scene import a_term


class ScriptedNode:
    """Includes what it is told to include, and counts the questions about each hash."""

    def __init__(self) -> None:
        self.included: dict[TxHash, Inclusion] = {}
        self.next_nonces: dict[Address, int] = {}
        self.is_down = False
        self.asked: list[list[TxHash]] = []

    async def ask(self, questions: Sequence[InclusionQuestion]) -> list[InclusionAnswer]:
        """Answer each question in order."""
        self.asked.append([each.tx_hash for each in questions])
        return [self._answer(each) for each in questions]

    def include(self, number: int, block: int = 7) -> None:
        """Put a transaction into a block."""
        self.included[a_hash(number)] = Inclusion(block, bytes(32), is_successful=True)

    def _answer(self, question: InclusionQuestion) -> InclusionAnswer:
        if self.is_down:
            return InclusionAnswer(question.tx_hash, failure=SILENCE)
        sender = question.sender
        return InclusionAnswer(
            question.tx_hash,
            self.included.get(question.tx_hash),
            None if sender is None else self.next_nonces.get(sender, 0),
        )


class ScriptedBlocks:
    """Holds the same transactions in the new blocks each time; the first reading is a gap."""

    def __init__(self) -> None:
        self.hashes: frozenset[TxHash] = frozenset()
        self._times_read = 0

    async def read(self, _most: int) -> NewBlocks:
        self._times_read += 1
        return NewBlocks(self.hashes, is_unbroken=self._times_read > 1)


def a_poll(
    store: Store,
    node: ScriptedNode,
    fake_clock: FakeClock,
    blocks: ScriptedBlocks | None = None,
) -> InclusionPoll:
    """Return the follow-up of `A_NETWORK`, as a start of the worker makes it."""
    own = NetworkStore(store, A_NETWORK, a_term(store, fake_clock))
    schedule, clocks = ReceiptQueue(FOLLOW_UP_CADENCE), fake_clock.clocks
    return InclusionPoll(node, own, schedule, clocks, uuid4, blocks)
