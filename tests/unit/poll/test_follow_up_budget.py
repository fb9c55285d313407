"""Simulated days of the real inclusion poll, client and budget: what is planned suffices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

from dashboard.application.polling_plan import FOLLOWED_FOR, planned_polling
from dashboard.domain.health.budgets import Budget, BudgetState
from dashboard.domain.health.observation import Cost, Spent
from dashboard.domain.tracking.cadence import FOLLOW_UP_CADENCE
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.exclusion_queue import ExclusionQueue
from dashboard.poll.inclusion import InclusionPoll, ReceiptQueue
from dashboard.poll.lease import NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.search import count_follow_ups_by_age
from dashboard.upstream.blocks import BlockStream
from dashboard.upstream.budget import BudgetKeeper, NetworkBudgets
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.node import InclusionClient, NodeClient
from dashboard.wiring.clients import StoredPurse
from tests.browser.seeded_store import SIMULATED
from tests.builders import A_NETWORK, a_hash
from tests.fake_clock import FakeClock
from tests.unit.poll.condition_scene import a_term, conditions_of
from tests.unit.poll.exclusion_poll_scene import POLICY, watch
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, result
from tests.unit.upstream.scripted_exclusion import single_or_batch, truth

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


def a_poll(own: NetworkStore, clock: FakeClock, node: Node) -> InclusionPoll:
    """Return the inclusion poll of `A_NETWORK`, which reads blocks and has no budget."""
    node.mine(7)
    client = NodeClient(ScriptedAsker(node.answer))
    asker, blocks = InclusionClient(client, A_NETWORK), BlockStream([client], A_NETWORK)
    return InclusionPoll(asker, own, ReceiptQueue(FOLLOW_UP_CADENCE), clock.clocks, uuid4, blocks)


def a_charged_poll(
    own: NetworkStore, clock: FakeClock, node: Node, keeper: BudgetKeeper
) -> InclusionPoll:
    """Return one that keeps to a budget and reads no blocks."""
    client = NodeClient(ScriptedAsker(node.answer, budget=keeper))
    asker, schedule = InclusionClient(client, A_NETWORK), ReceiptQueue(FOLLOW_UP_CADENCE)
    return InclusionPoll(asker, own, schedule, clock.clocks, uuid4, budgets=budgets_of(keeper))


def own_store(store: Store, clock: FakeClock) -> NetworkStore:
    return NetworkStore(store, A_NETWORK, a_term(store, clock))


def budgets_of(keeper: BudgetKeeper) -> NetworkBudgets:
    return NetworkBudgets({"": (keeper, 80)}, lambda: ("",))


def a_keeper(store: Store, clock: FakeClock, credits_per_day: int) -> BudgetKeeper:
    budget = Budget("b", credits_per_day=credits_per_day, reserve=0)
    return BudgetKeeper(budget, StoredPurse(store, "b", clock.now), clock.now)


async def test_plan_of_a_budget_covers_all_that_a_node_is_asked_in_a_day(
    store: Store, fake_clock: FakeClock
) -> None:
    node = Node()
    poll = a_poll(own_store(store, fake_clock), fake_clock, node)
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


async def test_both_polls_spread_the_credits_that_they_share_over_the_whole_day(
    store: Store, fake_clock: FakeClock
) -> None:
    fake_clock.wait(timedelta(hours=12))  # midnight
    node, own, keeper = Node(), own_store(store, fake_clock), a_keeper(store, fake_clock, 40_000)
    asked: Counter[tuple[str, int]] = Counter()

    def answer(calls: list[Call]) -> Any:  # noqa: ANN401 - a reply or a list of them
        asked["status", fake_clock.now().hour // 6] += len(calls)
        return single_or_batch(truth)(calls)

    client = ExclusionClient(
        ScriptedAsker(answer, budget=keeper), "linea", elapsed=fake_clock.elapsed
    )
    conditions, clocks = conditions_of(fake_clock), fake_clock.clocks
    exclusion = ExclusionPoll(
        client, own, ExclusionQueue(POLICY), clocks, conditions, uuid4, budgets_of(keeper)
    )
    inclusion = a_charged_poll(own, fake_clock, node, keeper)
    watch(store, fake_clock, *range(1, 41, 2))

    for _ in range(360):
        before = node.charged.total()
        await exclusion.tick()
        await inclusion.tick()
        asked["receipt", fake_clock.now().hour // 6] += node.charged.total() - before
        fake_clock.wait(timedelta(minutes=4))

    assert 0.75 * 40_000 < 80 * asked.total() <= 40_000
    for kind in ("status", "receipt"):
        quarters = [asked[kind, quarter] for quarter in range(4)]
        assert min(quarters) > 0.1 * sum(quarters) > 0, quarters


async def test_raised_budget_is_felt_by_receipts_that_wait_already(
    store: Store, fake_clock: FakeClock
) -> None:
    node, own, keeper = Node(), own_store(store, fake_clock), a_keeper(store, fake_clock, 2_000)
    poll = a_charged_poll(own, fake_clock, node, keeper)
    watch(store, fake_clock, *range(20))

    async def pass_by(ticks: int) -> int:
        before = node.charged.total()
        for _ in range(ticks):
            await poll.tick()
            fake_clock.wait(timedelta(minutes=4))
        return node.charged.total() - before

    little = await pass_by(60)
    keeper.budget = Budget("b", credits_per_day=10**9, reserve=0)
    much = await pass_by(3)

    assert 80 * little <= 2_000
    assert much >= 20
