"""Odd nodes, each over real HTTP: right numbers, or an error that says why; never a wrong number.

The table of docs/gas.md tells the same.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.gas_oracle import ChainFees
from tests.builders import GWEI
from tests.integration.faulty_nodes import ABSENT, OddNode, Spoil, following, only, where
from tests.integration.faulty_upstreams import PATIENCE, Behaviour, replying, resetting, silent
from tests.unit.upstream.chain_followers import a_chain
from tests.unit.upstream.fake_chain import FakeChain

HISTORY, BLOCK = "eth_feeHistory", "eth_getBlockByNumber"


BORNE: dict[str, tuple[dict[str, Any], Spoil]] = {
    "fewer blocks than asked": ({"most_blocks": 7}, where("")),
    "one block at a time": ({"most_blocks": 1}, where("")),
    "reward left out": ({}, where(HISTORY, reward=ABSENT)),
    "reward null": ({}, where(HISTORY, reward=None)),
    "reward empty": ({}, where(HISTORY, reward=[])),
    "rewards of other percentiles": (
        {},
        where(HISTORY, reward=lambda rows: [row[:2] for row in rows or []]),
    ),
    "old ranges refused": ({"history_depth": 200}, where("")),
    "old ranges refused with a code of its own": (
        {"history_depth": 200, "history_fault": -32000},
        where(""),
    ),
    "no eth_feeHistory": ({"knows_history": False, "history_fault": -32601}, where("")),
    "empty history": (
        {},
        where(HISTORY, baseFeePerGas=[], gasUsedRatio=[], reward=[]),
    ),
    "gas limit zero": ({}, where(BLOCK, gasLimit="0x0", gasUsed="0x0")),
}


@pytest.mark.parametrize("habit", BORNE)
async def test_oddity_is_borne_and_base_fees_are_right(habit: str) -> None:
    habits, spoil = BORNE[habit]
    chain = a_chain(260, **habits)
    async with following(OddNode(chain, spoil)) as follower:
        for _ in range(14):
            await follower.refresh()
        chain.mine(4321)
        await follower.refresh()
        found = follower.snapshot()

    assert found.base_fee_history == chain.base_fees
    assert found.busy_threshold == sorted(chain.base_fees)[234]


@pytest.mark.parametrize(
    "habit", ["reward left out", "reward null", "rewards of other percentiles"]
)
async def test_node_that_tells_no_rewards_gets_floors_suggested(habit: str) -> None:
    found = await read(OddNode(a_chain(60), BORNE[habit][1]))

    assert found.suggested_gas_fees.low.suggested_max_priority_fee_per_gas == GWEI
    assert found.suggested_gas_fees.latest_priority_fee_range == (0, 0)


async def test_rewards_in_another_order_of_percentiles_are_put_in_order() -> None:
    def mixed(rows: list[list[str]] | None) -> list[list[str]] | None:
        tips = [50, 10, 95, 30, 20]
        return None if rows is None else [[hex(tip * GWEI) for tip in tips] for _ in rows]

    found = await read(OddNode(a_chain(60), where(HISTORY, reward=mixed)))

    fees = found.suggested_gas_fees
    assert fees.latest_priority_fee_range == (10 * GWEI, 95 * GWEI)
    assert fees.high.suggested_max_priority_fee_per_gas == 30 * GWEI * 98 // 100


REFUSED: dict[str, tuple[Spoil, type[UpstreamError], str]] = {
    "no newest block": (only(BLOCK, None), UpstreamUnreadable, "no newest block"),
    "number without 0x": (where(BLOCK, number="12c"), UpstreamUnreadable, "cannot be read"),
    "number in decimal": (where(BLOCK, number=300), UpstreamUnreadable, "cannot be read"),
    "huge number": (where(BLOCK, number=hex(2**200)), UpstreamUnreadable, "larger than"),
    "huge fee": (where(BLOCK, baseFeePerGas=hex(2**255)), UpstreamUnreadable, "larger than"),
    "negative fee": (where(BLOCK, baseFeePerGas="-0x1"), UpstreamUnreadable, "hex quantity"),
    "huge fees in the history": (
        where(HISTORY, baseFeePerGas=lambda fees: [hex(2**255)] * len(fees)),
        UpstreamUnreadable,
        "larger than",
    ),
    "history of other blocks": (
        where(HISTORY, oldestBlock="0x1"),
        UpstreamUnreadable,
        "answered for other blocks",
    ),
    "history that does not fit": (
        where(HISTORY, gasUsedRatio=[0.5]),
        UpstreamUnreadable,
        "do not fit",
    ),
    "history that contradicts the block": (
        where(HISTORY, baseFeePerGas=lambda fees: ["0x5"] * len(fees)),
        UpstreamUnavailable,
        "changed while it was read",
    ),
    "time after the year 9999": (where(BLOCK, timestamp=hex(2**60)), UpstreamUnreadable, "9999"),
    "another network": (only("eth_chainId", "0x1"), UpstreamRefused, "follows network 1, not"),
    "nonsense": (only(BLOCK, ["what"]), UpstreamUnreadable, "cannot be read"),
}
REPLACED: dict[str, tuple[Behaviour, type[UpstreamError], str]] = {
    "HTML": (
        replying("200 OK", b"<html>", {"Content-Type": "text/html"}),
        UpstreamUnreadable,
        "something other than JSON",
    ),
    "broken JSON": (replying("200 OK", b'{"jsonrpc":'), UpstreamUnreadable, "cannot be read"),
    "429": (replying("429 Too Many", b"", {"Retry-After": "9"}), UpstreamThrottled, "HTTP 429"),
    "503": (replying("503 Gone", b""), UpstreamUnavailable, "HTTP 503"),
    "reset": (resetting, UpstreamUnavailable, "no answer"),
    "slow": (silent, UpstreamUnavailable, "no answer within 3 s"),
}


@pytest.mark.parametrize("oddity", sorted(REFUSED.keys() - {"another network"}))
async def test_oddity_is_refused_by_name_and_what_is_held_stays(oddity: str) -> None:
    spoil, kind, message = REFUSED[oddity]
    chain = a_chain(300)
    node = OddNode(chain)
    async with following(node) as follower:
        await follower.refresh()
        before = follower.snapshot()
        node.spoil = spoil
        chain.mine(4321, 4322)
        with pytest.raises(kind, match=message):
            await follower.refresh()

        assert follower.snapshot() is before


async def test_node_that_turned_to_another_network_is_refused() -> None:
    node = OddNode(a_chain(300))
    async with following(node) as follower:
        await follower.refresh()
        before = follower.snapshot()
        node.chain = FakeChain(_hashes=count(10**6))
        node.chain.mine(*[7] * 400)
        node.spoil = only("eth_chainId", "0x1")

        with pytest.raises(UpstreamRefused, match="follows network 1, not 424242"):
            await follower.refresh()
        assert follower.snapshot() is before


def patience_with(oddity: str) -> timedelta:
    """Return how long an answer is awaited: a node that never gives one ends no sooner."""
    return timedelta(seconds=3) if oddity == "slow" else PATIENCE


@pytest.mark.parametrize("oddity", REPLACED)
async def test_answer_that_is_none_is_an_error_and_what_is_held_stays(oddity: str) -> None:
    instead, kind, message = REPLACED[oddity]
    node = OddNode(a_chain(300))
    async with following(node, patience=patience_with(oddity)) as follower:
        await follower.refresh()
        before = follower.snapshot()
        node.instead = instead
        with pytest.raises(kind, match=message):
            await follower.refresh()

        assert follower.snapshot() is before


@pytest.mark.parametrize("oddity", [*REFUSED, *REPLACED])
async def test_another_node_is_asked_instead_of_one_that_is_odd_from_the_start(
    oddity: str,
) -> None:
    odd = OddNode(a_chain(300))
    if oddity in REFUSED:
        odd.spoil, _, message = REFUSED[oddity]
    else:
        odd.instead, _, message = REPLACED[oddity]
    well = OddNode(a_chain(300))
    async with following(odd, well, patience=patience_with(oddity)) as follower:
        await follower.refresh()

        assert follower.current.name == "odd node 2"
        assert follower.snapshot().base_fee_history == well.chain.base_fees[-200:]
        assert re.search(message, follower.node_statuses[0].why)


async def test_head_that_disappears_before_it_is_read_is_asked_for_again() -> None:
    chain = a_chain(300)
    node = OddNode(chain)

    def vanishing(method: str, result: object) -> object:
        if method == BLOCK and len(chain.blocks) == 301:
            chain.drop(1)
        return result

    async with following(node) as follower:
        await follower.refresh()
        chain.mine(4321)
        node.spoil = vanishing
        with pytest.raises(UpstreamUnreadable, match="did not answer with block 300"):
            await follower.refresh()
        await follower.refresh()

        assert follower.snapshot().base_fee_history == chain.base_fees


async def test_block_that_names_another_parent_than_the_node_has_is_not_believed() -> None:
    chain = a_chain(300)
    node = OddNode(chain)
    async with following(node) as follower:
        await follower.refresh()
        before = follower.snapshot()
        chain.mine(4321)
        node.spoil = where(BLOCK, parentHash=f"0x{0xBAD:064x}")

        with pytest.raises(UpstreamUnavailable, match="does not follow the block before it"):
            await follower.refresh()
        assert follower.snapshot() is before
        node.spoil = where("")
        await follower.refresh()
        assert follower.snapshot().base_fee_history == chain.base_fees


async def read(node: OddNode) -> ChainFees:
    """Follow a node for two rounds."""
    async with following(node) as follower:
        await follower.refresh()
        await follower.refresh()
        return follower.snapshot()
