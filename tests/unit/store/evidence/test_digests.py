"""Digests are made once, of all since the one before, in the figures of pages."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from dashboard.alert.message import always
from dashboard.alert.side_tasks import Digests
from dashboard.domain.alerts.condition import DigestGrounds
from dashboard.domain.alerts.notification import DigestTime, NotificationKind
from dashboard.domain.fees.busy_spells import Spell
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.people.recipients import (
    AddressOff,
    ConfiguredRecipients,
    OffCause,
    RecipientProfile,
)
from dashboard.store.alerts.recipients import read_directory, save_profile, turn_off, turn_on
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.digests import due_digests, make_digest
from dashboard.store.fees.busy_window import save_spells
from dashboard.store.maintenance.verify import verify
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.schema import notifications
from tests.builders import A_MOMENT, A_NETWORK, DAY, HOUR
from tests.delivery_checks import DEV, reject
from tests.fake_clock import FakeClock
from tests.one_by_one import recent_notifications
from tests.recording_channel import ONCALL

NOON = DigestTime(12, 0)  # A_MOMENT is noon
KNOWN = ConfiguredRecipients((ONCALL,), {ONCALL: RecipientProfile(digest=NOON)}, zones=ZoneInfo)


@pytest.fixture
def digests(store: Store, fake_clock: FakeClock) -> Digests:
    """Return who makes digests, and made the first beginning."""
    made = Digests(store, KNOWN, [A_NETWORK], "example.org", fake_clock.now)
    made.work(always)
    return made


def made(store: Store) -> list[DigestGrounds]:
    """Return what digests were made, the oldest first."""
    with store.read() as connection:
        found = recent_notifications(connection, 100)
    of_digests = (each.transition.grounds for each in found if each.kind is NotificationKind.DIGEST)
    grounds = [each for each in of_digests if isinstance(each, DigestGrounds)]
    return sorted(grounds, key=lambda each: each.ends_at)


def test_first_time_only_begins_what_the_next_digest_is_about(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    digests.work(always)
    before = made(store)
    fake_clock.wait(DAY)
    for _ in range(2):
        digests.work(always)

    [found] = made(store)
    assert before == []
    assert (found.begins_at, found.ends_at) == (A_MOMENT, A_MOMENT + DAY)
    with store.read() as connection:
        assert list(verify(connection)) == []


def test_digest_that_nobody_made_in_time_covers_all_since_the_one_before(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    for waited in (DAY, 3 * DAY + 5 * HOUR, 60 * DAY):
        fake_clock.wait(waited)
        digests.work(always)

    lengths = [(each.ends_at - each.begins_at) // DAY for each in made(store)]
    assert lengths == [1, 3, 31]


def test_digests_go_on_after_a_clock_that_was_far_ahead_is_set_back(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    fake_clock.set_clock(40 * DAY)
    digests.work(always)  # of the time until then
    fake_clock.set_clock(HOUR - 40 * DAY)
    for _ in range(41):
        digests.work(always)
        fake_clock.wait(DAY)

    periods = [(each.begins_at - A_MOMENT, each.ends_at - A_MOMENT) for each in made(store)]
    again = [(HOUR, DAY), *((day * DAY, (day + 1) * DAY) for day in range(1, 40))]
    assert sorted(periods) == sorted([*again, (9 * DAY, 40 * DAY)])


def test_clock_that_is_set_back_a_little_doubles_no_digest(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    fake_clock.wait(DAY)
    digests.work(always)
    fake_clock.set_clock(timedelta(seconds=-10))
    for waited in (timedelta(), timedelta(seconds=10), DAY):
        fake_clock.wait(waited)
        digests.work(always)

    assert [each.ends_at - A_MOMENT for each in made(store)] == [DAY, 2 * DAY]


def test_digest_has_the_figures_of_its_time(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    def at(hours: float) -> datetime:
        return A_MOMENT + hours * HOUR

    gap = Gap(A_NETWORK, Watched.FEES, at(10), at(14), GapCause.NOT_WATCHED)
    with store.write() as connection:
        for watched in Watched:
            covered = Covered(A_NETWORK, watched, A_MOMENT - DAY, at(48))
            ended = (gap,) if watched is Watched.FEES else ()
            save_coverage(connection, None, CoverageChange(covered, ended))
        save_spells(connection, A_NETWORK, [Spell(at(2), at(4)), Spell(at(25), at(26))])
    reject(store, 1, 2, 3)
    fake_clock.wait(DAY)
    digests.work(always)

    [found] = made(store)
    [network] = found.networks
    assert (network.rejections, network.is_whole) == (3, True)
    assert network.busy == pytest.approx(2 / 20)
    assert (network.gaps, network.unwatched) == (1, 4 * HOUR)


def test_two_workers_make_one_digest(store: Store, digests: Digests, fake_clock: FakeClock) -> None:
    fake_clock.wait(DAY)
    now = fake_clock.now()
    with store.read() as connection:
        directory = read_directory(connection, KNOWN)
        due = [due_digests(connection, directory, now) for _ in range(2)]
    results = []
    for [each] in due:
        with store.write() as connection:
            results.append(
                make_digest(connection, each, directory, [A_NETWORK], now, "example.org")
            )

    assert results == [True, False]
    assert len(made(store)) == 1
    assert digests.networks == [A_NETWORK]


def test_worker_that_dies_before_it_commits_makes_the_digest_later(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    fake_clock.wait(DAY)
    now = fake_clock.now()
    with store.read() as connection:
        directory = read_directory(connection, KNOWN)
        [due] = due_digests(connection, directory, now)
    with contextlib.suppress(InterruptedError), store.write() as connection:
        assert make_digest(connection, due, directory, [A_NETWORK], now, "example.org")
        raise InterruptedError
    before = made(store)

    digests.work(always)

    assert (before, len(made(store))) == ([], 1)


def test_whoever_gets_nothing_gets_no_digest_and_none_of_that_time_later(
    store: Store, digests: Digests, fake_clock: FakeClock
) -> None:
    with store.write() as connection:
        turn_off(connection, AddressOff(ONCALL, OffCause.TURNED_OFF, A_MOMENT, "Ada"))
    fake_clock.wait(2 * DAY)
    digests.work(always)
    with store.write() as connection:
        turn_on(connection, ONCALL)
    fake_clock.wait(DAY)
    digests.work(always)

    [found] = made(store)
    assert found.begins_at == A_MOMENT + 2 * DAY


def test_digest_waits_for_the_hours_of_its_recipient_and_begins_anew_when_asked_for_again(
    store: Store, fake_clock: FakeClock
) -> None:
    wanted = RecipientProfile("Europe/Zurich", digest=DigestTime.parse("daily 13:00"))
    digests = Digests(
        store, replace(KNOWN, named=(ONCALL, DEV), profiles={}), [], "example.org", fake_clock.now
    )
    for profile in (wanted, RecipientProfile(), wanted):
        with store.write() as connection:
            save_profile(connection, DEV, profile)
        digests.work(always)
        fake_clock.wait(DAY)
    digests.work(always)

    [found] = made(store)
    assert found.begins_at == A_MOMENT + 2 * DAY
    with store.read() as connection:
        [row] = connection.execute(select(notifications)).all()
    assert (row.address, row.members) == (DEV.address, 0)
