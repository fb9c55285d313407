"""Watch the disk of the store, so that people are notified while something can still be stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from dashboard.detect.condition_start_end import ConditionRules, Reading
from dashboard.domain.condition import INSTALLATION, SubjectKind
from dashboard.domain.grounds import SpaceGrounds
from dashboard.poll.clocks import Clocks, SetClock
from dashboard.poll.conditions import StoredConditions
from dashboard.poll.lease import Term
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.sizes import free_space


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The disk of the store during one term; fewer bytes free than `least` are too few."""

    store: Store
    least: int
    rules: ConditionRules
    clocks: Clocks
    new_id: Callable[[], UUID]
    set_clock: SetClock = field(init=False)

    def __post_init__(self) -> None:
        """Take the clock for right as it is now."""
        object.__setattr__(self, "set_clock", SetClock(self.clocks))

    def look(self, term: Term) -> None:
        """Conclude whether space is low; nothing where the database does not say."""
        self.set_clock.look()
        with self.store.write() as connection:
            term.check(connection)
            free = free_space(connection).on_disk
            if free is None:
                return
            grounds = SpaceGrounds(free, self.least)
            reading = Reading(free < self.least, self.clocks.now(), grounds=grounds)
            stored = StoredConditions(INSTALLATION, self.rules, self.new_id, self.set_clock)
            with stored.concluding(connection, SubjectKind.DISK) as conclusions:
                conclusions.conclude(SubjectKind.DISK, reading)
