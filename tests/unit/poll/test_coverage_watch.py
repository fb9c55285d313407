"""A worker's looks leave behind what it missed, and its asking what that cost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import State
from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.budgets import USUAL
from dashboard.domain.health.coverage import Gap, GapCause, Watched
from dashboard.domain.health.observation import Failure, FailureKind, Operation, Spent
from dashboard.poll.gas import GasArchive
from dashboard.poll.lease import LeaseLost, NetworkStore
from dashboard.poll.lookup import LiveLookup
from dashboard.poll.network_conditions import CoverageWatch
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import release
from dashboard.store.fees.save import save_gas
from dashboard.store.monitoring.answer_counts import note_answered, note_failure
from dashboard.store.monitoring.coverage import gaps, unwatched_now, without_worker_since
from dashboard.store.monitoring.upkeep import spent_since
from dashboard.upstream.endpoint import Meter
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    an_id,
    seconds,
    suggested_gas_fees,
)
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import SILENCE, ScriptedExclusion
from tests.unit.poll.condition_scene import Scene, conditions_of, told

MINUTE = timedelta(minutes=1)
BOTH = tuple(Watched)


@pytest.fixture
def coverage(fake_clock: FakeClock) -> CoverageWatch:
    return CoverageWatch(A_NETWORK, BOTH, fake_clock.clocks)


def look_for(store: Store, coverage: CoverageWatch, time: FakeClock, minutes: int) -> None:
    """Let time pass, with a look at each minute's end."""
    for _ in range(minutes):
        time.wait(MINUTE)
        with store.write() as connection:
            visited_at = coverage.visit(connection)
        coverage.kept(visited_at)


def fail(store: Store, time: FakeClock, operation: Operation) -> None:
    with store.write() as connection:
        note_failure(connection, A_NETWORK, time.now(), (operation, SILENCE))


def missed(store: Store) -> list[Gap]:
    with store.read() as connection:
        return gaps(connection, [A_NETWORK])


def spent(store: Store) -> dict[str, Spent]:
    with store.read() as connection:
        return {each.operation: each.spent for each in spent_since(connection, A_MOMENT)}


def test_worker_that_goes_on_misses_nothing(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock
) -> None:
    look_for(store, coverage, fake_clock, 3)
    fake_clock.set_clock(timedelta(days=7))
    look_for(store, coverage, fake_clock, 3)
    fake_clock.set_clock(-timedelta(days=7))
    look_for(store, coverage, fake_clock, 3)

    assert missed(store) == []


def test_next_worker_writes_down_what_was_missed_until_then(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock
) -> None:
    look_for(store, coverage, fake_clock, 1)
    last = fake_clock.now()
    fake_clock.wait(30 * MINUTE)
    look_for(store, CoverageWatch(A_NETWORK, BOTH, fake_clock.clocks), fake_clock, 2)

    found = {(gap.watched, gap.begins_at, gap.ends_at, gap.cause) for gap in missed(store)}
    first = last + 31 * MINUTE
    assert found == {(each, last, first, GapCause.NOT_WATCHED) for each in Watched}


@pytest.mark.parametrize(("stopped_for", "is_gap"), [(115, False), (125, True)])
def test_gap_begins_with_the_last_fees_that_any_network_stored(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock, stopped_for: int, *, is_gap: bool
) -> None:
    look_for(store, coverage, fake_clock, 1)
    of_another = CoverageWatch(ANOTHER_NETWORK, BOTH, fake_clock.clocks)
    with store.write() as connection:
        of_another.visit(connection)
    fake_clock.wait(seconds(26))
    last = fake_clock.now()
    with store.write() as connection:
        save_gas(connection, GasObservation(ANOTHER_NETWORK, last, suggested_gas_fees()))
    fake_clock.wait(seconds(stopped_for))
    with store.read() as connection:
        without_worker = unwatched_now(connection, [A_NETWORK], fake_clock.now())
    with store.write() as connection:
        save_gas(connection, GasObservation(A_NETWORK, fake_clock.now(), suggested_gas_fees()))
        CoverageWatch(A_NETWORK, BOTH, fake_clock.clocks).visit(connection)

    begins = [last, last] if is_gap else []
    assert [each.begins_at for each in without_worker] == begins
    assert [each.begins_at for each in missed(store)] == begins


def test_worker_is_running_although_it_asks_no_more_about_rejections(
    store: Store, fake_clock: FakeClock
) -> None:
    look_for(store, CoverageWatch(A_NETWORK, BOTH, fake_clock.clocks), fake_clock, 1)
    fees_only = CoverageWatch(A_NETWORK, [Watched.FEES], fake_clock.clocks)
    look_for(store, fees_only, fake_clock, 10)
    stopped_at = fake_clock.now()

    with store.read() as connection:
        running = without_worker_since(connection, [A_NETWORK], fake_clock.now())
    fake_clock.wait(5 * MINUTE)
    with store.read() as connection:
        since = without_worker_since(connection, [A_NETWORK], fake_clock.now())

    assert running is None
    assert since == stopped_at


def test_gap_of_a_network_without_fees_begins_when_its_worker_stopped(
    store: Store, fake_clock: FakeClock
) -> None:
    watched = [Watched.REJECTIONS]
    coverage = CoverageWatch(A_NETWORK, watched, fake_clock.clocks)
    for _ in range(29):
        with store.write() as connection:
            coverage.kept(coverage.visit(connection))
        fake_clock.wait(seconds(1))
    stopped_at = fake_clock.now()
    fake_clock.wait(30 * MINUTE)
    with store.write() as connection:
        CoverageWatch(A_NETWORK, watched, fake_clock.clocks).visit(connection)

    [gap] = missed(store)
    assert seconds(0) <= stopped_at - gap.begins_at <= seconds(5)


def test_upstream_that_answers_nothing_makes_a_gap_until_it_does(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock
) -> None:
    look_for(store, coverage, fake_clock, 1)
    since = fake_clock.now()
    for _ in range(5):
        fail(store, fake_clock, Operation.EXCLUSION_STATUS)
        look_for(store, coverage, fake_clock, 1)
    [lasting] = missed(store)
    with store.write() as connection:
        note_answered(connection, A_NETWORK, [Operation.EXCLUSION_STATUS], fake_clock.now())
    look_for(store, coverage, fake_clock, 1)

    assert (lasting.watched, lasting.begins_at, lasting.ends_at, lasting.reason) == (
        Watched.REJECTIONS,
        since,
        None,
        SILENCE.message,
    )
    assert [gap.ends_at for gap in missed(store)] == [fake_clock.now()]


def test_single_failure_makes_no_gap_however_long_nobody_asks_again(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock
) -> None:
    fail(store, fake_clock, Operation.EXCLUSION_STATUS)
    look_for(store, coverage, fake_clock, 30)

    assert missed(store) == []


def test_pause_that_the_upstream_asked_for_is_a_gap_and_an_outage(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock
) -> None:
    conditions, operation = conditions_of(fake_clock), Operation.EXCLUSION_STATUS
    look_for(store, coverage, fake_clock, 1)
    throttled = Failure(FailureKind.THROTTLED, "asked too often", 5 * MINUTE)
    since = fake_clock.now()
    with store.write() as connection:
        note_failure(connection, A_NETWORK, since, (operation, throttled))
    for _ in range(5):
        look_for(store, coverage, fake_clock, 1)
        with store.write() as connection:
            conditions.update_exclusion_outage(connection, fake_clock.now())
    with store.write() as connection:
        note_answered(connection, A_NETWORK, [operation], fake_clock.now())
    look_for(store, coverage, fake_clock, 1)

    assert [(each.begins_at, each.ends_at) for each in missed(store)] == [(since, fake_clock.now())]
    assert [(each.after, each.at - since) for each in told(store)] == [(State.SILENT, 2 * MINUTE)]


def test_fees_that_the_node_tells_instead_are_no_gap(
    store: Store, coverage: CoverageWatch, fake_clock: FakeClock
) -> None:
    for _ in range(5):
        fail(store, fake_clock, Operation.SUGGESTED_GAS_FEES)
        told = GasObservation(
            A_NETWORK,
            fake_clock.now(),
            suggested_gas_fees=suggested_gas_fees(),
            sources={Operation.SUGGESTED_GAS_FEES: GasSource.NODE_INSTEAD},
        )
        with store.write() as connection:
            save_gas(connection, told)
        look_for(store, coverage, fake_clock, 1)

    assert missed(store) == []


def a_metered_archive(scene: Scene, store: Store, meter: Meter) -> GasArchive:
    return GasArchive(NetworkStore(store, A_NETWORK, scene.term, meter), scene.conditions)


async def test_what_a_poll_asked_is_in_the_ledger_with_what_it_saw(
    store: Store, scene: Scene
) -> None:
    meter = Meter()
    meter.note_at(USUAL)("suggestedGasFees", 2)

    a_metered_archive(scene, store, meter).save(GasObservation(A_NETWORK, A_MOMENT))
    a_metered_archive(scene, store, meter).save(GasObservation(A_NETWORK, A_MOMENT))

    assert spent(store) == {"suggestedGasFees": Spent(2, 160)}


async def test_what_a_poll_could_not_write_down_is_counted_the_next_time(
    store: Store, scene: Scene
) -> None:
    meter = Meter()
    meter.note_at(USUAL)("suggestedGasFees", 2)
    with store.write() as connection:
        release(connection, scene.term.name, scene.term.token)
    with pytest.raises(LeaseLost):
        a_metered_archive(scene, store, meter).save(GasObservation(A_NETWORK, A_MOMENT))
    assert spent(store) == {}
    scene.restart()

    a_metered_archive(scene, store, meter).save(GasObservation(A_NETWORK, A_MOMENT))

    assert spent(store) == {"suggestedGasFees": Spent(2, 160)}


async def test_live_question_is_in_the_ledger_too(store: Store) -> None:
    meter = Meter()
    meter.note_at(USUAL)("getTransactionExclusionStatusV1", 1)
    question = LiveLookup(
        store,
        {A_NETWORK: ScriptedExclusion()},
        lambda: A_MOMENT,
        an_id,
        meters={A_NETWORK: meter},
    )

    await question.ask([a_hash()], None, seconds(30))

    assert spent(store) == {"getTransactionExclusionStatusV1": Spent(1, 80)}
