"""Ages that begin anew: tracked again, looked up, or of a sender that was just rejected."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from sqlalchemy import select

from dashboard.domain.tracking.remarks import Remarks
from dashboard.poll.exclusion import ExclusionPoll
from dashboard.poll.lookup import LiveLookup
from dashboard.store.engine.engine import Store
from dashboard.store.schema.tracking import cohorts, tracked_hashes
from dashboard.store.tracking.transactions import edit_tracked, read_tracked, select_tracked
from tests.builders import A_NETWORK, HOUR, a_hash, a_record
from tests.fake_clock import FakeClock
from tests.saved_record import save_record
from tests.scripted_upstreams import ScriptedExclusion
from tests.unit.poll.exclusion_poll_scene import a_poll, evidence_of, let_pass, watch
from tests.unit.poll.test_included import asked, pass_hours, tell


@pytest.fixture
async def aged(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> ExclusionPoll:
    """Return a poll that has watched the hashes 1 to 3 for a day, together."""
    watch(store, fake_clock, 1, 2, 3)
    await pass_hours(poll, fake_clock, 24)
    await let_pass(poll, fake_clock, HOUR)
    asked(upstream)
    return poll


async def look_up(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock, *numbers: int
) -> None:
    """Ask as pages do, from another process than the poll."""
    lookup = LiveLookup(store, {A_NETWORK: upstream}, fake_clock.now, uuid4)
    await lookup.ask([a_hash(number) for number in numbers], A_NETWORK, HOUR)
    asked(upstream)


def renewals(store: Store) -> int:
    """Return how often the age of the first hash began anew."""
    query = (
        select(cohorts.c.renewals)
        .join(tracked_hashes, tracked_hashes.c.cohort_id == cohorts.c.cohort_id)
        .where(tracked_hashes.c.tx_hash == a_hash(1))
    )
    with store.read() as connection:
        return int(connection.execute(query).scalar_one())


async def test_hash_that_is_tracked_again_is_asked_at_once_and_densely_for_an_hour(
    store: Store, aged: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await aged.tick()
    assert asked(upstream) == {a_hash(1): 1}

    await let_pass(aged, fake_clock, HOUR)
    found = asked(upstream)
    assert found[a_hash(1)] > 20
    assert found.get(a_hash(2), 0) == found.get(a_hash(3), 0) <= 2

    await let_pass(aged, fake_clock, HOUR)
    assert asked(upstream).get(a_hash(1), 0) <= 2


async def test_look_up_in_another_process_reaches_the_poll_and_one_of_many_does_not(
    store: Store, aged: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    await look_up(store, upstream, fake_clock, *range(2, 30))
    await let_pass(aged, fake_clock, HOUR)
    assert asked(upstream).get(a_hash(2), 0) <= 2

    await look_up(store, upstream, fake_clock, 2)
    await let_pass(aged, fake_clock, HOUR)
    assert asked(upstream)[a_hash(2)] > 20


async def test_restart_goes_on_with_an_age_that_began_anew(
    store: Store, aged: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    await look_up(store, upstream, fake_clock, 2)
    await let_pass(aged, fake_clock, HOUR / 6)
    asked(upstream)

    await let_pass(a_poll(store, upstream, fake_clock), fake_clock, HOUR / 2)

    assert asked(upstream)[a_hash(2)] > 5


async def test_ages_begin_anew_four_times_at_most(
    store: Store, aged: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    dense = 0
    for _ in range(7):
        await look_up(store, upstream, fake_clock, 1)
        await let_pass(aged, fake_clock, HOUR)
        dense += asked(upstream).get(a_hash(1), 0) > 20

    assert dense == 4


async def test_look_up_of_what_is_in_a_block_changes_nothing(
    store: Store, aged: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    tell(store, fake_clock, 1)
    await look_up(store, upstream, fake_clock, 1)

    await let_pass(aged, fake_clock, HOUR)

    assert a_hash(1) not in asked(upstream)


@pytest.mark.parametrize("names_sender", [True, False], ids=["named", "known before"])
async def test_what_its_sender_was_just_rejected_with_makes_another_record_likelier_to_change(
    store: Store,
    aged: ExclusionPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    *,
    names_sender: bool,
) -> None:
    upstream.reject(a_record(tx_hash=a_hash(1)))
    await pass_hours(aged, fake_clock, 24)
    usual = asked(upstream).get(a_hash(1), 0)
    assert renewals(store) == 1  # by its own rejection; the same record again is no news

    watch(store, fake_clock, 4)
    record = a_record(tx_hash=a_hash(4), nonce=9)
    if not names_sender:
        with store.write() as connection:
            save_record(connection, A_NETWORK, record, fake_clock.now())
        record = replace(record, sender=None, timestamp=None)
    upstream.reject(record)
    await let_pass(aged, fake_clock, HOUR)

    assert asked(upstream)[a_hash(1)] > 4
    assert usual < 8


async def test_hash_that_is_tracked_again_after_its_window_is_watched_like_a_new_one(
    store: Store, aged: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    await pass_hours(aged, fake_clock, 7 * 24)
    asked(upstream)
    await look_up(store, upstream, fake_clock, 1)
    await let_pass(aged, fake_clock, HOUR)
    assert asked(upstream) == {}

    watch(store, fake_clock, 1)
    await let_pass(aged, fake_clock, HOUR)
    assert asked(upstream)[a_hash(1)] > 20
    await pass_hours(aged, fake_clock, 24)
    assert asked(upstream)[a_hash(1)] > 10


async def test_hashes_whose_look_up_failed_are_soon_asked_about_again_however_many(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    many = range(1, 31)
    for number in many:
        watch(store, fake_clock, number)
    await pass_hours(poll, fake_clock, 24)
    upstream.is_down = True
    await look_up(store, upstream, fake_clock, *many)
    upstream.is_down = False

    await let_pass(poll, fake_clock, timedelta(minutes=1))

    assert asked(upstream).keys() == {a_hash(number) for number in many}
    assert evidence_of(store).failing_since is None


async def test_attempt_after_the_questions_had_ended_is_asked_about_for_seven_days(
    store: Store, poll: ExclusionPoll, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    await pass_hours(poll, fake_clock, 24 * 9)
    asked(upstream)

    amend(store, fake_clock, attempted_at=fake_clock.now() - timedelta(minutes=1))
    await let_pass(poll, fake_clock, HOUR)

    assert asked(upstream)[a_hash(1)] > 20
    assert ends_in(store, fake_clock) > timedelta(days=7)


@pytest.mark.parametrize("attempted", [timedelta(minutes=5), None])
async def test_corrected_attempt_does_not_end_the_questions_of_what_is_tracked_again(
    store: Store,
    poll: ExclusionPoll,
    upstream: ScriptedExclusion,
    fake_clock: FakeClock,
    attempted: timedelta | None,
) -> None:
    watch(store, fake_clock, 1, attempted_at=fake_clock.now() - HOUR)
    await pass_hours(poll, fake_clock, 24 * 9)
    watch(store, fake_clock, 1)
    await poll.tick()
    asked(upstream)

    amend(store, fake_clock, None if attempted is None else fake_clock.now() - attempted)
    await let_pass(poll, fake_clock, HOUR)

    assert asked(upstream)[a_hash(1)] > 15
    assert ends_in(store, fake_clock) > timedelta(days=7)


def test_attempt_that_is_taken_back_leaves_the_age_of_the_tracking(
    store: Store, fake_clock: FakeClock
) -> None:
    watch(store, fake_clock, 1)
    before = ends_in(store, fake_clock)
    fake_clock.wait(HOUR)
    amend(store, fake_clock, attempted_at=fake_clock.now() - timedelta(minutes=1))

    amend(store, fake_clock, None)

    assert ends_in(store, fake_clock) == before - HOUR


def amend(store: Store, fake_clock: FakeClock, attempted_at: datetime | None) -> None:
    """Correct when the first hash was attempted."""
    with store.write() as connection:
        assert edit_tracked(connection, a_hash(1), Remarks(attempted_at), fake_clock.now())


def ends_in(store: Store, fake_clock: FakeClock) -> timedelta:
    """Return for how long the first hash will be asked about."""
    with store.read() as connection:
        [found] = read_tracked(connection, select_tracked())
    assert found.ends_at is not None
    return found.ends_at - fake_clock.now()
