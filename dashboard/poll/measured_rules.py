"""Measure what rules are about, from the store alone, and write what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dashboard.detect.rule_measures import (
    HeldConditions,
    conclude_fees,
    conclude_measured,
    end_without_rule,
    unmeasured,
    without_outages,
)
from dashboard.detect.start_and_end_of_conditions import Conclusion, ConditionRules, spell_state
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    Condition,
    Reading,
    Readings,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.kinds.coverage import REPORTED_AFTER_END, read_gaps, read_worker
from dashboard.domain.alerts.kinds.credit_budget import CreditMeasure, read_credits
from dashboard.domain.alerts.kinds.delivery import read_bounces, read_deliveries
from dashboard.domain.alerts.kinds.disk import SpaceGrounds
from dashboard.domain.alerts.kinds.expiry import ExpiryGrounds, ExpiryMeasure, read_expiries
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds, FeeMeasure
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure, read_rates
from dashboard.domain.alerts.kinds.table import KINDS, subject_kinds
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.fees.busy_spells import HoldPeriods, SpellState, longest_pause, states_of
from dashboard.domain.quantity import NetworkId
from dashboard.poll.lease import Clocks, SetClock, Term
from dashboard.poll.network_conditions import StoredConditions
from dashboard.store.access.api_keys import keys_ending
from dashboard.store.alerts.alert_status import failing_deliveries, source_outages
from dashboard.store.alerts.conditions import (
    measured_conditions,
    record_transition,
    set_turning_since,
)
from dashboard.store.alerts.recipients import bounced_addresses
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.busy_context import SERIES
from dashboard.store.fees.stored_fees import SeriesKey, fees_answered_at, fees_beside_limit
from dashboard.store.health import mail_trouble
from dashboard.store.monitoring.coverage import gaps, gaps_without_worker
from dashboard.store.monitoring.upkeep import free_space, spent_since
from dashboard.store.rejections.rates import count_arrivals

_TRUSTED_FOR: Final = timedelta(days=1)
"""After this long without a connection the certificate may be another one."""

_MOMENT: Final = timedelta(milliseconds=1)
_KINDS: Final = tuple(
    subject for kind in RuleKind if KINDS[kind].is_measured for subject in subject_kinds(kind)
)
_REST: Final = 50
"""After a slow round, the next one waits this many times as long."""

_LONGEST_REST: Final = timedelta(minutes=1)
"""A busy machine may delay one round by seconds; what rules look for may be over soon."""


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The disk of the store during one term; fewer free bytes than `least` are too few."""

    store: Store
    least: int
    rules: ConditionRules
    clocks: Clocks
    new_id: Callable[[], UUID]
    set_clock: SetClock = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "set_clock", SetClock(self.clocks))

    def measure(self, term: Term) -> None:
        """Conclude whether space is low; nothing if the database does not say."""
        self.set_clock.check()
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


class _SeenCertificate(NamedTuple):
    """A certificate as it was last seen."""

    ends_at: datetime
    seen_at: datetime


class PeerCertificates(Struct, frozen=True):
    """Certificates seen at the servers that are asked; no connection is made for this.

    `names` has what people call each host. `take_seen` returns what was seen since its last call:
    when the certificate of each host ends.
    """

    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    take_seen: Callable[[], Mapping[str, datetime]] = dict
    _last: dict[str, _SeenCertificate] = msgspec.field(default_factory=dict)

    def update(self, now: datetime) -> None:
        """Add what was seen since the last call."""
        for host, ends_at in self.take_seen().items():
            self._last[host] = _SeenCertificate(ends_at, now)

    def ending(self, now: datetime, within: timedelta) -> Iterator[tuple[str, datetime]]:
        """Yield the certificates that end soon, or ended, as they were last seen."""
        for host, name in self.names.items():
            last = self._last.get(host)
            if last and last.ends_at <= min(now, last.seen_at + _TRUSTED_FOR) + within:
                yield name, last.ends_at

    def unseen(self) -> list[str]:
        """Return the servers to which this process has not connected, so that nobody knows."""
        return [name for host, name in self.names.items() if host not in self._last]


class RuleReader(Struct, frozen=True):
    """Reads for the networks of a worker; `with_fees` says how often fees are asked for, if at all.

    `certificates` are names of certificates in use, and when each ends; `peers` are those of
    servers that are asked.
    """

    networks: Sequence[NetworkId]
    with_fees: Mapping[NetworkId, timedelta]
    certificates: Sequence[tuple[str, datetime]] = ()
    peers: PeerCertificates = msgspec.field(default_factory=PeerCertificates)

    def read(self, connection: Connection, rule: Rule, now: datetime) -> Readings:
        """Return what a rule measures now; nothing for a rule about fees, which `fees` reads."""
        match rule.kind, rule.measure:
            case RuleKind.REJECTION_RATE, RateMeasure() as rate:
                counts = count_arrivals(connection, rule.scope, rate.by, now - rate.window, now)
                return read_rates(rule.name, rate, counts, now)
            case RuleKind.CREDITS_SHORT, CreditMeasure() as budget:
                spent = spent_since(connection, budget.per.begin(now))
                return read_credits(
                    rule.name, budget, sum(each.spent.credits for each in spent), now
                )
            case RuleKind.EXPIRY, ExpiryMeasure() as expiry:
                self.peers.update(now)
                unknown = [_of_server(each) for each in self.peers.unseen()]
                return read_expiries(rule.name, self._ending(connection, expiry, now), now, unknown)
            case RuleKind.DELIVERY_FAILING, _:
                failing = read_deliveries(rule.name, failing_deliveries(connection), now)
                return failing | read_bounces(rule.name, bounced_addresses(connection), now)
            case RuleKind.COVERAGE_GAP | RuleKind.WORKER_SILENT, _:
                return self._gaps(connection, rule, now)
            case _:
                return {}

    def _gaps(self, connection: Connection, rule: Rule, now: datetime) -> Readings:
        """Read the gaps that may still be reported."""
        since = now - REPORTED_AFTER_END
        if rule.kind is RuleKind.WORKER_SILENT:
            return read_worker(rule, gaps_without_worker(connection, self.networks, since), now)
        return read_gaps(rule, gaps(connection, self.networks, since), self.networks, now)

    def _ending(
        self, connection: Connection, expiry: ExpiryMeasure, now: datetime
    ) -> Iterator[ExpiryGrounds]:
        """Yield what ends soon: certificates that ended as well, keys only while they are valid."""
        until = now + expiry.within
        for name, ends_at in keys_ending(connection, now, until):
            yield ExpiryGrounds(f"key {name}", ends_at)
        for name, ends_at in self.certificates:
            if ends_at <= until:
                yield ExpiryGrounds(f"certificate {name}", ends_at)
        for name, ends_at in self.peers.ending(now, expiry.within):
            yield ExpiryGrounds(_of_server(name), ends_at)

    def fees(
        self,
        connection: Connection,
        rule: Rule,
        limit: FeeMeasure,
        held: HeldConditions,
        now: datetime,
        trusted: Callable[[datetime], datetime],
    ) -> Iterator[tuple[Subject, Sequence[SpellState], FeeLimitGrounds | None]]:
        """Yield, for each network of a rule, the states to which its stored fees led.

        They are read from so far back that earlier ones change nothing. `trusted` leaves out those
        from before the clock was set. Without any fee there is no state.
        """
        holds = HoldPeriods(rule.pending, rule.keep_firing)
        for network_id in rule.scope.networks or self.with_fees:
            subject = Subject.of_rule(SubjectKind.FEE_LIMIT, rule.name, network_id=network_id)
            pause = longest_pause(self.with_fees.get(network_id, timedelta()))
            before = held.get(subject)
            start = now - max(rule.pending, rule.keep_firing) - pause
            begin = fees_answered_at(connection, network_id, _earlier(before, start)) or start
            between = trusted(_no_earlier(before, begin)), now
            key = SeriesKey(network_id, SERIES[limit.signal])
            found = fees_beside_limit(connection, key, limit, between, pause)
            if not found:
                yield subject, (), None
                continue
            state = spell_state(before, found[0].value.at)
            begun = None if state is None else replace(state, turning_since=None)
            states = list(states_of(begun, (each.value for each in found), holds, pause))
            if now - states[-1].seen_at > pause:
                states.append(states[-1].unseen())
            grounds = FeeLimitGrounds(limit.signal, found[-1].fee, limit.limit, limit.is_upper)
            yield subject, states, grounds


def _unproven(connection: Connection, readings: Readings, held: HeldConditions) -> Readings:
    """Return None for channels that fail and have accepted nothing since, with nothing pending.

    What was pending is dead, or its address is off.
    """
    ended = [
        subject
        for subject, reading in readings.items()
        if subject.kind is SubjectKind.DELIVERY
        and reading is not None
        and not reading.is_trouble
        and held[subject].state.is_open
    ]
    return {each: None for each in ended if mail_trouble(connection, each.dimension) is not None}


def _of_server(name: str) -> str:
    return f"certificate of {name}"


def _earlier(held: Condition | None, at: datetime) -> datetime:
    """Return a moment not after the first value that may turn the current state."""
    return at if held is None or held.turning_since is None else min(at, held.turning_since)


def _no_earlier(held: Condition | None, at: datetime) -> datetime:
    """Return a moment from which on values say whether the current state still holds."""
    if held is None:
        return at
    return max(at, held.since + _MOMENT if held.state is State.UNKNOWN else held.since)


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
        self._set_clock = SetClock(self.clocks)

    def measure(self, term: Term) -> None:
        """Conclude what every rule measures; raises StoreError, or LeaseLost."""
        began = self.clocks.elapsed()
        if began < self._next_at:
            return
        self._set_clock.check()
        with self.store.read() as connection:
            changes = list(self._changes(connection))
        if changes:
            with self.store.write() as connection:
                term.check(connection)
                for change in changes:
                    _write(connection, change)
        self._next_at = began + min(_REST * (self.clocks.elapsed() - began), _LONGEST_REST)

    def _changes(self, connection: Connection) -> Iterator[Conclusion]:
        rules = [
            each
            for each in rules_in_force(connection)
            if each.is_enabled and KINDS[each.kind].is_measured
        ]
        held = self._trusted(measured_conditions(connection, _KINDS))
        now = self.clocks.now()
        outages = {
            each.network_id
            for each in source_outages(connection, now)
            if each.inhibits(RuleKind.REJECTION_RATE)
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
            readings = without_outages(readings, outages)
            readings |= _unproven(connection, readings, held)
            read |= readings.keys()
            yield from conclude_measured(rule, readings, held, self.new_id)
        for subject in held.keys() - read:
            ended = end_without_rule(subject, held[subject], now, self.new_id)
            if ended.changes_stored:
                yield ended

    def _trusted(self, held: HeldConditions) -> HeldConditions:
        """Return conditions without a `turning_since` from before the clock was set."""
        trusted = self._set_clock.trusted
        return {
            subject: each
            if each.turning_since is None
            else replace(each, turning_since=trusted(each.turning_since))
            for subject, each in held.items()
        }


def _write(connection: Connection, change: Conclusion) -> None:
    if change.transition is not None:
        record_transition(connection, change.transition, None)
    if change.transition is None or change.turning_since is not None:
        set_turning_since(connection, change.subject, change.turning_since)
