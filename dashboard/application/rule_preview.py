"""What a rule would have reported in the stored past, read within bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from dashboard.application.context import ApplicationContext
from dashboard.application.listing import Column, Listing, for_programs, time_column
from dashboard.domain.alerts.condition import INSTALLATION
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.kinds.table import KINDS, subject_kinds
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_preview import (
    FeeSpread,
    Firing,
    RulePreview,
    fired_of_fees,
    fired_spells,
    firings_of_changes,
    firings_of_conditions,
    judged_steps,
    rate_spells,
)
from dashboard.domain.alerts.rule_text import group_in_words
from dashboard.domain.fees.busy_spells import longest_pause
from dashboard.domain.fees.gas import RollupLevel
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.errors import InputError
from dashboard.store.alerts.rules import MOST_TRANSITIONS, past_transitions
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.busy_context import SERIES
from dashboard.store.fees.rollups import read_rollups
from dashboard.store.fees.stored_fees import SeriesKey, fees_answered_at, fees_beside_limit
from dashboard.store.monitoring.coverage import gaps, gaps_without_worker
from dashboard.store.rejections.rates import (
    MOST_ARRIVALS,
    MOST_CHANGES,
    past_arrivals,
    past_rejections,
)
from dashboard.store.schema.columns import milliseconds_of, moment_of

LONGEST_PREVIEW: Final = timedelta(days=31)
_NOT_STORED: Final = {RuleKind.CREDITS_SHORT, RuleKind.EXPIRY, RuleKind.DELIVERY_FAILING}


def preview_rule(
    connection: Connection,
    rule: Rule,
    between: tuple[datetime, datetime],
    networks: Mapping[NetworkId, timedelta],
) -> RulePreview:
    """Return what a rule would have reported in a time; InputError for more than 31 days.

    Labels and tags are the current ones. `networks` give the polling period of fees; they are used
    if the rule names no network.
    """
    since, until = between
    if until - since > LONGEST_PREVIEW:
        raise InputError(f"a preview reads {LONGEST_PREVIEW.days} days at most: let it begin later")
    if rule.kind in _NOT_STORED:
        raise InputError(f"rules of kind {rule.kind} have no preview: their history is not stored")
    if rule.kind in {RuleKind.COVERAGE_GAP, RuleKind.WORKER_SILENT}:
        gaps_found = _of_gaps(connection, rule, between, tuple(networks))
        return RulePreview(rule, since, until, gaps_found)
    if isinstance(rule.measure, RateMeasure):
        return _of_rate(connection, rule, rule.measure, between)
    if isinstance(rule.measure, FeeMeasure):
        firings = _of_fees(connection, rule, rule.measure, between, networks)
        return RulePreview(rule, since, until, tuple(sorted(firings, key=_opened_at)))
    return _of_changes(connection, rule, since, until)


def _of_gaps(
    connection: Connection,
    rule: Rule,
    between: tuple[datetime, datetime],
    networks: Sequence[NetworkId],
) -> tuple[Firing, ...]:
    """Return the gaps that were long enough, by network; gaps of the worker only once."""
    is_worker = rule.kind is RuleKind.WORKER_SILENT
    read = gaps_without_worker if is_worker else gaps
    found = {
        (INSTALLATION if is_worker else each.network_id, each.begins_at): each
        for each in read(connection, rule.scope.networks or networks, between[0])
        if each.length(between[1]) >= rule.pending
    }
    firings = (
        Firing(begins_at, gap.ends_at, network_id) for (network_id, begins_at), gap in found.items()
    )
    return tuple(sorted(firings, key=_opened_at))


def _of_changes(
    connection: Connection, rule: Rule, since: datetime, until: datetime
) -> RulePreview:
    if rule.kind in {RuleKind.REJECTED, RuleKind.CHANGED}:
        seen = past_rejections(connection, rule.scope, since, until)
        firings = firings_of_changes(rule, seen)
        return RulePreview(rule, since, until, tuple(firings), len(seen) == MOST_CHANGES)
    changes = past_transitions(connection, subject_kinds(rule.kind), since, until)
    if not KINDS[rule.kind].is_lasting:
        firings = firings_of_changes(rule, changes)
    else:
        found = firings_of_conditions(rule, (each.transition for each in changes))
        firings = [each for each in found if each.at <= until]
    return RulePreview(rule, since, until, tuple(firings), len(changes) == MOST_TRANSITIONS)


def _of_rate(
    connection: Connection, rule: Rule, rate: RateMeasure, between: tuple[datetime, datetime]
) -> RulePreview:
    since, until = between
    found = past_arrivals(connection, rule.scope, rate.by, since, until)
    arrivals: defaultdict[tuple[NetworkId, str], list[datetime]] = defaultdict(list)
    for at, network_id, value in found:
        arrivals[network_id, value].append(at)
    firings = [
        Firing(
            fired.begins,
            fired.ends,
            network_id,
            () if rate.by is None else ((rate.by, value),),
        )
        for (network_id, value), moments in arrivals.items()
        for fired in fired_spells(rule, rate_spells(moments, rate))
    ]
    is_cut = len(found) == MOST_ARRIVALS
    return RulePreview(rule, since, until, tuple(sorted(firings, key=_opened_at)), is_cut)


def _of_fees(
    connection: Connection,
    rule: Rule,
    limit: FeeMeasure,
    between: tuple[datetime, datetime],
    networks: Mapping[NetworkId, timedelta],
) -> Iterator[Firing]:
    """Evaluate every stored fee as the rule does; before the first one, roll-ups by minute."""
    since, until = between
    for network_id in rule.scope.networks or networks:
        key = SeriesKey(network_id, SERIES[limit.signal])
        pause = longest_pause(networks.get(network_id, timedelta()))
        begin = fees_answered_at(connection, network_id, since) or since
        polled = fees_beside_limit(connection, key, limit, (begin, until), pause)
        kept_since = polled[0].value.at if polled else until
        minutes = _minutes(connection, key, (since, kept_since))
        values = [*judged_steps(minutes, rule, limit), *(each.value for each in polled)]
        yield from fired_of_fees(rule, network_id, values, pause)


def _minutes(
    connection: Connection, key: SeriesKey, between: tuple[datetime, datetime]
) -> Iterator[FeeSpread]:
    since, until = map(milliseconds_of, between)
    minute = RollupLevel.MINUTE
    first, last = minute.begin_of(since), minute.begin_of(until)
    found = read_rollups(connection, key, minute, first, last, with_histograms=False)
    columns = (found.first, found.last, found.lowest, found.highest)
    for first_at, last_at, lowest, highest in zip(
        *(each.tolist() for each in columns), strict=True
    ):
        yield FeeSpread(moment_of(first_at), moment_of(last_at), Wei(lowest), Wei(highest))


def _opened_at(firing: Firing) -> datetime:
    return firing.at


def firing_listing(context: ApplicationContext) -> Listing[Firing]:
    return Listing(
        "firings",
        (
            time_column("at", "at", lambda each: each.at),
            time_column("until", "until", lambda each: each.ends, "ongoing"),
            for_programs("networkId", lambda each: each.network_id),
            Column(
                "network",
                lambda each: context.label(each.network_id),
                "network",
                lambda each: context.network_name(each.network_id),
            ),
            Column(
                "changes",
                lambda each: f"{each.changes:,}",
                "changes",
                lambda each: each.changes,
                is_number=True,
            ),
            Column(
                "what",
                group_in_words,
                "group",
                lambda each: {str(name): value for name, value in each.group},
            ),
        ),
        "Nothing is listed.",
    )
