"""Fees come from the gas API, from the node while that is silent, and from it again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import anyio
import pytest

from dashboard.domain.fees.gas import GasPeriods, GasSource
from dashboard.domain.health.observation import AnswerCounts, Operation, times_of
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamThrottled, UpstreamUnavailable
from dashboard.poll.gas import GasArchive, GasPoll
from dashboard.poll.gas_api_or_node import GasAsker
from dashboard.poll.lease import NetworkStore
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import source_records
from tests.builders import A_NETWORK, seconds, suggested_gas_fees
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import ScriptedGas
from tests.unit.poll.condition_scene import a_term, conditions_of, latest, tick_for

SUGGESTED = Operation.SUGGESTED_GAS_FEES
PERIODS = GasPeriods(seconds(4), timedelta(minutes=10), timedelta(minutes=1))


class GasOfNode(ScriptedGas):
    """A node, which tells another base fee than the gas API."""

    def __init__(self) -> None:
        super().__init__()
        self.fees = suggested_gas_fees(estimated_base_fee=Wei(7))


class HangingGas(ScriptedGas):
    """A gas API that takes questions and never answers."""

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - as it is inherited
        if operation is SUGGESTED:
            self.asked[SUGGESTED] += 1
            await anyio.sleep_forever()
        return await super().ask(operation)


@pytest.fixture
def api() -> ScriptedGas:
    return ScriptedGas()


@pytest.fixture
def node() -> ScriptedGas:
    return GasOfNode()


def a_poll(
    store: Store, fake_clock: FakeClock, api: GasAsker | None, node: GasAsker | None
) -> GasPoll:
    own = NetworkStore(store, A_NETWORK, a_term(store, fake_clock))
    archive = GasArchive(own, conditions_of(fake_clock))
    return GasPoll(api, archive, PERIODS, fake_clock.clocks, node)


def told_by(store: Store) -> GasSource:
    fees = latest(store).suggested_gas_fees
    assert fees is not None
    return fees.source


def silence(upstream: ScriptedGas) -> None:
    error = UpstreamUnavailable("the gas API is down")
    upstream.errors = dict.fromkeys((SUGGESTED, Operation.BUSY_THRESHOLD), error)


async def test_node_alone_tells_every_fee(
    store: Store, fake_clock: FakeClock, node: ScriptedGas
) -> None:
    await a_poll(store, fake_clock, None, node).tick()

    found = latest(store)
    assert told_by(store) is GasSource.NODE
    assert found.busy_threshold is not None
    assert found.busy_threshold.source is GasSource.NODE
    assert found.failures == ()


async def test_node_is_not_asked_while_the_gas_api_answers(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    await tick_for(a_poll(store, fake_clock, api, node), fake_clock, timedelta(minutes=1))

    assert told_by(store) is GasSource.GAS_API
    assert not node.asked


async def test_what_became_of_each_question_is_counted(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    silence(api)
    node.errors = {Operation.BUSY_THRESHOLD: UpstreamUnavailable("the node is down")}

    await a_poll(store, fake_clock, api, node).tick()

    with store.read() as connection:
        found = source_records(connection, fake_clock.now(), 1)
    at_once = times_of(timedelta())
    assert {operation: each.total for (_, operation), each in found.items()} == {
        SUGGESTED: AnswerCounts(instead=1, times=at_once),
        Operation.BUSY_THRESHOLD: AnswerCounts(failed=1),
        Operation.BASE_FEE_PERCENTILE: AnswerCounts(1, times=at_once),
        Operation.BASE_FEE_HISTORY: AnswerCounts(1, times=at_once),
    }


async def test_silent_gas_api_costs_no_fee_where_a_node_can_be_asked(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    silence(api)

    await a_poll(store, fake_clock, api, node).tick()

    assert told_by(store) is GasSource.NODE_INSTEAD
    [threshold, suggested] = latest(store).failures
    assert {threshold.operation, suggested.operation} == {SUGGESTED, Operation.BUSY_THRESHOLD}
    assert suggested.failure.message == "the gas API is down"


async def test_failure_of_the_gas_api_stands_while_the_node_answers_instead(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    silence(api)
    since = fake_clock.now() + PERIODS.gas_period

    await tick_for(a_poll(store, fake_clock, api, node), fake_clock, timedelta(minutes=2))

    assert [each.failing_since for each in latest(store).failures] == [since, since]


async def test_silent_gas_api_is_left_alone_for_half_a_minute(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    silence(api)

    await tick_for(a_poll(store, fake_clock, api, node), fake_clock, timedelta(minutes=2))

    assert node.asked[SUGGESTED] == 30
    assert api.asked[SUGGESTED] == 4


async def test_fees_return_to_the_gas_api_when_it_answers(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    poll = a_poll(store, fake_clock, api, node)
    silence(api)
    await poll.tick()
    api.errors = {}

    await tick_for(poll, fake_clock, timedelta(minutes=2))

    assert told_by(store) is GasSource.GAS_API
    assert latest(store).failures == ()
    assert node.asked[SUGGESTED] == 8


async def test_gas_api_that_wants_rest_gets_it(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    api.errors = {SUGGESTED: UpstreamThrottled("too fast", timedelta(minutes=5))}
    poll = a_poll(store, fake_clock, api, node)

    await tick_for(poll, fake_clock, timedelta(minutes=4))

    assert api.asked == dict.fromkeys(api.asked, 1)
    assert node.asked[SUGGESTED] == 60


async def test_silence_of_both_is_told_of_both(
    store: Store, fake_clock: FakeClock, api: ScriptedGas, node: ScriptedGas
) -> None:
    silence(api)
    node.errors = {SUGGESTED: UpstreamUnavailable("the node is down")}

    await a_poll(store, fake_clock, api, node).tick()

    assert latest(store).suggested_gas_fees is None
    messages = {each.failure.message for each in latest(store).failures}
    assert messages == {"the gas API is down", "the gas API is down; the node is down"}


async def test_gas_api_that_hangs_cannot_hold_up_the_node_for_long(
    store: Store, fake_clock: FakeClock, node: ScriptedGas
) -> None:
    api = HangingGas()
    poll = a_poll(store, fake_clock, api, node)
    question = next(each for each in poll.questions if each.operation is SUGGESTED)
    question.period = timedelta(milliseconds=20)
    question.paused_until = timedelta(0)

    answer = await question.ask(fake_clock.elapsed())

    assert answer.source is GasSource.NODE_INSTEAD
    assert answer.failure is not None
    assert answer.failure.message == "the gas API still gives no answer within 0.01 s"
