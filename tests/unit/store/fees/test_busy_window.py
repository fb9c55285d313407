"""Fees that a worker holds in memory are those that are stored, whatever happens to the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table, delete, select

from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire, release
from dashboard.store.fees.busy_window import BusyWindow
from dashboard.store.fees.import_history import import_gas_history
from dashboard.store.fees.save import save_gas
from dashboard.store.schema import estimated_base_fees, suggested_gas_fees
from tests.builders import A_MOMENT, A_NETWORK, a_suggestion, seconds
from tests.builders import suggested_gas_fees as some_fees

BASE_FEES, PRIORITY_FEES = seconds(100), seconds(300)
SEEN, ESTIMATED = suggested_gas_fees.c, estimated_base_fees.c
BLOCK_TIME = seconds(2)


class UndoneError(Exception):
    """Ends a transaction without a trace."""


class Worker:
    """A worker that holds fees in memory, in a store that others use as well.

    All happens within one transaction of the store; what the worker would save in one of its own
    is undone by itself where that fails.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.now = A_MOMENT
        self.restart()

    def restart(self) -> None:
        """Hold nothing any more."""
        self.recent = BusyWindow(A_NETWORK, BASE_FEES, PRIORITY_FEES)

    def tick(self, seen: GasObservation, *, fails: bool = False) -> None:
        """Save what was seen in one transaction, as the poll does; hold what is then stored."""
        with suppress(UndoneError), self.recent.transaction(), self.connection.begin_nested():
            self.recent.note(save_gas(self.connection, seen, BLOCK_TIME))
            self.check()
            if fails:
                raise UndoneError

    def check(self) -> None:
        """See that memory and store tell the same."""
        found = list(self.recent.base_fees(self.connection, self.now))
        assert found == self._stored(SEEN.asked_at, SEEN.estimated_base_fee, BASE_FEES, ESTIMATED)
        found = list(self.recent.priority_fees(self.connection, self.now))
        assert found == self._stored(SEEN.asked_at, SEEN.medium_max_priority_fee, PRIORITY_FEES)

    def _stored(self, at: object, fee: object, length: timedelta, more: object = None) -> list[Wei]:
        places = [(at, fee)] if more is None else [(at, fee), (ESTIMATED.at, ESTIMATED.base_fee)]
        found: list[Wei] = []
        for dated, value in places:
            query = select(value).where(dated.between(self.now - length, self.now))  # type: ignore[call-overload,attr-defined]  # columns
            found += self.connection.scalars(query)
        return sorted(found)


Event: TypeAlias = Callable[[Worker], None]


def seen_at(at: datetime, fee: int, source: GasSource = GasSource.GAS_API) -> GasObservation:
    fees = some_fees(estimated_base_fee=Wei(fee), medium=a_suggestion(fee + 1, fee))
    return GasObservation(A_NETWORK, at, fees, sources=dict.fromkeys(Operation, source))


def a_tick(
    step: int, fee: int, source: GasSource, history: Sequence[Wei] | None, *, fails: bool
) -> Event:
    """Let time pass, also backwards, and poll."""

    def happen(worker: Worker) -> None:
        worker.now += seconds(step)
        seen = seen_at(worker.now, fee, source)
        if history is not None:
            seen = GasObservation(A_NETWORK, worker.now, base_fee_history=tuple(history))
        worker.tick(seen, fails=fails)

    return happen


def a_late_value(offset: int, fee: int, source: GasSource) -> Event:
    """Poll something that is dated otherwise than now."""
    return lambda worker: worker.tick(seen_at(worker.now + seconds(offset), fee, source))


def another_worker(offsets: Sequence[int], fee: int) -> Event:
    """Let another worker have the lease for a while, and save."""

    def happen(worker: Worker) -> None:
        token = acquire(worker.connection, "worker", "another", timedelta(days=1))
        assert token is not None
        for offset in offsets:
            seen = seen_at(worker.now + seconds(offset), fee, GasSource.NODE_INSTEAD)
            save_gas(worker.connection, seen, BLOCK_TIME)
        release(worker.connection, "worker", token)

    return happen


def a_demo_history(offsets: Sequence[int], fee: int) -> Event:
    """Let a made-up history be put in."""

    def happen(worker: Worker) -> None:
        times = {worker.now + seconds(offset) for offset in offsets}
        made_up = [seen_at(at, fee, GasSource.DEMO_HISTORY) for at in sorted(times)]
        import_gas_history(worker.connection, made_up)

    return happen


def a_forgetting(table: Table, offset: int) -> Event:
    """Let retention forget what is older, of one of the tables."""

    def happen(worker: Worker) -> None:
        _, dated = table.primary_key
        before = worker.now + seconds(offset)
        worker.connection.execute(delete(table).where(dated < before))

    return happen


FEES = st.integers(0, 9)
SOURCES = st.sampled_from(list(GasSource))
OFFSETS = st.integers(-350, 150) | st.integers(-20, 20)
STEPS = st.integers(0, 8) | st.sampled_from([-200, -30, -1, 40, 120, 500])
HISTORIES = st.lists(FEES.map(Wei), max_size=30)
TICKS = st.builds(a_tick, STEPS, FEES, SOURCES, st.none() | HISTORIES, fails=st.booleans())
GOOD_TICKS = st.builds(a_tick, STEPS, FEES, SOURCES, st.none(), fails=st.just(value=False))
EVENTS = st.one_of(
    GOOD_TICKS,
    TICKS,
    st.builds(a_late_value, OFFSETS, FEES, SOURCES),
    st.builds(another_worker, st.lists(OFFSETS, max_size=4), FEES),
    st.builds(a_demo_history, st.lists(OFFSETS, max_size=4), FEES),
    st.builds(a_forgetting, st.sampled_from([suggested_gas_fees, estimated_base_fees]), OFFSETS),
    st.just(Worker.restart),
    st.just(Worker.check),
)


@contextmanager
def a_worker(store: Store) -> Iterator[Worker]:
    """Let a worker begin with an empty store, of which nothing stays."""
    with suppress(UndoneError), store.write() as connection:
        yield Worker(connection)
        raise UndoneError


@pytest.mark.parametrize("database", ["sqlite"])
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=25,
)
@given(events=st.lists(EVENTS, min_size=5, max_size=25))
def test_fees_in_memory_are_those_that_are_stored(store: Store, events: list[Event]) -> None:
    with a_worker(store) as worker:
        for happen in events:
            happen(worker)
        worker.check()


def test_steady_polls_read_the_store_once(store: Store) -> None:
    with a_worker(store) as worker:
        worker.check()
        held = worker.recent.base_fees(worker.connection, worker.now)

        for second in range(1, 80):
            worker.now = A_MOMENT + seconds(second)
            worker.tick(seen_at(worker.now, second % 7))

        assert worker.recent.base_fees(worker.connection, worker.now) is held


@pytest.mark.parametrize(
    "happen",
    [
        another_worker([-1], 5),
        a_demo_history([-1], 5),
        a_forgetting(suggested_gas_fees, -2),
    ],
    ids=["another worker", "a demo history", "retention"],
)
def test_what_others_change_is_seen(store: Store, happen: Event) -> None:
    with a_worker(store) as worker:
        for second in range(-10, 0, 2):
            worker.tick(seen_at(A_MOMENT + seconds(second), 7))

        happen(worker)

        worker.check()


def test_value_beyond_what_is_held_is_read_when_its_time_has_come(store: Store) -> None:
    with a_worker(store) as worker:
        worker.tick(seen_at(A_MOMENT, 7))
        worker.tick(seen_at(A_MOMENT + seconds(400), 8))

        for second in range(0, 440, 8):
            worker.now = A_MOMENT + seconds(second)
            worker.check()
