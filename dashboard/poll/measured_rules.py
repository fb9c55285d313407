"""Measure what rules measure: rates of rejections and limits of fees, from the store alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from dashboard.detect.rule_measures import (
    HeldConditions,
    MeasuredChange,
    Readings,
    conclude_measured,
    end_without_rule,
    read_fee_limit,
    read_rates,
    unmeasured,
)
from dashboard.domain.condition import Condition, State, Subject, SubjectKind
from dashboard.domain.gas import GasSource, SuggestedGasFees
from dashboard.domain.grounds import Signal
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.rule import FeeMeasure, RateMeasure, Rule
from dashboard.poll.clocks import Clocks, SetClock
from dashboard.poll.lease import Term
from dashboard.store.alerts.conditions import (
    current_state,
    measured_conditions,
    record_transition,
    set_turning_since,
)
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.gas import Dated, latest_fees
from dashboard.store.rejections.rates import count_arrivals

_KINDS: Final = (SubjectKind.REJECTION_RATE, SubjectKind.FEE_LIMIT)
_REST: Final = 50
"""After a look that took long, the next one waits so many times as long."""


@dataclass(slots=True)
class MeasuredRules:
    """What rules measure during one term; `networks` are those whose fees are watched.

    Nothing is written unless something changes.
    """

    store: Store
    networks: Sequence[NetworkId]
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
        read: set[Subject] = set()
        for rule in rules:
            readings = self._read(connection, rule, now)
            readings |= unmeasured(readings, held, rule, now)
            read |= readings.keys()
            yield from conclude_measured(rule, readings, held, self.new_id)
        for subject in held.keys() - read:
            ended = end_without_rule(subject, held[subject], now, self.new_id)
            if ended.changes_stored:
                yield ended

    def _read(self, connection: Connection, rule: Rule, now: datetime) -> Readings:
        readings: Readings = {}
        match rule.measure:
            case RateMeasure() as rate:
                counts = count_arrivals(connection, rule.scope, rate.by, now - rate.window, now)
                readings |= read_rates(rule, rate, counts, now)
            case FeeMeasure() as limit:
                for network_id in rule.scope.networks or self.networks:
                    found = _known_fees(connection, network_id, now)
                    fee = None if found is None else _fee(limit.signal, found.value)
                    at = now if found is None else found.asked_at
                    readings |= read_fee_limit(rule, limit, network_id, fee, at)
            case None:
                pass
        return readings

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


def _known_fees(
    connection: Connection, network_id: NetworkId, now: datetime
) -> Dated[SuggestedGasFees] | None:
    """Return the latest fees; None where they are stale, or their source is silent."""
    found = latest_fees(connection, network_id, now)
    if found is None or _state(connection, SubjectKind.FEES, network_id) is State.STALE:
        return None
    is_silent = _state(connection, SubjectKind.GAS_API, network_id) is State.SILENT
    return None if is_silent and found.source is not GasSource.NODE_INSTEAD else found


def _state(connection: Connection, kind: SubjectKind, network_id: NetworkId) -> State | None:
    return current_state(connection, Subject(kind, network_id))


def _fee(signal: Signal, fees: SuggestedGasFees) -> Wei:
    if signal is Signal.BASE_FEE:
        return fees.estimated_base_fee
    return fees.medium.suggested_max_priority_fee_per_gas


def _write(connection: Connection, change: MeasuredChange) -> None:
    if change.conclusion.transition is not None:
        record_transition(connection, change.conclusion.transition, None)
    condition: Condition | None = change.conclusion.condition
    if condition is not None and condition.turning_since is not None:
        set_turning_since(connection, change.subject, condition.turning_since)
    elif change.conclusion.transition is None:
        set_turning_since(connection, change.subject, None)
