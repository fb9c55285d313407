"""The machine that hypothesis drives: each step changes the store and what is to be in it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Flag, auto
from typing import Any, Final, TypeAlias
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from dashboard.domain.alerts.notification import Notification
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from tests.builders import A_MOMENT, an_id
from tests.model.access import Keys, Leases, Ledger, Senders
from tests.model.alerting import Alerting
from tests.model.audit_log import Log
from tests.model.coverage import Coverage
from tests.model.fees import Fees
from tests.model.kills import EVERY, Kill, Lives, Place, StoreMaker, Turn
from tests.model.rejections import Archive
from tests.model.tracking import Tracking
from tests.unit.store.fake_machine import Machine

_NOTHING: Final = object()
_ALWAYS: Final = frozenset({Place.AFTER_COMMIT})
_PERHAPS: Final = frozenset({Place.AFTER_COMMIT, Place.WITHIN_COMMIT})


class Part(Flag):
    """What a change may touch, and is compared after it."""

    ARCHIVE = auto()
    TRACKING = auto()
    ALERTING = auto()
    OFFICE = auto()
    FEES = auto()
    KEYS = auto()
    SENDERS = auto()
    COVERAGE = auto()
    CREDITS = auto()
    AUDIT = auto()


ALL: Final = ~Part(0)


@dataclass
class Memory:
    """All that the store is to remember."""

    archive: Archive = field(default_factory=Archive)
    tracking: Tracking = field(default_factory=Tracking)
    alerting: Alerting = field(default_factory=Alerting)
    leases: Leases = field(default_factory=Leases)
    fees: Fees = field(default_factory=Fees)
    keys: Keys = field(default_factory=Keys)
    senders: Senders = field(default_factory=Senders)
    coverage: Coverage = field(default_factory=Coverage)
    ledger: Ledger = field(default_factory=Ledger)
    log: Log = field(default_factory=Log)


Act: TypeAlias = Callable[[Connection], Any]
"""Change the store within a transaction; return what it says."""

Expect: TypeAlias = Callable[[Memory, Any], None]
"""Change what is to be remembered alike; AssertionError where the store said something else."""


class StoreMachine(RuleBasedStateMachine):
    """What all rules share: one store, what it is to hold, the time, and the next kill."""

    def __init__(self, ground: StoreMaker) -> None:
        """Begin with an empty store."""
        super().__init__()
        self.machine = Machine()
        self.lives = Lives(*ground.fresh(), self.machine.clock)
        self.held = Memory()
        self.now = A_MOMENT
        self.hands: list[Notification] = []
        self.looked_at: dict[NetworkId, timedelta] = {}
        self._ids = 0
        self._kill: Kill | None = None
        self._grouped: list[tuple[Act, Expect]] = []
        self._to_group = 1
        self._touched = Part(0)
        self.is_sound = True
        self._checks = 0

    def change(self, act: Act, expect: Expect, touched: Part) -> None:
        """Change the store in a transaction of its own, or of several changes.

        What is touched is compared afterwards; after a kill everything is.
        """
        self.is_sound = False
        self._grouped.append((act, expect))
        self._touched |= touched
        if len(self._grouped) < self._to_group:
            return
        together, self._grouped, self._to_group = self._grouped, [], 1
        kill, self._kill = self._kill, None
        said: list[Any] = []
        self.lives.run(lambda connection: said.extend(act(connection) for act, _ in together), kill)
        outcomes = self._outcomes(together, said, kill)
        if kill is not None:
            self.hands.clear()
            self.looked_at.clear()
            self._touched = ALL
        self._check_any(outcomes)
        self._touched, self.is_sound = Part(0), True

    def check(self, held: Memory, parts: Part, turn: Turn) -> None:
        """Compare parts of the store with what it is to hold."""
        raise NotImplementedError

    @property
    def is_grouping(self) -> bool:
        """Whether other changes come before the next one, in the same transaction."""
        return bool(self._grouped)

    def new_id(self) -> UUID:
        """Return an id that was not given yet."""
        self._ids += 1
        return an_id(self._ids)

    def moment(self) -> datetime:
        """Return a moment that was not given yet."""
        self.now += timedelta(milliseconds=1)
        return self.now

    @rule(duration=st.sampled_from([timedelta(seconds=1), timedelta(hours=1), timedelta(days=2)]))
    def time_passes(self, duration: timedelta) -> None:
        self.now += duration
        self.machine.wait(duration)

    @rule(
        place=st.sampled_from(Place),
        statements=st.integers(0, 12),
        share=st.sampled_from([0.0, 0.3, 0.9, 0.999]),
    )
    def next_transaction_is_killed(self, place: Place, statements: int, share: float) -> None:
        self._kill = Kill(place, statements, share)

    @rule(number=st.integers(2, 3))
    def next_changes_come_together(self, number: int) -> None:
        self._to_group = max(number, len(self._grouped) + 1)

    def teardown(self) -> None:
        """Compare everything once more, unless something else went wrong already."""
        try:
            if self.is_sound:
                self.check(self.held, ALL, EVERY)
        finally:
            self.lives.close()

    def _check_any(self, outcomes: list[Memory]) -> None:
        """See that the store holds all of one of these, and go on with that."""
        self._checks += 1
        turn = Turn(self._checks)
        for each in outcomes[:-1]:
            try:
                self.check(each, self._touched, turn)
            except AssertionError:
                continue
            self.held = each
            return
        self.held = outcomes[-1]
        self.check(self.held, self._touched, turn)

    def _outcomes(
        self, together: list[tuple[Act, Expect]], said: list[Any], kill: Kill | None
    ) -> list[Memory]:
        """Return what the store may hold now: all or nothing, and which where that is known."""
        if len(said) < len(together) or (kill is not None and kill.place not in _PERHAPS):
            return [self.held]
        after = self.held if kill is None else deepcopy(self.held)
        for (_, expect), each in zip(together, said, strict=True):
            expect(after, each)
        is_uncertain = kill is not None and kill.place not in _ALWAYS
        return [self.held, after] if is_uncertain else [after]
