"""A trial asks each question once and says what it found, whatever the endpoint does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from dashboard.domain.health.observation import Operation, TrialOutcome, TrialResult
from dashboard.domain.quantity import NetworkId
from dashboard.errors import UpstreamRefused, UpstreamUnavailable
from dashboard.poll.trial import Trial
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.node import NodeClient
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedGas
from tests.unit.upstream.chain_followers import a_chain
from tests.unit.upstream.fake_chain import FakeChain
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, fault, result

TRIAL = Trial(FakeClock().clocks)
DEVNET = NetworkId(424242)

Answer = Callable[[list[Call]], Any]


def taking_batches(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
    replies = [result(call, None) for call in calls]
    return replies if len(replies) > 1 else replies[0]


def refusing_batches(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
    return result(calls[0], None) if len(calls) == 1 else fault(-32600)


def down(_: list[Call]) -> Any:  # noqa: ANN401 - an error
    return UpstreamUnavailable("devnet test endpoint: no answer")


async def outcomes(findings: AsyncIterator[TrialResult]) -> dict[str, TrialOutcome]:
    return {finding.question: finding.outcome async for finding in findings}


def exclusion(
    answer: Answer, other: Answer = taking_batches, *, is_configured: bool = False
) -> AsyncIterator[TrialResult]:
    first, second = (ExclusionClient(ScriptedAsker(each), "linea") for each in (answer, other))
    return TRIAL.exclusion(first, second, "WebSocket", is_configured=is_configured)


def node(chain: FakeChain, network_id: NetworkId = DEVNET) -> AsyncIterator[TrialResult]:
    return TRIAL.node(NodeClient(ScriptedAsker(chain.answer)), network_id)


async def test_exclusion_endpoint_that_can_everything_is_good_throughout() -> None:
    assert await outcomes(exclusion(taking_batches)) == {
        "one hash": TrialOutcome.GOOD,
        "batch of two hashes": TrialOutcome.GOOD,
        "one hash over WebSocket": TrialOutcome.GOOD,
    }


async def test_missing_batches_and_websocket_are_no_failure() -> None:
    found = await outcomes(exclusion(refusing_batches, other=down))

    assert found["batch of two hashes"] is TrialOutcome.ABSENT
    assert found["one hash over WebSocket"] is TrialOutcome.ABSENT


@pytest.mark.parametrize(
    ("is_configured", "outcome", "said"),
    [
        (False, TrialOutcome.ABSENT, "not configured, and not at this address: HTTP is used"),
        (True, TrialOutcome.FAILED, "devnet test endpoint: no answer"),
    ],
)
async def test_websocket_fails_only_if_it_is_configured(
    is_configured: bool,  # noqa: FBT001 - whether websocket_url is set
    outcome: TrialOutcome,
    said: str,
) -> None:
    asked = exclusion(taking_batches, other=down, is_configured=is_configured)
    *_, found = [each async for each in asked]

    assert found.outcome is outcome
    assert found.found.startswith(said)


async def test_silent_exclusion_endpoint_is_asked_once_and_told() -> None:
    [finding] = [each async for each in exclusion(down)]

    assert finding.outcome is TrialOutcome.FAILED
    assert finding.found == "devnet test endpoint: no answer"


async def test_unknown_method_is_told_with_the_remedy() -> None:
    [finding] = [each async for each in exclusion(lambda calls: fault(-32601, calls[0]))]

    assert "check the address and the method prefix" in finding.found


async def test_endpoint_that_breaks_at_the_batch_answers_hash_by_hash() -> None:
    def breaking(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or an error
        return result(calls[0], None) if len(calls) == 1 else UpstreamUnavailable("broke")

    assert (await outcomes(exclusion(breaking)))["batch of two hashes"] is TrialOutcome.GOOD


async def test_each_gas_operation_is_told_apart() -> None:
    gas = ScriptedGas()
    gas.errors[Operation.BUSY_THRESHOLD] = UpstreamRefused("check the API key and its secret")

    findings = {each.question: each async for each in TRIAL.gas(gas)}

    assert findings["suggestedGasFees"].found == "base fee 10 gwei"
    assert findings["baseFeeHistory"].found == "3 blocks"
    assert findings["baseFeePercentile"].outcome is TrialOutcome.GOOD
    assert findings["busyThreshold"].outcome is TrialOutcome.FAILED


async def test_node_of_another_network_is_told_and_asked_no_more() -> None:
    [finding] = [each async for each in node(a_chain(5), NetworkId(1))]

    assert finding.outcome is TrialOutcome.FAILED
    assert "it follows network 424242, not 1" in finding.found


async def test_node_without_fee_history_can_be_used_all_the_same() -> None:
    found = await outcomes(node(a_chain(5, knows_history=False)))

    assert found["eth_chainId"] is TrialOutcome.GOOD
    assert found["eth_getBlockByNumber"] is TrialOutcome.GOOD
    assert found["eth_feeHistory"] is TrialOutcome.ABSENT


async def test_node_without_rewards_is_said_to_tell_no_priority_fees() -> None:
    findings = {each.question: each async for each in node(a_chain(5, is_rewarding=False))}

    assert "priority fees are the floors" in findings["eth_feeHistory"].found


async def test_node_that_knows_receipts_and_batches_is_good_throughout() -> None:
    def answer(calls: list[Call]) -> Any:  # noqa: ANN401 - one reply or a list of them
        if calls[0]["method"] != "eth_getTransactionReceipt":
            return a_chain(5).answer(calls)
        return taking_batches(calls)

    found = await outcomes(TRIAL.node(NodeClient(ScriptedAsker(answer)), DEVNET))

    assert set(found.values()) == {TrialOutcome.GOOD}


async def test_node_without_any_block_has_failed_there() -> None:
    found = await outcomes(node(FakeChain()))

    assert found["eth_getBlockByNumber"] is TrialOutcome.FAILED


async def test_node_that_knows_no_receipts_has_failed_there() -> None:
    assert (await outcomes(node(a_chain(5))))["eth_getTransactionReceipt"] is TrialOutcome.FAILED
