"""What lasts on a network or an API ends once the settings name it no longer."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.condition import Condition, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.upstream import UnaskedGrounds
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.quantity import NetworkId
from dashboard.poll.jobs import Periods, PollingWorker, jobs_of
from dashboard.poll.lease import Lease, LeaseLost
from dashboard.poll.removed_sources import RemovedSources
from dashboard.store.alerts.alert_status import pending_conditions, source_outages
from dashboard.store.alerts.conditions import current_condition, note_values, record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.fees.busy_window import save_spell, spells_between
from dashboard.store.monitoring.coverage import gaps, save_coverage
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_transition
from tests.fake_clock import FakeClock
from tests.unit.poll.condition_scene import a_term, told

GAS, FEES = SubjectKind.GAS_API, SubjectKind.FEES
BUSY, EXCLUSION = SubjectKind.BUSYNESS, SubjectKind.EXCLUSION_API
TROUBLE = {
    GAS: State.SILENT,
    FEES: State.STALE,
    BUSY: State.BUSY,
    EXCLUSION: State.SILENT,
    SubjectKind.DISK: State.LOW_ON_SPACE,
}


@pytest.fixture
def troubled(store: Store) -> Store:
    """Return a store with every trouble of two networks."""
    with store.write() as connection:
        for place, network_id in enumerate((A_NETWORK, ANOTHER_NETWORK)):
            for number, (kind, state) in enumerate(TROUBLE.items()):
                subject = Subject(kind, network_id)
                began = a_transition(10 * place + number, subject=subject, after=state)
                assert record_transition(connection, began, None)
                if kind is BUSY:
                    save_spell(connection, began)
    return store


def left(store: Store) -> set[tuple[SubjectKind, NetworkId]]:
    """Return what still lasts."""
    with store.read() as connection:
        found = {
            (kind, network_id): current_condition(connection, Subject(kind, network_id))
            for kind in TROUBLE
            for network_id in (A_NETWORK, ANOTHER_NETWORK)
        }
    return {key for key, held in found.items() if held is not None and held.state.is_open}


def end(
    store: Store,
    fake_clock: FakeClock,
    with_fees: tuple[NetworkId, ...],
    with_exclusion: tuple[NetworkId, ...],
) -> None:
    """Let a worker with these networks look twice."""
    removed = RemovedSources(store, with_fees, with_exclusion, fake_clock.clocks, uuid4)
    term = a_term(store, fake_clock)
    for _ in range(2):
        fake_clock.wait(timedelta(minutes=1))
        removed.end(term)


@pytest.mark.parametrize(
    ("with_fees", "with_exclusion", "over"),
    [
        ((A_NETWORK, ANOTHER_NETWORK), (A_NETWORK, ANOTHER_NETWORK), ()),
        ((A_NETWORK,), (A_NETWORK, ANOTHER_NETWORK), (GAS, FEES, BUSY)),
        ((A_NETWORK, ANOTHER_NETWORK), (A_NETWORK,), (EXCLUSION,)),
        ((A_NETWORK,), (A_NETWORK,), (GAS, FEES, BUSY, EXCLUSION)),
    ],
    ids=["nothing", "its fees", "its exclusion API", "the network"],
)
def test_what_nobody_asks_any_more_ends_and_all_else_lasts(
    troubled: Store,
    fake_clock: FakeClock,
    with_fees: tuple[NetworkId, ...],
    with_exclusion: tuple[NetworkId, ...],
    over: tuple[SubjectKind, ...],
) -> None:
    before, many = left(troubled), len(told(troubled))

    end(troubled, fake_clock, with_fees, with_exclusion)

    assert before - left(troubled) == {(kind, ANOTHER_NETWORK) for kind in over}
    assert {each.subject.kind for each in told(troubled)[many:]} == set(over)


def test_gap_of_what_nobody_asks_any_more_ends(store: Store, fake_clock: FakeClock) -> None:
    lasting = [
        Gap(network_id, part, A_MOMENT, None, GapCause.NOT_ANSWERED, "")
        for network_id in (A_NETWORK, ANOTHER_NETWORK)
        for part in Watched
    ]
    with store.write() as connection:
        for each in lasting:
            held = Covered(each.network_id, each.watched, A_MOMENT, A_MOMENT, each)
            save_coverage(connection, None, CoverageChange(held))

    end(store, fake_clock, (A_NETWORK,), (A_NETWORK, ANOTHER_NETWORK))

    with store.read() as connection:
        found = gaps(connection, (A_NETWORK, ANOTHER_NETWORK))
    assert {(each.network_id, each.watched): each.ends_at for each in found} == {
        (A_NETWORK, Watched.FEES): None,
        (A_NETWORK, Watched.REJECTIONS): None,
        (ANOTHER_NETWORK, Watched.FEES): A_MOMENT + timedelta(minutes=1),
        (ANOTHER_NETWORK, Watched.REJECTIONS): None,
    }


def test_its_end_says_that_nobody_asks_rather_than_that_all_is_well(
    troubled: Store, fake_clock: FakeClock
) -> None:
    end(troubled, fake_clock, (A_NETWORK,), (A_NETWORK,))

    found = {each.subject.kind: each for each in told(troubled)[-4:]}
    at = A_MOMENT + timedelta(minutes=1)
    assert {kind: (each.after, each.grounds) for kind, each in found.items()} == {
        GAS: (State.ANSWERING, UnaskedGrounds(at)),
        FEES: (State.FRESH, UnaskedGrounds(at)),
        BUSY: (State.UNKNOWN, None),
        EXCLUSION: (State.ANSWERING, UnaskedGrounds(at)),
    }
    with troubled.read() as connection:
        sources = source_outages(connection, at)
        [spell] = spells_between(connection, ANOTHER_NETWORK, A_MOMENT, at)
    assert {each.network_id for each in sources} == {A_NETWORK}
    assert (spell.ends_at, spell.is_end_known) == (at, False)


def test_what_was_pending_on_it_is_pending_no_more(store: Store, fake_clock: FakeClock) -> None:
    subject = Subject(BUSY, ANOTHER_NETWORK)
    calm = a_transition(1, subject=subject, after=State.CALM)
    with store.write() as connection:
        assert record_transition(connection, calm, None)
        note_values(connection, subject, Condition(State.CALM, A_MOMENT, turning_since=A_MOMENT))

    end(store, fake_clock, (A_NETWORK,), (A_NETWORK,))

    with store.read() as connection:
        assert pending_conditions(connection) == []
    assert told(store) == []


def test_worker_that_lost_its_lease_ends_nothing(troubled: Store, fake_clock: FakeClock) -> None:
    term, before = a_term(troubled, fake_clock), left(troubled)
    removed = RemovedSources(troubled, (), (), fake_clock.clocks, uuid4)

    with pytest.raises(LeaseLost):
        removed.end(replace(term, token=term.token + 1))

    assert left(troubled) == before


async def test_worker_ends_what_lasts_on_networks_that_it_does_not_have(
    troubled: Store, fake_clock: FakeClock
) -> None:
    lease = Lease(troubled, "worker", "worker 1", timedelta(days=1), fake_clock.elapsed)
    worker = PollingWorker(troubled, lease, (), NoDelivery(), Periods(), fake_clock.clocks, uuid4)
    jobs = jobs_of(worker, a_term(troubled, fake_clock), asyncio.Event())

    await next(each.run for each in jobs if each.name == "removed sources")()

    assert {kind for kind, _ in left(troubled)} == {SubjectKind.DISK}


class NoDelivery:
    """Delivers nothing."""

    def run(self, _token: int, _may_send: object, /) -> bool:
        """Do nothing."""
        return False

    def finish(self, within: timedelta) -> object:
        """Do nothing."""
        return within
