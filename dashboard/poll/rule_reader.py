"""Read from the store what each rule measures: one short question for each kind of rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from dashboard.detect.condition_start_end import spell_state
from dashboard.detect.rule_measures import (
    REPORTED_AFTER_END,
    HeldConditions,
    Readings,
    read_bounces,
    read_credits,
    read_deliveries,
    read_expiries,
    read_gaps,
    read_rates,
    read_worker,
)
from dashboard.domain.condition import Condition, State, Subject, SubjectKind
from dashboard.domain.coverage import Gap
from dashboard.domain.grounds import ExpiryGrounds, FeeLimitGrounds
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import (
    BudgetPeriod,
    CreditMeasure,
    ExpiryMeasure,
    FeeMeasure,
    RateMeasure,
    Rule,
    RuleKind,
)
from dashboard.domain.spells import HoldPeriods, SpellState, longest_silence, states_of
from dashboard.poll.peer_certificates import PeerCertificates
from dashboard.store.access.api_keys import keys_ending
from dashboard.store.alerts.addresses_off import bounced_addresses
from dashboard.store.alerts.failing_deliveries import failing_deliveries
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.busy_context import SERIES
from dashboard.store.fees.stored_fees import SeriesKey, asked_before, fees_beside_limit
from dashboard.store.monitoring.coverage import gaps
from dashboard.store.monitoring.credits import spent_since
from dashboard.store.rejections.rates import count_arrivals

_MOMENT: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class RuleReader:
    """Reads for the networks of a worker; `with_fees` says how often fees are asked for, if at all.

    `certificates` are names of certificates in use, and when each ends; `peers` are those of
    servers that are asked.
    """

    networks: Sequence[NetworkId]
    with_fees: Mapping[NetworkId, timedelta]
    certificates: Sequence[tuple[str, datetime]] = ()
    peers: PeerCertificates = field(default_factory=PeerCertificates)

    def read(self, connection: Connection, rule: Rule, now: datetime) -> Readings:
        """Return what a rule measures now."""
        match rule.measure:
            case RateMeasure() as rate:
                since = now - rate.window
                counts = count_arrivals(connection, rule.scope, rate.by, since, now)
                return read_rates(rule, rate, counts, now)
            case FeeMeasure():
                return {}
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
            failing = read_deliveries(rule, failing_deliveries(connection), now)
            return failing | read_bounces(rule, bounced_addresses(connection), now)
        return {}

    def _late_gaps(self, connection: Connection, now: datetime) -> list[Gap]:
        return gaps(connection, self.networks, now - REPORTED_AFTER_END)

    def fees(
        self,
        connection: Connection,
        rule: Rule,
        limit: FeeMeasure,
        held: HeldConditions,
        now: datetime,
        trusted: Callable[[datetime], datetime],
    ) -> Iterator[tuple[Subject, Sequence[SpellState], FeeLimitGrounds | None]]:
        """Yield of each network that a rule is about to which states its stored fees led.

        They are read from so far back that what came before changes nothing. `trusted` leaves out
        those from before the clock was set. Without any fee there is no state.
        """
        holds = HoldPeriods(rule.pending, rule.keep_firing)
        for network_id in rule.scope.networks or self.with_fees:
            subject = Subject(SubjectKind.FEE_LIMIT, network_id, rule=rule.name)
            silence = longest_silence(self.with_fees.get(network_id, timedelta()))
            before = held.get(subject)
            start = now - max(rule.pending, rule.keep_firing) - silence
            begin = asked_before(connection, network_id, _earlier(before, start)) or start
            between = trusted(_no_earlier(before, begin)), now
            key = SeriesKey(network_id, SERIES[limit.signal])
            found = fees_beside_limit(connection, key, limit, between, silence)
            if not found:
                yield subject, (), None
                continue
            state = spell_state(before, found[0].value.at)
            begun = None if state is None else replace(state, turning_since=None)
            states = list(states_of(begun, (each.value for each in found), holds, silence))
            if now - states[-1].seen_at > silence:
                states.append(states[-1].unseen())
            grounds = FeeLimitGrounds(limit.signal, found[-1].fee, limit.limit, limit.is_upper)
            yield subject, states, grounds

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


def _earlier(held: Condition | None, at: datetime) -> datetime:
    """Return a moment that is not after the first value that may turn what is held."""
    return at if held is None or held.turning_since is None else min(at, held.turning_since)


def _no_earlier(held: Condition | None, at: datetime) -> datetime:
    """Return a moment from which on values say whether what is held still holds."""
    if held is None:
        return at
    return max(at, held.since + _MOMENT if held.state is State.UNKNOWN else held.since)
