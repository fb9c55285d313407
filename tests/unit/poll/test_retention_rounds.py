"""RetentionRounds takes its time: a moment at a time, with rests, once an hour, and begins anew."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.retention import CONFIRMED_BY, Retention
from dashboard.domain.people.access import Action
from dashboard.errors import StoreError
from dashboard.poll.lease import Clocks, LeaseLost
from dashboard.poll.retention_rounds import ROUND_EVERY, RetentionRounds
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.health import store_space
from dashboard.store.monitoring.upkeep import last_measured, last_upkeep
from tests.builders import A_MOMENT, A_NETWORK, DAY, seconds, suggested_gas_fees
from tests.one_by_one import audited, base_fees


class ServeHome:
    """A store with some old fees, and a clock that rests of housekeeping move on."""

    def __init__(self, store: Store, rest_takes: float = 0.0) -> None:
        """Let each rest take so many seconds more than it should."""
        self.store = store
        self.elapsed = timedelta(hours=9)
        self.rests: list[float] = []
        self._rest_takes = timedelta(seconds=rest_takes)
        self.now = A_MOMENT
        self.clocks = Clocks(lambda: self.now, lambda: self.elapsed)

    def keeping(self, retention: Retention) -> RetentionRounds:
        """Return the housekeeping under these rules."""
        return RetentionRounds(self.store, retention, self.clocks, self.rest)

    async def rest(self, length: float) -> None:
        """Note a rest, and let its time pass."""
        self.rests.append(length)
        self.elapsed += self._rest_takes

    async def keep_for(self, retention: Retention, days: int) -> None:
        """Let a worker run for some days."""
        keeping = self.keeping(retention)
        for _ in range(days):
            await keeping.run()
            self.now += DAY
            self.elapsed += DAY

    def see_fees(self, days: int, count: int = 3) -> None:
        """Save what was seen some days ago."""
        with self.store.write() as connection:
            for number in range(count):
                at = A_MOMENT - days * DAY + seconds(number)
                save_gas(connection, GasObservation(A_NETWORK, at, suggested_gas_fees()))

    def fees(self) -> int:
        """Count the fees that are kept."""
        with self.store.read() as connection:
            return len(base_fees(connection, A_NETWORK, A_MOMENT - 99 * DAY, A_MOMENT))


async def test_old_fees_are_gone_after_a_run_and_others_stay(store: Store) -> None:
    house = ServeHome(store)
    house.see_fees(15)
    house.see_fees(13)

    await house.keeping(Retention()).run()

    assert house.fees() == 3
    assert min(house.rests) > 0
    with store.read() as connection:
        assert last_upkeep(connection).purged_at == house.now


async def test_worker_without_its_lease_purges_nothing(store: Store) -> None:
    house = ServeHome(store)
    await house.keeping(Retention()).run()
    house.see_fees(15)

    def refuse(_: Connection) -> None:
        raise LeaseLost("another worker has it")

    keeping = RetentionRounds(store, Retention(), house.clocks, house.rest, refuse)
    with pytest.raises(LeaseLost):
        await keeping.run()

    assert house.fees() == 3


async def test_round_comes_once_an_hour(store: Store) -> None:
    house = ServeHome(store)
    keeping = house.keeping(Retention())
    await keeping.run()
    house.see_fees(15)

    house.elapsed += ROUND_EVERY - seconds(1)
    await keeping.run()
    assert house.fees() == 3

    house.elapsed += seconds(1)
    await keeping.run()
    assert house.fees() == 0


async def test_store_that_cannot_be_measured_is_gone_through_once_an_hour(store: Store) -> None:
    house = ServeHome(store)
    keeping = house.keeping(Retention())
    with store.write() as connection:
        connection.execute(text("ALTER TABLE store_sizes RENAME bytes TO octets"))
    with pytest.raises(StoreError, match="bytes"):
        await keeping.run()
    house.see_fees(15)

    await keeping.run()

    assert house.fees() == 3


async def test_long_round_goes_on_with_the_next_run(store: Store) -> None:
    house = ServeHome(store, rest_takes=60)
    house.see_fees(15)
    keeping = house.keeping(Retention())

    await keeping.run()
    first = len(house.rests)
    for _ in range(20):
        await keeping.run()

    assert first == 1
    assert house.fees() == 0


async def test_how_long_all_is_kept_is_on_record_once(store: Store) -> None:
    house = ServeHome(store)
    for retention in (Retention(), Retention(), Retention(fees=DAY)):
        await house.keeping(retention).run()

    told = audited(store, Action.CHANGE_RETENTION)
    assert [entry.details["fees"] for entry in told] == ["24 h", "14 days"]
    assert told[0].details["rejections"] == "forever"


async def test_clock_that_leaps_ahead_makes_nothing_old(store: Store) -> None:
    house = ServeHome(store)
    house.see_fees(15)
    house.see_fees(1)
    await house.keep_for(Retention(), 2)

    house.now += 3650 * DAY
    await house.keep_for(Retention(), 3)

    assert house.fees() == 3
    with store.read() as connection:
        assert store_space(connection, house.now - DAY).clock_jump is not None


async def test_clock_that_is_right_again_makes_old_at_once(store: Store) -> None:
    house = ServeHome(store)
    house.see_fees(1)
    await house.keep_for(Retention(), 1)
    house.now += 3650 * DAY
    await house.keep_for(Retention(), 2)

    house.now = A_MOMENT + 2 * DAY
    await house.keep_for(Retention(fees=DAY), 1)

    assert house.fees() == 0
    with store.read() as connection:
        measured = last_measured(connection)
    assert measured is not None
    assert measured.measured_at == A_MOMENT + 2 * DAY


async def test_machine_that_was_off_for_months_forgets_after_some_days(store: Store) -> None:
    house = ServeHome(store)
    house.see_fees(1)
    await house.keep_for(Retention(), 1)

    house.now += 90 * DAY
    await house.keep_for(Retention(), CONFIRMED_BY)
    assert house.fees() == 3

    await house.keep_for(Retention(), 1)
    assert house.fees() == 0
