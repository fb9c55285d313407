"""The machine that hypothesis drives: each step changes the store and what is to be in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeAlias
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.rebuild import wrong_derived
from tests.builders import A_MOMENT, an_id
from tests.databases import new_store
from tests.model.conditions import Conditions, check_conditions
from tests.model.coverage import Coverage, check_coverage
from tests.model.kills import Countdown, Killed
from tests.model.rejections import Archive, check_archive, check_reader, numbers_of
from tests.model.tracking import Tracking, check_tracking
from tests.unit.store.fake_machine import Machine


@dataclass
class Memory:
    """All that the store is to remember."""

    archive: Archive = field(default_factory=Archive)
    tracking: Tracking = field(default_factory=Tracking)
    conditions: Conditions = field(default_factory=Conditions)
    coverage: Coverage = field(default_factory=Coverage)


Act: TypeAlias = Callable[[Connection], Any]
"""Change the store within a transaction; return what it says."""

Expect: TypeAlias = Callable[[Memory, Any], None]
"""Change what is to be remembered alike; AssertionError where the store said something else."""


class StoreMachine(RuleBasedStateMachine):
    """What all rules share: one store, what it is to hold, the time, and the next kill."""

    DATABASE: ClassVar = "sqlite"

    def __init__(self) -> None:
        super().__init__()
        self._ends = ExitStack()
        folder = self._ends.enter_context(TemporaryDirectory(prefix="linewatch-model-"))
        self._url = self._ends.enter_context(new_store(self.DATABASE, Path(folder)))
        self.machine = Machine()
        self.store = open_store(self._url, self.machine.clock)
        self.held = Memory()
        self.now = A_MOMENT
        self.visited_at: dict[NetworkId, timedelta] = {}
        self._ids = 0
        self._kill: Countdown | None = None

    def change(self, act: Act, expect: Expect) -> None:
        """Change the store in a transaction of its own, and compare all of it with the model.

        Killed before a statement it changes nothing, killed after its commit everything.
        """
        kill, self._kill = self._kill, None
        if kill is None:
            with self.store.write() as connection:
                answer = act(connection)
        else:
            try:
                with kill.running(), self.store.write() as connection:
                    answer = act(connection)
            except Killed:
                self.begin_a_life()
                self.check(self.held)
                return
        expect(self.held, answer)
        if kill is not None:
            self.begin_a_life()
        self.check(self.held)

    def begin_a_life(self) -> None:
        """Open the store anew, as the next process does."""
        self.store.close()
        self.store = open_store(self._url, self.machine.clock)
        self.visited_at.clear()

    def check(self, held: Memory) -> None:
        """Compare the store with what it is to hold, in one reading transaction."""
        archive, tracking = held.archive, held.tracking
        with self.store.read() as connection:
            check_archive(connection, archive, self.now)
            check_tracking(connection, tracking, archive)
            check_conditions(connection, held.conditions, archive, numbers_of(connection))
            check_coverage(connection, held.coverage, self.now)
            wrong = [each.what for each in wrong_derived(connection)]
        assert not wrong, wrong
        check_reader(self.store, archive, self.now)

    def new_id(self) -> UUID:
        """Return an id that was not given yet."""
        self._ids += 1
        return an_id(self._ids)

    @rule(duration=st.sampled_from([timedelta(seconds=1), timedelta(hours=1), timedelta(days=2)]))
    def time_passes(self, duration: timedelta) -> None:
        self.now += duration
        self.machine.wait(duration)

    @rule(statements=st.integers(0, 14))
    def next_transaction_is_killed(self, statements: int) -> None:
        self._kill = Countdown(statements)

    def teardown(self) -> None:
        """Leave no store."""
        self.store.close()
        self._ends.close()


def same(found: object, expected: object) -> None:
    """Raise AssertionError where the store said something else than the model."""
    assert found == expected
