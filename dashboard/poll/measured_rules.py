"""Measure what rules measure, from the store alone, and write what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from dashboard.detect.rule_measures import (
    HeldConditions,
    MeasuredChange,
    conclude_fees,
    conclude_measured,
    end_without_rule,
    unmeasured,
    without_silent,
)
from dashboard.domain.condition import Condition, Subject
from dashboard.domain.rule import FeeMeasure, Rule, RuleKind, subject_kinds
from dashboard.poll.clocks import Clocks, SetClock
from dashboard.poll.lease import Term
from dashboard.poll.rule_reader import RuleReader
from dashboard.store.alerts.conditions import (
    measured_conditions,
    record_transition,
    set_turning_since,
)
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.alerts.silent_sources import silent_sources
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store

_KINDS: Final = tuple(
    subject for kind in RuleKind if kind.is_measured for subject in subject_kinds(kind)
)
_REST: Final = 50
"""After a look that took long, the next one waits so many times as long."""


@dataclass(slots=True)
class MeasuredRules:
    """What rules measure during one term; nothing is written unless something changes."""

    store: Store
    reader: RuleReader
    clocks: Clocks
    new_id: Callable[[], UUID]
    _set_clock: SetClock = field(init=False)
    _next_at: timedelta = field(init=False, default=timedelta())

    def __post_init__(self) -> None:
        """Take the clock for right as it is now."""
        self._set_clock = SetClock(self.clocks)

    def look(self, term: Term) -> None:
        """Conclude what every rule measures; raises StoreError, or LeaseLost."""
        began = self.clocks.elapsed()
        if began < self._next_at:
            return
        self._set_clock.look()
        with self.store.read() as connection:
            changes = list(self._changes(connection))
        if changes:
            with self.store.write() as connection:
                term.check(connection)
                for change in changes:
                    _write(connection, change)
        self._next_at = began + _REST * (self.clocks.elapsed() - began)

    def _changes(self, connection: Connection) -> Iterator[MeasuredChange]:
        rules = [each for each in rules_in_force(connection) if _is_measured(each)]
        held = self._trusted(measured_conditions(connection, _KINDS))
        now = self.clocks.now()
        silent = {
            each.network_id
            for each in silent_sources(connection, now)
            if each.mutes(RuleKind.REJECTION_RATE)
        }
        read: set[Subject] = set()
        for rule in rules:
            if isinstance(rule.measure, FeeMeasure):
                for subject, states, grounds in self.reader.fees(
                    connection, rule, rule.measure, held, now, self._set_clock.trusted
                ):
                    read.add(subject)
                    before = held.get(subject)
                    yield from conclude_fees(subject, before, states, grounds, now, self.new_id)
                continue
            readings = self.reader.read(connection, rule, now)
            readings |= unmeasured(readings, held, rule, now)
            readings = without_silent(readings, silent)
            read |= readings.keys()
            yield from conclude_measured(rule, readings, held, self.new_id)
        for subject in held.keys() - read:
            ended = end_without_rule(subject, held[subject], now, self.new_id)
            if ended.changes_stored:
                yield ended

    def _trusted(self, held: HeldConditions) -> HeldConditions:
        """Return conditions with no `turning_since` from before the clock was set."""
        trusted = self._set_clock.trusted
        return {
            subject: each
            if each.turning_since is None
            else replace(each, turning_since=trusted(each.turning_since))
            for subject, each in held.items()
        }


def _is_measured(rule: Rule) -> bool:
    return rule.is_enabled and rule.kind.is_measured


def _write(connection: Connection, change: MeasuredChange) -> None:
    if change.conclusion.transition is not None:
        record_transition(connection, change.conclusion.transition, None)
    condition: Condition | None = change.conclusion.condition
    if condition is not None and condition.turning_since is not None:
        set_turning_since(connection, change.subject, condition.turning_since)
    elif change.conclusion.transition is None:
        set_turning_since(connection, change.subject, None)
