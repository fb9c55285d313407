"""One process holds a lease, for as long as the machine's own time says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from dashboard.errors import StoreUnavailable
from dashboard.poll.lease import Lease
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.lease_clock import boot_clock
from dashboard.store.engine.leases import WORKER_LEASE, Holder, acquire, holder, release, renew
from tests.builders import seconds
from tests.databases import new_store
from tests.fake_clock import FakeClock
from tests.unit.store.fake_machine import Machine

TERM = seconds(30)
PATIENCE = 600.0


def take(store: Store, who: str, name: str = "worker") -> int | None:
    """Try to take a lease, in a transaction of its own."""
    with store.write() as connection:
        return acquire(connection, name, who, TERM)


def taken(store: Store, who: str, name: str = "worker") -> int:
    """Take a lease that is free."""
    token = take(store, who, name)
    assert token is not None
    return token


def held(store: Store) -> Holder | None:
    """Return who holds the lease."""
    with store.read() as connection:
        return holder(connection, "worker")


def test_holder_that_asks_again_gets_the_same_token_and_a_full_term(
    store: Store, machine: Machine
) -> None:
    token = taken(store, "first")
    machine.wait(seconds(20))
    assert take(store, "first") == token

    machine.wait(seconds(20))
    assert take(store, "second") is None


def test_lease_runs_out_at_the_end_of_its_term(store: Store, machine: Machine) -> None:
    taken(store, "first")
    machine.wait(TERM - timedelta(milliseconds=1))
    assert take(store, "second") is None

    machine.wait(timedelta(milliseconds=1))
    assert held(store) is None
    assert take(store, "second") is not None


def test_token_grows_after_release_expiry_and_across_leases(store: Store, machine: Machine) -> None:
    tokens = [taken(store, "first")]
    with store.write() as connection:
        release(connection, "worker", tokens[0])
    tokens.append(taken(store, "second"))
    tokens.append(taken(store, "second", name="other"))
    machine.wait(TERM)
    tokens.append(taken(store, "first"))

    assert tokens == sorted(set(tokens))


def test_released_lease_is_free_at_once(store: Store) -> None:
    token = taken(store, "first")
    with store.write() as connection:
        release(connection, "worker", token)

    assert held(store) is None
    assert take(store, "second") is not None


def test_release_under_an_old_token_frees_nothing(store: Store, machine: Machine) -> None:
    old = taken(store, "first")
    machine.wait(TERM)
    new = taken(store, "second")
    with store.write() as connection:
        release(connection, "worker", old)

    assert held(store) == Holder("second", new)


def test_renewed_lease_lasts_another_term(store: Store, machine: Machine) -> None:
    token = taken(store, "first")
    machine.wait(seconds(20))
    with store.write() as connection:
        assert renew(connection, "worker", token, TERM)

    machine.wait(seconds(20))
    assert held(store) == Holder("first", token)


@pytest.mark.parametrize("is_taken", [False, True])
def test_lease_that_ran_out_cannot_be_renewed_even_if_nobody_took_it(
    store: Store, machine: Machine, *, is_taken: bool
) -> None:
    token = taken(store, "first")
    machine.wait(TERM)
    if is_taken:
        taken(store, "second")
    with store.write() as connection:
        assert not renew(connection, "worker", token, TERM)


def test_lease_does_not_outlive_the_boot_of_its_machine(store: Store, machine: Machine) -> None:
    taken(store, "first")
    machine.boot()

    assert held(store) is None
    assert take(store, "second") is not None


def test_own_clock_of_the_machine_goes_on_within_one_boot() -> None:
    earlier, later = boot_clock(), boot_clock()

    assert earlier.boot_id == later.boot_id != ""
    assert earlier.nanoseconds <= later.nanoseconds


def test_renewal_does_not_wait_for_all_jobs_of_its_process_that_queue(
    store: Store,
) -> None:
    token = taken(store, "first")
    begun, may_end, asked = Event(), Event(), Event()
    order: list[str] = []

    def work() -> None:
        with store.write():
            begun.set()
            assert may_end.wait(PATIENCE)
            order.append("job")

    def renew_lease() -> None:
        asked.set()
        with store.renew() as connection:
            assert renew(connection, "worker", token, TERM)
        order.append("renewal")

    with ThreadPoolExecutor(22) as threads:
        jobs = [threads.submit(work)]
        assert begun.wait(PATIENCE)
        renewal = threads.submit(renew_lease)
        assert asked.wait(PATIENCE)
        jobs += [threads.submit(work) for _ in range(20)]
        may_end.set()
        for each in (*jobs, renewal):
            each.result()

    # A busy machine may let some jobs begin between the word that it asks and its asking.
    assert order.index("renewal") <= len(jobs) // 2


def test_renewal_on_a_server_waits_for_no_job_at_all() -> None:
    with new_store("postgresql", Path()) as url, open_store(url) as store:
        token = taken(store, "first")
        with store.write() as job, store.renew() as connection:
            assert renew(connection, "worker", token, TERM)
            assert holder(job, "worker") == Holder("first", token)


def test_who_stands_by_does_not_wait_for_a_writer_that_may_have_stopped(url: str) -> None:
    """Else one that stops just after it was looked at holds the lease up as long as it pleases."""
    with open_store(url, patience=timedelta(days=1)) as store, open_store(url) as stopped:
        lease = Lease(store, WORKER_LEASE, "standby", seconds(2), FakeClock().elapsed)
        with stopped.write(), pytest.raises(StoreUnavailable):
            lease.acquire()

        assert lease.acquire() is not None
        assert replace(lease, duration=timedelta(weeks=60)).acquire() is not None
