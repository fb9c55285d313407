"""What is told of a network whose fees get no answer, or whose base fee never moves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import Signal, State, SubjectKind
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.fees.busy_spells import Spell
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.errors import UpstreamThrottled
from dashboard.store.fees.busy_window import spells_between
from tests.builders import A_NETWORK, GWEI, MINUTE, a_suggestion, seconds, suggested_gas_fees
from tests.scripted_upstreams import ScriptedGas
from tests.unit.poll.condition_scene import LONG, PERIOD, SILENCE, Scene, set_fee, silence, told


async def test_silent_upstream_is_told_once_and_mutes_all_that_depends_on_it(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    silent_from = scene.fake_clock.now() + PERIOD
    silence(scene)

    await scene.go_on(LONG)

    [opening] = told(scene.store)
    assert opening.subject.kind is SubjectKind.GAS_API
    assert opening.grounds == OutageGrounds(silent_from, str(SILENCE))


async def test_busy_spell_ends_with_what_is_seen_and_another_begins_after_the_silence(
    scene: Scene,
) -> None:
    began = scene.fake_clock.now()
    set_fee(scene, 23)
    await scene.go_on(2 * MINUTE)
    silence(scene)
    await scene.go_on(LONG)
    scene.upstream.errors = {}
    await scene.go_on(LONG)

    assert scene.told_states() == [
        *(State.BUSY, State.SILENT, State.UNKNOWN, State.ANSWERING),
        State.BUSY,
    ]
    with scene.store.read() as connection:
        first, second = spells_between(connection, A_NETWORK, began, scene.fake_clock.now())
    assert first == Spell(began + PERIOD, began + 2 * MINUTE, is_end_known=False)
    fresh_threshold_at = began + 2 * MINUTE + LONG + 3 * PERIOD
    assert second == Spell(fresh_threshold_at)


async def test_upstream_that_wishes_to_be_left_alone_for_long_is_silent(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    error = UpstreamThrottled("too many questions", timedelta(hours=1))
    scene.upstream.errors = dict.fromkeys(Operation, error)

    await scene.go_on(10 * MINUTE)

    assert scene.told_states() == [State.SILENT]


async def test_upstream_that_fails_in_part_and_then_altogether_is_silent(scene: Scene) -> None:
    node = ScriptedGas()
    node.fees, node.threshold = suggested_gas_fees(), scene.upstream.threshold
    scene.restart(node)
    await scene.go_on(MINUTE)
    silence(scene, Operation.SUGGESTED_GAS_FEES)
    await scene.go_on(LONG)
    in_part = scene.told_states()
    silent_from = scene.fake_clock.now()
    silence(scene)

    await scene.go_on(LONG)

    assert in_part == []
    [opening] = [each for each in told(scene.store) if each.after is State.SILENT]
    assert silent_from < opening.began_at <= silent_from + MINUTE


async def test_restart_in_a_silence_tells_nothing_again(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    silence(scene)
    await scene.go_on(5 * MINUTE)
    scene.fake_clock.wait(LONG)
    scene.restart()

    await scene.go_on(LONG)

    assert scene.told_states() == [State.SILENT]


@pytest.mark.parametrize("failing_for", [seconds(0), seconds(20)])
async def test_silence_is_told_though_the_clock_was_set_back(
    scene: Scene, failing_for: timedelta
) -> None:
    await scene.go_on(2 * MINUTE)
    silence(scene)
    await scene.go_on(failing_for)
    scene.fake_clock.set_clock(timedelta(days=-1))
    scene.restart()

    await scene.go_on(LONG)

    assert scene.told_states() == [State.SILENT]


@pytest.mark.parametrize("by", [timedelta(hours=2), timedelta(days=7), timedelta(hours=-2)])
async def test_clock_that_is_set_and_set_right_is_no_news_of_a_network(
    scene: Scene, by: timedelta
) -> None:
    await scene.go_on(MINUTE)
    set_fee(scene, 23)
    await scene.go_on(seconds(20))
    silence(scene)
    await scene.go_on(seconds(20))

    for jump in (by, -by):
        scene.fake_clock.set_clock(jump)
        scene.update()
        await scene.go_on(seconds(30))
        scene.upstream.errors = {}

    assert told(scene.store) == []


async def test_silence_is_told_after_its_time_though_the_clock_was_set_in_it(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    silence(scene)
    await scene.go_on(MINUTE)
    scene.fake_clock.set_clock(timedelta(hours=2))
    await scene.go_on(MINUTE)
    too_early = scene.told_states()

    await scene.go_on(2 * MINUTE)

    assert (too_early, scene.told_states()) == ([], [State.SILENT])


async def test_threshold_without_an_answer_makes_fees_stale_and_mutes_busyness(
    scene: Scene,
) -> None:
    await scene.go_on(MINUTE)
    silence(scene, Operation.BUSY_THRESHOLD)
    set_fee(scene, 10)
    await scene.go_on(LONG)
    set_fee(scene, 23)
    await scene.go_on(LONG)

    [opening] = told(scene.store)
    assert opening.after is State.STALE
    assert isinstance(opening.grounds, AgeGrounds)
    assert opening.grounds.operation is Operation.BUSY_THRESHOLD


async def test_node_that_answers_instead_keeps_busyness_told(scene: Scene) -> None:
    node = ScriptedGas()
    node.fees, node.threshold = scene.upstream.fees, scene.upstream.threshold
    scene.restart(node)
    await scene.go_on(MINUTE)
    silence(scene)
    node.fees = suggested_gas_fees(estimated_base_fee=Wei(23 * GWEI))

    await scene.go_on(LONG)

    assert scene.told_states() == [State.BUSY, State.SILENT]


async def test_node_that_fails_after_the_upstream_leaves_stale_fees(scene: Scene) -> None:
    node = ScriptedGas()
    scene.restart(node)
    await scene.go_on(MINUTE)
    silence(scene)
    set_fee(scene, 10)
    node.fees, node.threshold = scene.upstream.fees, scene.upstream.threshold
    await scene.go_on(10 * MINUTE)
    node.errors = dict.fromkeys(Operation, SILENCE)

    await scene.go_on(LONG)

    assert scene.told_states() == [State.SILENT, State.STALE]


async def test_flat_chain_is_busy_by_its_priority_fee(scene: Scene) -> None:
    scene.fake_clock.wait(timedelta(hours=1))
    flat = suggested_gas_fees(estimated_base_fee=Wei(7))
    scene.upstream.fees, scene.upstream.threshold = flat, Wei(7)
    await scene.go_on(LONG + 4 * MINUTE)
    medium = a_suggestion(priority_fee=5 * GWEI)
    scene.upstream.fees = suggested_gas_fees(estimated_base_fee=Wei(7), medium=medium)

    await scene.go_on(2 * MINUTE)

    [opening] = [each for each in told(scene.store) if each.after is State.BUSY]
    assert opening.grounds == FeeGrounds(Signal.PRIORITY_FEE, Wei(5 * GWEI), Wei(2 * GWEI))
