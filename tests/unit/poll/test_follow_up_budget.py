"""Simulated days of the real inclusion poll, client and budget: what is planned suffices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from dashboard.application.polling_plan import FOLLOWED_FOR, planned_polling
from dashboard.domain.health.budgets import Budget, BudgetState
from dashboard.domain.health.observation import Cost, Spent
from dashboard.domain.tracking.cadence import FOLLOW_UP_CADENCE
from dashboard.poll.inclusion import InclusionPoll, ReceiptQueue
from dashboard.poll.lease import NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.search import count_follow_ups_by_age
from dashboard.upstream.blocks import BlockStream
from dashboard.upstream.node import InclusionClient, NodeClient
from tests.browser.seeded_store import SIMULATED
from tests.builders import A_NETWORK, a_hash
from tests.fake_clock import FakeClock
from tests.unit.poll.condition_scene import a_term
from tests.unit.poll.exclusion_poll_scene import watch
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, result

pytestmark = pytest.mark.anyio

SPANS = ((15, 80), (60, 120), (300, 260))
"""Seconds between ticks, and how many: they span a day."""


@dataclass
class Node(FakeChain):
    """A chain that has receipts too, and counts its calls by method."""

    included: set[str] = field(default_factory=set)
    charged: Counter[str] = field(default_factory=Counter)

    def include_now(self, *numbers: int) -> None:
        """Put transactions into a block."""
        hashes = [a_hash(number) for number in numbers]
        self.include(*hashes)
        self.included.update(map(str, hashes))

    def _reply(self, call: Call) -> dict[str, Any]:
        self.charged[call["method"]] += 1
        if call["method"] != "eth_getTransactionReceipt":
            return super()._reply(call)
        [tx_hash] = call["params"]
        receipt = {"transactionHash": tx_hash, "blockHash": f"0x{1:064x}", "blockNumber": "0x7"}
        return result(call, receipt | {"status": "0x1"} if tx_hash in self.included else None)


def a_poll(store: Store, clock: FakeClock, node: Node) -> InclusionPoll:
    """Return the inclusion poll of `A_NETWORK`, which reads blocks too."""
    node.mine(7)
    own = NetworkStore(store, A_NETWORK, a_term(store, clock))
    client = NodeClient(ScriptedAsker(node.answer))
    asker, blocks = InclusionClient(client, A_NETWORK), BlockStream([client], A_NETWORK)
    return InclusionPoll(asker, own, ReceiptQueue(FOLLOW_UP_CADENCE), clock.clocks, uuid4, blocks)


async def test_plan_of_a_budget_covers_all_that_a_node_is_asked_in_a_day(
    store: Store, fake_clock: FakeClock
) -> None:
    node = Node()
    poll = a_poll(store, fake_clock, node)
    watch(store, fake_clock, *range(20))
    days_ago = fake_clock.now() - timedelta(days=6)
    watch(store, fake_clock, *range(20, 30), attempted_at=days_ago)

    for seconds, ticks in SPANS:
        node.include_now(seconds % 7)
        for _ in range(ticks):
            await poll.tick()
            fake_clock.wait(timedelta(seconds=seconds))
            node.mine(*[7] * (seconds // 12))

    now, budget = fake_clock.now(), Budget("b", credits_per_day=10**9)
    profile = replace(SIMULATED, network_id=A_NETWORK, cost=Cost(receipt={"b": Spent(1, 80)}))
    with store.read() as connection:
        followed = count_follow_ups_by_age(connection, now - FOLLOWED_FOR)
    plan = planned_polling([profile], [], followed, [BudgetState(budget, {})], now)
    [planned] = plan.budgets
    assert node.charged["eth_getBlockByNumber"] > 0
    assert 80 * node.charged.total() <= planned.wanted < 1.5 * 80 * node.charged.total()
