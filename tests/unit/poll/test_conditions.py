"""What is told of a network while its fees come and go, from a scripted upstream to the outbox."""

from __future__ import annotations

from dashboard.domain.alerts.condition import Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.fees.busy_spells import Spell
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.store.alerts.conditions import current_condition
from dashboard.store.fees.busy_window import spells_between
from tests.builders import A_NETWORK, GWEI, MINUTE, seconds
from tests.unit.poll.condition_scene import LONG, PERIOD, THRESHOLD, Scene, set_fee, told


async def test_nobody_is_told_of_the_conditions_that_a_network_begins_with(scene: Scene) -> None:
    await scene.go_on(LONG)

    assert told(scene.store) == []


async def test_network_that_stays_busy_is_told_once(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    set_fee(scene, 23)

    await scene.go_on(LONG)

    [opening] = told(scene.store)
    assert opening.subject == Subject(SubjectKind.BUSYNESS, A_NETWORK)
    assert opening.after is State.BUSY
    assert opening.grounds == FeeGrounds(Signal.BASE_FEE, Wei(23 * GWEI), Wei(THRESHOLD * GWEI))


async def test_restart_tells_nothing_again(scene: Scene) -> None:
    set_fee(scene, 23)
    await scene.go_on(2 * MINUTE)

    for _ in range(5):
        scene.restart()
        await scene.go_on(2 * MINUTE)

    assert scene.told_states() == [State.BUSY]


async def test_restart_does_not_begin_the_waiting_anew(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    set_fee(scene, 23)
    await scene.go_on(seconds(40))
    scene.restart()

    await scene.go_on(seconds(30))

    assert scene.told_states() == [State.BUSY]


async def test_change_while_the_worker_was_down_is_told_when_it_lasted(scene: Scene) -> None:
    set_fee(scene, 23)
    await scene.go_on(2 * MINUTE)
    set_fee(scene, 10)
    scene.fake_clock.wait(MINUTE)
    scene.restart()

    await scene.go_on(6 * MINUTE)

    assert scene.told_states() == [State.BUSY, State.CALM]


async def test_worker_that_was_down_notices_by_what_is_stored(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    answered_at = scene.fake_clock.now()
    scene.fake_clock.wait(LONG)
    scene.restart()

    await scene.go_on(MINUTE)

    [stale, fresh] = told(scene.store)
    assert (stale.after, fresh.after) == (State.STALE, State.FRESH)
    assert stale.grounds == AgeGrounds(Operation.SUGGESTED_GAS_FEES, answered_at, PERIOD)


async def test_worker_that_was_down_for_moments_tells_nothing(scene: Scene) -> None:
    await scene.go_on(MINUTE)
    scene.fake_clock.wait(4 * MINUTE)
    scene.restart()

    await scene.go_on(LONG)

    assert told(scene.store) == []


async def test_fees_that_nobody_asks_for_any_more_are_told_as_stale(scene: Scene) -> None:
    await scene.go_on(MINUTE)

    for _ in range(40):
        scene.fake_clock.wait(PERIOD)
        scene.update()

    assert scene.told_states() == [State.STALE]


async def test_spell_is_stored_and_told_from_its_first_value_to_the_first_below(
    scene: Scene,
) -> None:
    await scene.go_on(MINUTE)
    before = scene.fake_clock.now()
    set_fee(scene, 23)
    await scene.go_on(seconds(90))
    set_fee(scene, 10)
    await scene.go_on(LONG)

    begun, over = before + PERIOD, before + seconds(100)
    with scene.store.read() as connection:
        assert spells_between(connection, A_NETWORK, before, over) == [Spell(begun, over)]
        held = current_condition(connection, Subject(SubjectKind.BUSYNESS, A_NETWORK))
    assert held is not None
    assert (held.state, held.since, held.seen_at) == (State.CALM, over, scene.fake_clock.now())
    assert [(each.after, each.since) for each in told(scene.store)] == [
        (State.BUSY, begun),
        (State.CALM, over),
    ]
