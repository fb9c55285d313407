"""Readiness: what is wrong with the store or a node is reported; an idle chain stays ready."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest

from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import StoreUnavailable
from dashboard.serve.dependencies import ServeDependencies
from dashboard.serve.gas import FollowedNetwork, GasApi
from dashboard.serve.monitoring.health import Readiness, node_problem
from dashboard.store.engine.engine import Store, prove_writing
from dashboard.store.rejections.known_hashes import load_heads
from tests.fake_clock import FakeClock
from tests.full_disk import disk_that_takes_nothing
from tests.integration.running_server import services_of
from tests.unit.serve.scripted_follower import ScriptedFollower

CALLER = ApiKey.of("tests", Secret("key"))
MINUTE = timedelta(minutes=1)


def at_work(dependencies: ServeDependencies) -> ServeDependencies:
    """Return dependencies that have learnt what is on record."""
    dependencies.known.adopt(load_heads(dependencies.store))
    return dependencies


class Node:
    """A followed node with a block every `seconds`, and the clock by which it is judged."""

    def __init__(self, seconds: float = 2.0) -> None:
        self.clock = FakeClock()
        self.follower = ScriptedFollower(self.clock.now, seconds)
        self.fees = FollowedNetwork("testnet", self.follower, timedelta(seconds=1))

    async def mine(self, number: int) -> None:
        self.follower.next_head = number
        await self.fees.refresh()

    async def trouble_after(self, seconds: float) -> str | None:
        """Let time pass without a block, and ask the node once more."""
        self.clock.wait(timedelta(seconds=seconds))
        await self.fees.refresh()
        return node_problem(self.fees, self.clock.now(), MINUTE)


async def test_node_without_a_young_block_is_stalled_though_it_answers() -> None:
    node = Node()
    await node.mine(5)

    assert await node.trouble_after(70) is None
    assert await node.trouble_after(1) == ("The node of testnet is stalled: block 5 is 61 s old.")


async def test_chain_of_slow_blocks_is_given_ten_of_them() -> None:
    node = Node(seconds=600)
    await node.mine(1)
    await node.mine(2)

    assert await node.trouble_after(2 * 600 + 10 * 600) is None
    assert await node.trouble_after(1) is not None


async def test_node_that_mines_again_is_well_again() -> None:
    node = Node()
    await node.mine(5)
    await node.trouble_after(1_000)

    await node.mine(500)

    assert await node.trouble_after(0) is None


async def test_node_that_is_silent_is_told_as_that_and_not_as_stalled() -> None:
    node = Node()
    await node.mine(5)
    node.clock.wait(10 * MINUTE)

    trouble = node_problem(node.fees, node.clock.now(), MINUTE)

    assert trouble == "The node of testnet last answered 10 min ago."


async def test_fees_of_an_idle_chain_are_told_for_as_long_as_its_node_answers() -> None:
    node = Node()
    await node.mine(5)
    await node.trouble_after(86_400)
    api = GasApi({NetworkId(1): node.fees}, node.clock.now, MINUTE)

    response = api.answer(["1", "busyThreshold"], CALLER)

    assert response.status_code == 200


async def test_stalled_node_ends_readiness(store: Store) -> None:
    node = Node()
    await node.mine(5)
    await node.trouble_after(86_400)
    dependencies = at_work(replace(services_of(store), clock=node.clock.now))

    response = await Readiness(dependencies, [node.fees]).answer()

    assert response.status_code == 503
    (reason,) = json.loads(bytes(response.body))["reasons"]
    assert "stalled" in reason


async def test_store_that_cannot_be_written_ends_readiness_and_names_no_path(store: Store) -> None:
    readiness = Readiness(at_work(services_of(store)), [])

    with disk_that_takes_nothing():
        response = await readiness.answer()

    assert response.status_code == 503
    (reason,) = json.loads(bytes(response.body))["reasons"]
    assert reason.startswith("The store cannot be written: it cannot be used now: its disk is full")
    assert "linewatch.db" not in reason


async def test_store_is_not_looked_at_again_at_once(store: Store) -> None:
    readiness = Readiness(at_work(services_of(store)), [])
    before = await readiness.answer()

    with disk_that_takes_nothing():
        after = await readiness.answer()

    assert (before.status_code, after.status_code) == (200, 200)


async def test_whoever_asks_for_readiness_lets_nothing_be_written(store: Store) -> None:
    dependencies = at_work(services_of(store))
    with closing(sqlite3.connect(store.name.removeprefix("The store "))) as other:
        before = _version(other)
        statuses = {(await Readiness(dependencies, []).answer()).status_code for _ in range(3)}

        assert (statuses, _version(other)) == ({200}, before)


async def test_store_that_refused_to_write_is_ready_once_it_does_not(store: Store) -> None:
    dependencies = at_work(services_of(store))
    with disk_that_takes_nothing(), pytest.raises(StoreUnavailable):
        prove_writing(store)
    with closing(sqlite3.connect(store.name.removeprefix("The store "))) as other:
        before = _version(other)

        status = (await Readiness(dependencies, []).answer()).status_code

        assert (status, _version(other) > before) == (200, True)


def _version(connection: sqlite3.Connection) -> int:
    """Return what SQLite counts up with each commit of somebody else."""
    version: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return version


async def test_store_that_can_be_written_again_is_ready_again(store: Store) -> None:
    with disk_that_takes_nothing():
        await Readiness(at_work(services_of(store)), []).answer()

    assert (await Readiness(at_work(services_of(store)), []).answer()).status_code == 200


async def test_serve_is_ready_once_it_knows_which_hashes_are_on_record(store: Store) -> None:
    dependencies = services_of(store)
    readiness = Readiness(dependencies, [])
    before = await readiness.answer()

    dependencies.known.adopt(load_heads(store))
    after = await readiness.answer()

    assert (before.status_code, after.status_code) == (503, 200)
    (reason,) = json.loads(bytes(before.body))["reasons"]
    assert reason == "The hashes on record are being read: look-ups are slow."
