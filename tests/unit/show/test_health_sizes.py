"""Health says how the store grows, and asks for a look before its disk is full."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.health import (
    Health,
    NotificationHealth,
    StorageHealth,
    WorkerHealth,
    growth,
    until_full,
)
from dashboard.application.health_troubles import health_troubles
from dashboard.domain.health.retention import ClockJump, StoreSize
from dashboard.show.parts.health_cards import store_part, worker_part
from dashboard.store.alerts.alert_status import NotificationCounts
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import Holder
from dashboard.store.engine.replica import ReplicaState
from dashboard.store.health import MailState, StoreSpace
from dashboard.store.monitoring.upkeep import record_size
from tests.browser.seeded_store import SILENT, SIMULATED
from tests.unit.show.page_runs import visit, visit_in, with_blanks, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
A_WORKER = WorkerHealth({"worker": Holder("host/1/x", 1)})
NO_NOTIFICATIONS = NotificationHealth(MailState(NotificationCounts(0, None, 0, None, 0)))


def a_size(days_ago: int, octets: int) -> StoreSize:
    """Return what was measured so many days ago."""
    return StoreSize(NOW - days_ago * DAY, octets)


def test_page_shows_how_the_store_grows(store: Store) -> None:
    with store.write() as connection:
        record_size(connection, a_size(10, 100_000_000))
        record_size(connection, a_size(0, 120_000_000))

    words = words_of(visit("health", Application(store, (SIMULATED, SILENT), None, lambda: NOW)))

    assert "+2.0 MB a day" in words
    assert "Free on its disk" in words


def test_page_without_a_measurement_shows_no_growth(store: Store) -> None:
    words = words_of(visit("health", Application(store, (SIMULATED, SILENT), None, lambda: NOW)))

    assert "Grows by" not in words


@pytest.mark.parametrize(("free", "is_short"), [(13, True), (15, False)])
def test_disk_that_is_full_soon_needs_a_look(free: int, is_short: bool) -> None:  # noqa: FBT001 - a column of the table
    measured = StoreSize(NOW, 500, 10.0, free_on_disk=free * 10)
    storage = StorageHealth(StoreSpace(measured))
    health = Health((), A_WORKER, NO_NOTIFICATIONS, storage)

    said = [f"The disk of the store is full in {free} days."] if is_short else []
    assert [each.headline for each in health_troubles(health, NOW)] == said
    assert ("Disk short" in str(store_part(storage, None, "The store x"))) == is_short


@pytest.mark.parametrize(
    ("of_day", "said"), [(1_500_000.0, "+1.5 MB a day"), (-12.4, "-12 bytes a day")]
)
def test_growth_is_said_with_its_sign(of_day: float, said: str) -> None:
    assert growth(of_day) == said


@pytest.mark.parametrize(("days", "said"), [(30, "30 days"), (3651, "over ten years")])
def test_disk_that_suffices_is_said_to(days: int, said: str) -> None:
    assert until_full(days * DAY) == said


def test_clock_that_leapt_ahead_needs_a_look_and_says_what_follows() -> None:
    leap = ClockJump(NOW - 3650 * DAY, NOW)
    storage = StorageHealth(StoreSpace(clock_jump=leap))
    health = Health((), A_WORKER, NO_NOTIFICATIONS, storage)

    [said] = health_troubles(health, NOW)
    assert said.headline == "The clock jumped ahead by 3650 days."
    assert "Set the clock." in said.advice
    assert "Clock ahead" in store_part(storage, None, "The store x")


def test_clock_ahead_of_what_is_stored_shows_on_the_page(store: Store) -> None:
    with store.write() as connection:
        record_size(connection, a_size(40, 1))

    words = words_of(visit("health", Application(store, (SIMULATED, SILENT), None, lambda: NOW)))

    assert "Clock ahead" in words


@pytest.mark.parametrize(
    ("free", "said"),
    [
        (
            199,
            [
                "Low disk space: 199 bytes free on the disk of the store.",
                "Worker status unknown: the disk may be too full to record it.",
            ],
        ),
        (200, ["Monitoring stopped: the worker is not running."]),
        (None, ["Monitoring stopped: the worker is not running."]),
    ],
)
def test_lease_that_ran_out_proves_nothing_while_space_is_low(
    free: int | None, said: list[str]
) -> None:
    storage, worker = StorageHealth(StoreSpace(free_on_disk=free), 200), WorkerHealth({})
    health = Health((), worker, NO_NOTIFICATIONS, storage)

    assert [each.headline for each in health_troubles(health, NOW)] == said
    part = worker_part(worker, "0.1.0", NOW, is_space_low=storage.is_space_low)
    assert ("Not running" in part) is not storage.is_space_low


@pytest.mark.parametrize("page", ["overview", "health"])
@pytest.mark.parametrize("low_space", [0, 2**62])
def test_page_tells_early_that_space_is_low(store: Store, page: str, low_space: int) -> None:
    queries = Application(
        store, (SIMULATED, SILENT), None, lambda: NOW, settings=PageSettings(low_space)
    )

    words = words_of(visit_in(None, page, queries, {"attention-all": True}))

    assert ("when it is full nothing more is stored" in words) is bool(low_space)


@pytest.mark.parametrize(
    ("behind", "shown", "said"),
    [
        (0.3, "answers, at most 2 s behind", []),
        (2.5, "not used; the primary answers", ["The replica is not used: the primary answers."]),
        (None, "not used; the primary answers", ["The replica is not used: the primary answers."]),
    ],
)
def test_replica_is_shown_with_its_bound_or_as_not_used(
    behind: float | None, shown: str, said: list[str]
) -> None:
    known = None if behind is None else timedelta(seconds=behind)
    replica = ReplicaState(timedelta(seconds=2), known, "The store x is cut off" if said else "")
    storage = StorageHealth(StoreSpace(), replica=replica)

    troubles = health_troubles(Health((), A_WORKER, NO_NOTIFICATIONS, storage), NOW)

    assert shown in with_blanks(store_part(storage, None, "The store x"))
    assert [each.headline for each in troubles] == said
    assert [each.text for each in troubles] == ["The store x is cut off."] * len(said)
