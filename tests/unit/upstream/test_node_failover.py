"""Several nodes of one chain: the first that is well is asked, none is changed for nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from dashboard.domain.fees.suggestion import FeePolicy
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import UpstreamRefused, UpstreamThrottled, UpstreamUnavailable
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.gas_oracle import ChainFollower, FollowPolicy
from dashboard.upstream.node import NodeClient
from dashboard.upstream.node_failover import FailoverFollower, NodeState
from tests.fake_clock import FakeClock
from tests.unit.upstream.chain_followers import TickingClock, a_chain, assert_holds
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker

LOOK = timedelta(seconds=10)
DOWN = UpstreamUnavailable("down")


class MoodyNode:
    """One node over a chain; `trouble` is what it answers instead, `lag` how far it is behind."""

    def __init__(self, name: str, chain: FakeChain) -> None:
        self.chain = chain
        self.trouble: Exception | Callable[[list[Call]], Any] | None = None
        self.lag = 0
        self.times_asked = 0
        asker = ScriptedAsker(self.answer)
        asker.endpoint = Endpoint(name, Secret("http://127.0.0.1:1"))
        self.client = NodeClient(asker)

    def answer(self, calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        self.times_asked += 1
        if isinstance(self.trouble, Exception):
            return self.trouble
        if self.trouble is not None:
            return self.trouble(calls)
        if not self.lag:
            return self.chain.answer(calls)
        kept = self.chain.blocks
        self.chain.blocks = kept[: len(kept) - self.lag]
        try:
            return self.chain.answer(calls)
        finally:
            self.chain.blocks = kept


class Network:
    """Two nodes of one chain and what follows it through them."""

    def __init__(self, *, second: FakeChain | None = None) -> None:
        self.chain = a_chain(50)
        self.first = MoodyNode("first", self.chain)
        self.second = MoodyNode("second", second or self.chain)
        self.time = FakeClock()
        follower = ChainFollower(
            self.first.client,
            NetworkId(424242),
            FollowPolicy(FeePolicy(window_blocks=5000)),
            TickingClock(),
        )
        nodes = [self.first.client, self.second.client]
        self.follower = FailoverFollower(follower, nodes, NetworkId(424242), self.time.elapsed)

    @property
    def asked(self) -> str:
        return self.follower.current.name

    @property
    def states(self) -> tuple[NodeState, ...]:
        return tuple(each.state for each in self.follower.node_statuses)

    async def goes_on(self, looks: int = 1) -> None:
        """Mine a block and refresh, once for each look at those that stand by."""
        for _ in range(looks):
            self.chain.mine(2000 + len(self.chain.blocks))
            self.time.wait(LOOK)
            await self.follower.refresh()


@pytest.fixture
async def network() -> Network:
    found = Network()
    await found.follower.refresh()
    return found


async def test_preferred_node_is_asked_and_the_other_only_looked_at(network: Network) -> None:
    await network.goes_on()
    network.second.times_asked = 0
    await network.follower.refresh()

    assert (network.asked, network.second.times_asked) == ("first", 0)
    assert network.states == (NodeState.IN_USE, NodeState.READY)
    assert_holds(network.follower, network.chain.base_fees)


async def test_next_node_is_asked_in_the_same_refresh_and_goes_on_where_the_first_ended(
    network: Network,
) -> None:
    network.first.trouble = DOWN
    network.chain.mine(4321)
    network.chain.calls.clear()

    await network.follower.refresh()

    assert network.asked == "second"
    assert network.follower.changes == 1
    assert int(network.chain.asked("eth_feeHistory")[0][0], 16) == 1
    assert_holds(network.follower, network.chain.base_fees)
    assert network.follower.node_statuses[0].why == "down"


async def test_preferred_node_is_asked_again_once_it_was_well_for_three_looks(
    network: Network,
) -> None:
    network.first.trouble = DOWN
    await network.follower.refresh()
    network.first.trouble = None

    asked = []
    for _ in range(4):
        await network.goes_on()
        asked.append(network.asked)

    assert asked == ["second", "second", "first", "first"]
    assert network.follower.changes == 2


async def test_node_that_comes_and_goes_is_trusted_ever_later(network: Network) -> None:
    changes = []
    for turn in range(120):
        network.first.trouble = DOWN if turn % 6 == 0 else None
        await network.goes_on()
        changes.append(network.follower.changes)

    assert changes[-1] < 16
    assert changes[-1] == changes[-20]


async def test_node_that_lags_is_left_for_one_that_does_not(network: Network) -> None:
    network.first.lag = 3
    network.chain.mine(4001, 4002, 4003)
    network.time.wait(LOOK)

    await network.follower.refresh()

    assert network.asked == "second"
    assert_holds(network.follower, network.chain.base_fees)
    await network.goes_on()
    assert network.states == (NodeState.LAGGING, NodeState.IN_USE)


async def test_node_that_is_a_block_behind_is_not_left(network: Network) -> None:
    network.first.lag = 2
    await network.goes_on(5)

    assert (network.asked, network.follower.changes) == ("first", 0)


async def test_node_that_goes_back_takes_nothing_away_while_another_knows_better(
    network: Network,
) -> None:
    await network.goes_on()
    network.first.lag = 6
    for _ in range(4):
        await network.follower.refresh()

    assert network.asked == "second"
    assert_holds(network.follower, network.chain.base_fees)


async def test_node_far_behind_takes_nothing_away_while_the_better_one_is_away_for_a_moment(
    network: Network,
) -> None:
    await network.goes_on(2)
    network.second.lag = 20
    await network.goes_on()
    network.first.trouble = DOWN

    for _ in range(20):
        network.time.wait(timedelta(seconds=1))
        with suppress(UpstreamUnavailable):
            await network.follower.refresh()
        assert_holds(network.follower, network.chain.base_fees)

    network.first.trouble = None
    await network.goes_on(5)
    assert network.asked == "first"


async def test_node_far_behind_is_believed_once_the_better_one_is_away_for_a_minute(
    network: Network,
) -> None:
    await network.goes_on()
    network.second.lag = 20
    network.first.trouble = DOWN

    for _ in range(30):
        network.time.wait(timedelta(seconds=10))
        with suppress(UpstreamUnavailable):
            await network.follower.refresh()

    assert network.asked == "second"
    assert_holds(network.follower, network.chain.base_fees[:-20])


async def test_chain_that_went_back_at_every_node_is_believed(network: Network) -> None:
    network.chain.drop(6)
    for _ in range(3):
        await network.follower.refresh()

    assert_holds(network.follower, network.chain.base_fees)


async def test_chain_that_began_anew_at_every_node_is_believed(network: Network) -> None:
    network.chain.drop(50)
    network.chain.mine(77, 78, 79)

    await network.follower.refresh()

    assert_holds(network.follower, (77, 78, 79))


async def test_node_with_another_chain_is_not_followed_though_it_is_far_ahead() -> None:
    other = FakeChain(_hashes=count(10**6))
    other.mine(*range(1000, 1400))
    network = Network(second=other)
    await network.follower.refresh()
    await network.goes_on()

    assert network.asked == "first"
    assert network.states[1] is NodeState.DISAGREEING
    assert_holds(network.follower, network.chain.base_fees)


async def test_node_of_another_network_is_refused_and_named(network: Network) -> None:
    def elsewhere(calls: list[Call]) -> object:
        [call] = calls
        return {"jsonrpc": "2.0", "id": call["id"], "result": "0x1"}

    network.second.trouble = elsewhere
    await network.goes_on()

    assert network.states == (NodeState.IN_USE, NodeState.FAILING)
    assert "follows network 1, not 424242" in network.follower.node_statuses[1].why


async def test_silence_of_all_names_each(network: Network) -> None:
    network.first.trouble = UpstreamUnavailable("first is down")
    network.second.trouble = UpstreamRefused("second refuses")

    with pytest.raises(UpstreamUnavailable, match="first is down; second refuses"):
        await network.follower.refresh()
    assert_holds(network.follower, network.chain.base_fees)


async def test_any_node_that_answers_again_after_all_were_away_is_used(network: Network) -> None:
    network.first.trouble = network.second.trouble = DOWN
    for _ in range(5):
        with pytest.raises(UpstreamUnavailable):
            await network.follower.refresh()
    network.second.trouble = None

    await network.follower.refresh()

    assert network.asked == "second"


async def test_throttling_node_is_left_alone_as_long_as_it_asks(network: Network) -> None:
    network.first.trouble = UpstreamThrottled("slower", timedelta(seconds=100))
    await network.follower.refresh()
    network.first.trouble = None
    network.first.times_asked = 0

    await network.goes_on(9)

    assert (network.asked, network.first.times_asked) == ("second", 0)
    await network.goes_on(4)
    assert network.asked == "first"


async def test_all_throttled_is_told_with_the_shortest_wish(network: Network) -> None:
    network.first.trouble = UpstreamThrottled("slower", timedelta(seconds=100))
    network.second.trouble = UpstreamThrottled("slow down", timedelta(seconds=7))

    with pytest.raises(UpstreamThrottled) as refused:
        await network.follower.refresh()

    assert refused.value.retry_after == timedelta(seconds=7)
