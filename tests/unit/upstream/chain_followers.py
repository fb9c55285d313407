"""Followers of our own chain, and what must be true of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.quantity import NetworkId
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_failover import FailoverFollower
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker

START = datetime(2026, 11, 20, 12, tzinfo=UTC)


def a_chain(length: int, **habits: Any) -> FakeChain:  # noqa: ANN401 - fields of FakeChain
    chain = FakeChain(**habits)
    chain.mine(*(1000 + number * 7919 % 101 for number in range(length)))
    return chain


class TickingClock:
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
    policy = FollowPolicy(
        FeePolicy(window_blocks=window_blocks), chunks_per_refresh=chunks_per_refresh
    )
    return ChainFollower(node, NetworkId(424242), policy, TickingClock())


def nearest_rank(values: tuple[int, ...], percent: int) -> int:
    return sorted(values)[max(1, -(-len(values) * percent // 100)) - 1]


def assert_holds(follower: ChainFollower | FailoverFollower, base_fees: tuple[int, ...]) -> None:
    found = follower.snapshot()
    assert found.base_fee_history == base_fees[-500:]
    assert found.base_fee_percentile == nearest_rank(base_fees, 50)
    assert found.busy_threshold == nearest_rank(base_fees, 90)
    below = sum(each < base_fees[-1] for each in base_fees)
    assert found.suggested_gas_fees.network_congestion == below / len(base_fees)


async def load(follower: ChainFollower) -> None:
    """Refresh twice: the newest blocks, then those before."""
    await follower.refresh()
    await follower.refresh()
