"""Low space on the disk of the store is told once, while it lasts long enough, and its end too."""

from __future__ import annotations

from uuid import uuid4

import pytest
from msgspec.structs import replace

from dashboard.detect.start_and_end_of_conditions import ConditionRules
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.poll.lease import LeaseLost
from dashboard.poll.measured_rules import DiskSpace
from dashboard.store.engine.engine import Store
from tests.builders import seconds
from tests.fake_clock import FakeClock
from tests.unit.poll.condition_scene import a_term, told

MORE_THAN_ANY_DISK = 2**62
DISK = Subject(SubjectKind.DISK, INSTALLATION)
RULES = ConditionRules()


def watch_for(store: Store, fake_clock: FakeClock, least: int, minutes: int) -> None:
    """Look every ten seconds."""
    term = a_term(store, fake_clock)
    disk = DiskSpace(store, least, RULES, fake_clock.clocks, uuid4)
    for _ in range(6 * minutes):
        fake_clock.wait(seconds(10))
        disk.measure(term)


@pytest.mark.parametrize("database", ["sqlite"])
def test_low_space_is_told_once_and_so_is_its_end(store: Store, fake_clock: FakeClock) -> None:
    watch_for(store, fake_clock, 0, minutes=1)
    watch_for(store, fake_clock, MORE_THAN_ANY_DISK, minutes=10)
    watch_for(store, fake_clock, 0, minutes=10)

    assert [(each.subject, each.after) for each in told(store)] == [
        (DISK, State.LOW_ON_SPACE),
        (DISK, State.ENOUGH_SPACE),
    ]


def test_worker_that_lost_its_lease_concludes_nothing(store: Store, fake_clock: FakeClock) -> None:
    term = a_term(store, fake_clock)
    disk = DiskSpace(store, MORE_THAN_ANY_DISK, RULES, fake_clock.clocks, uuid4)

    with pytest.raises(LeaseLost):
        disk.measure(replace(term, token=term.token + 1))

    assert told(store) == []
