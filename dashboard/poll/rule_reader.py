"""Read from the store what each rule measures: one short question for each kind of rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dashboard.detect.rule_measures import (
    REPORTED_AFTER_END,
    Readings,
    read_credits,
    read_deliveries,
    read_expiries,
    read_fee_limit,
    read_gaps,
    read_rates,
    read_worker,
)
from dashboard.domain.condition import State, Subject, SubjectKind
from dashboard.domain.coverage import Gap
from dashboard.domain.gas import GasSource, SuggestedGasFees
from dashboard.domain.grounds import ExpiryGrounds, Signal
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.rule import (
    BudgetPeriod,
    CreditMeasure,
    ExpiryMeasure,
    FeeMeasure,
    RateMeasure,
    Rule,
    RuleKind,
)
from dashboard.poll.peer_certificates import PeerCertificates
from dashboard.store.access.api_keys import keys_ending
from dashboard.store.alerts.conditions import current_state
from dashboard.store.alerts.failing_deliveries import failing_deliveries
from dashboard.store.engine.connection import Connection
from dashboard.store.gas import Dated, latest_fees
from dashboard.store.monitoring.coverage import gaps
from dashboard.store.monitoring.credits import spent_since
from dashboard.store.rejections.rates import count_arrivals


@dataclass(frozen=True, slots=True)
class RuleReader:
    """Reads for the networks of a worker; `with_fees` are those whose fees are watched.

    `certificates` are names of certificates in use, and when each ends; `peers` are those of
    servers that are asked.
    """

    networks: Sequence[NetworkId]
    with_fees: Sequence[NetworkId]
    certificates: Sequence[tuple[str, datetime]] = ()
    peers: PeerCertificates = field(default_factory=PeerCertificates)

    def read(self, connection: Connection, rule: Rule, now: datetime) -> Readings:
        """Return what a rule measures now."""
        match rule.measure:
            case RateMeasure() as rate:
                since = now - rate.window
                counts = count_arrivals(connection, rule.scope, rate.by, since, now)
                return read_rates(rule, rate, counts, now)
            case FeeMeasure() as limit:
                return self._read_fees(connection, rule, limit, now)
            case CreditMeasure() as budget:
                spent = spent_since(connection, _begin_of(budget.per, now))
                credits_ = sum(each.spent.credits for each in spent)
                return read_credits(rule, budget, credits_, now)
            case ExpiryMeasure() as expiry:
                self.peers.look(now)
                unknown = [_of_server(each) for each in self.peers.unseen()]
                return read_expiries(rule, self._ending(connection, expiry, now), now, unknown)
            case None:
                return self._read_unmeasured(connection, rule, now)

    def _read_unmeasured(self, connection: Connection, rule: Rule, now: datetime) -> Readings:
        """Read of a rule without figures of its own."""
        if rule.kind is RuleKind.COVERAGE_GAP:
            return read_gaps(rule, self._late_gaps(connection, now), self.networks, now)
        if rule.kind is RuleKind.WORKER_SILENT:
            return read_worker(rule, self._late_gaps(connection, now), now)
        if rule.kind is RuleKind.DELIVERY_FAILING:
            return read_deliveries(rule, failing_deliveries(connection), now)
        return {}

    def _late_gaps(self, connection: Connection, now: datetime) -> list[Gap]:
        return gaps(connection, self.networks, now - REPORTED_AFTER_END)

    def _read_fees(
        self, connection: Connection, rule: Rule, limit: FeeMeasure, now: datetime
    ) -> Readings:
        readings: Readings = {}
        for network_id in rule.scope.networks or self.with_fees:
            found = _known_fees(connection, network_id, now)
            fee = None if found is None else _fee(limit.signal, found.value)
            at = now if found is None else found.asked_at
            readings |= read_fee_limit(rule, limit, network_id, fee, at)
        return readings

    def _ending(
        self, connection: Connection, expiry: ExpiryMeasure, now: datetime
    ) -> Iterator[ExpiryGrounds]:
        """Yield what ends soon: certificates that ended as well, keys only while they last."""
        until = now + expiry.within
        for name, ends_at in keys_ending(connection, now, until):
            yield ExpiryGrounds(f"key {name}", ends_at)
        for name, ends_at in self.certificates:
            if ends_at <= until:
                yield ExpiryGrounds(f"certificate {name}", ends_at)
        for name, ends_at in self.peers.ending(now, expiry.within):
            yield ExpiryGrounds(_of_server(name), ends_at)


def _of_server(name: str) -> str:
    return f"certificate of {name}"


def _begin_of(per: BudgetPeriod, now: datetime) -> datetime:
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return day if per is BudgetPeriod.DAY else day.replace(day=1)


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
