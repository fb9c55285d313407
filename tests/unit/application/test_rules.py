"""What people ask of rules, and how they change them: states, previews, limits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.application.context import ApplicationContext
from dashboard.application.rules import AlertRules, RuleSituation
from dashboard.domain.alerts.condition import INSTALLATION, Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.inhibition import SourceOutage
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.rule import DEFAULT_RULES, MOST_RULES, Rule, RuleScope
from dashboard.domain.alerts.rule_preview import RulePreview
from dashboard.domain.alerts.rule_table import replaced_by
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import Wei
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import InputError
from dashboard.store.alerts.alert_status import PendingCondition
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    GWEI,
    a_hash,
    a_record,
    a_transition,
    an_incident,
    seconds,
    suggested_gas_fees,
)
from tests.saved_record import save_record


def test_thousands_of_rules_are_refused_and_nothing_changes(store: Store) -> None:
    queries = AlertRules(ApplicationContext(store, (), lambda: A_MOMENT))
    many = replaced_by([Rule(f"r{each}", RuleKind.REJECTED) for each in range(MOST_RULES + 1)])

    with pytest.raises(InputError, match="these are 201 rules: keep at most 200"):
        queries.plan(many)
    with pytest.raises(InputError, match="keep at most 200"):
        queries.change(many, Actor("Ada", A_MOMENT))

    assert [each.rule for each in queries.in_force()] == list(DEFAULT_RULES)


BUSY = Rule("busy", RuleKind.BUSY)
FEE = Rule("dear", RuleKind.FEE)
OPEN = an_incident(rule="busy", troubled=1)
SILENT = SourceOutage(SubjectKind.GAS_API, A_NETWORK, A_MOMENT)
STALE = SourceOutage(SubjectKind.FEES, A_NETWORK, A_MOMENT)
SILENT_TOO = SourceOutage(SubjectKind.GAS_API, ANOTHER_NETWORK, A_MOMENT)
NO_WORKER = SourceOutage(SubjectKind.WORKER, INSTALLATION, A_MOMENT)
BUSY_SOON = PendingCondition(Subject(SubjectKind.BUSYNESS, A_NETWORK), A_MOMENT)
DEAR_SOON = PendingCondition(Subject(SubjectKind.FEE_LIMIT, A_NETWORK, rule="dear"), A_MOMENT)


@pytest.mark.parametrize(
    ("rule", "situation", "word"),
    [
        (BUSY, RuleSituation(), "on"),
        (replace(BUSY, is_enabled=False), RuleSituation([OPEN]), "off"),
        (replace(BUSY, until=A_MOMENT), RuleSituation([OPEN], now=A_MOMENT), "ended"),
        (BUSY, RuleSituation([OPEN], [BUSY_SOON], [SILENT]), "firing"),
        (BUSY, RuleSituation([OPEN], sources=[NO_WORKER]), "no data"),
        (BUSY, RuleSituation([], [BUSY_SOON], [SILENT]), "no data"),
        (BUSY, RuleSituation([replace(OPEN, state=IncidentState.NO_DATA)]), "no data"),
        (BUSY, RuleSituation([replace(OPEN, state=IncidentState.PENDING)]), "pending"),
        (BUSY, RuleSituation(pending=[BUSY_SOON]), "pending"),
        (BUSY, RuleSituation(pending=[DEAR_SOON]), "on"),
        (FEE, RuleSituation([OPEN], [BUSY_SOON, DEAR_SOON]), "pending"),
        (
            replace(BUSY, scope=RuleScope(networks=(ANOTHER_NETWORK,))),
            RuleSituation(pending=[BUSY_SOON], sources=[SILENT]),
            "on",
        ),
    ],
)
def test_rule_says_where_it_stands(rule: Rule, situation: RuleSituation, word: str) -> None:
    assert situation.state_of(rule).word == word


def test_state_says_why() -> None:
    states = [
        RuleSituation([OPEN, OPEN]).state_of(BUSY),
        RuleSituation(pending=[BUSY_SOON]).state_of(BUSY),
        RuleSituation(sources=[SILENT]).state_of(BUSY),
        RuleSituation(sources=[SILENT, STALE, SILENT_TOO], network_name=str).state_of(BUSY),
        RuleSituation(sources=[NO_WORKER, SILENT]).state_of(BUSY),
    ]

    assert [each.why for each in states] == [
        "2 open incidents.",
        "Pending since 2026-11-20 12:00:00 UTC.",
        f"Not evaluated on network {A_NETWORK}: {SILENT}.",
        f"Not evaluated on {A_NETWORK} and 1 other network: {SILENT}.",
        "Not evaluated: no worker has been running since 2026-11-20 12:00:00 UTC.",
    ]


NOW = A_MOMENT + timedelta(hours=2)
EVERYTHING = RuleScope(takes_all_reports=True)


def preview(store: Store, rule: Rule, within: timedelta = timedelta(days=7)) -> RulePreview:
    """Try a rule on what is stored."""
    return AlertRules(ApplicationContext(store, (), lambda: NOW)).preview(rule, within)


@pytest.fixture
def store(empty_store: Store) -> Store:
    """Hold rejections of three hashes, of which one is tracked and has two records."""
    arrivals = ((1, "RPC", 0), (2, "RPC", 10), (1, "P2P", 20), (3, "RPC", 3000))
    with empty_store.write() as connection:
        track(
            connection, TrackRequest(a_hash(1), (A_NETWORK,), Remarks(label="bot #vip")), A_MOMENT
        )
        for number, stage, after in arrivals:
            record = a_record(tx_hash=a_hash(number), tx_rejection_stage=RejectionStage(stage))
            save_record(connection, A_NETWORK, record, A_MOMENT + seconds(after))
    return empty_store


@pytest.mark.parametrize(
    ("rule", "firings"),
    [
        (Rule("r", RuleKind.REJECTED), [(0, 1)]),
        (Rule("r", RuleKind.REJECTED, scope=EVERYTHING), [(0, 2), (3000, 1)]),
        (Rule("r", RuleKind.CHANGED), [(20, 1)]),
        (Rule("r", RuleKind.REJECTED, scope=RuleScope(tags=("vip",))), [(0, 1)]),
        (Rule("r", RuleKind.REJECTED, scope=RuleScope(labels=("other",))), []),
        (Rule("r", RuleKind.REJECTED, scope=replace(EVERYTHING, modules=("HUB",))), []),
    ],
    ids=["tracked", "all", "changed", "tag", "label", "module"],
)
def test_rejections_fire_as_the_rule_takes_them(
    store: Store, rule: Rule, firings: list[tuple[int, int]]
) -> None:
    found = preview(store, rule)

    assert [(each.at, each.changes) for each in found.firings] == [
        (A_MOMENT + seconds(after), changes) for after, changes in firings
    ]
    assert not found.is_cut


def test_rate_fires_by_the_dimension_of_the_rule(store: Store) -> None:
    measure = RateMeasure(1, seconds(60), Dimension.STAGE)
    rule = Rule("storm", RuleKind.REJECTION_RATE, scope=EVERYTHING, measure=measure)

    (firing,) = preview(store, rule).firings

    assert (firing.at, firing.ends) == (A_MOMENT + seconds(10), A_MOMENT + seconds(60))
    assert firing.group == ((Dimension.STAGE, "RPC"),)


def test_fee_fires_where_it_was_beyond_its_limit_for_long_enough(store: Store) -> None:
    with store.write() as connection:
        for minute, base_fee in enumerate((20, 31, 32, 33, 20, 31)):
            fees = suggested_gas_fees(estimated_base_fee=Wei(base_fee * GWEI))
            for second in (0, 59):
                at = A_MOMENT + seconds(60 * minute + second)
                save_gas(connection, GasObservation(A_NETWORK, at, fees))
    measure = FeeMeasure(Signal.BASE_FEE, Wei(30 * GWEI), is_upper=True)
    rule = Rule(
        "dear",
        RuleKind.FEE,
        scope=RuleScope(networks=(A_NETWORK,)),
        measure=measure,
        pending=seconds(120),
    )

    (firing,) = preview(store, rule).firings

    assert (firing.at, firing.ends) == (A_MOMENT + seconds(180), A_MOMENT + seconds(240))


def test_conditions_of_networks_fire_as_they_were_stored(store: Store) -> None:
    subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    with store.write() as connection:
        for number, (before, after) in enumerate([(None, State.BUSY), (State.BUSY, State.CALM)]):
            at = A_MOMENT + seconds(60 * number)
            change = a_transition(number + 50, subject=subject, before=before, after=after, at=at)
            assert record_transition(connection, change, None)

    (firing,) = preview(store, Rule("busy", RuleKind.BUSY)).firings

    assert (firing.at, firing.ends) == (A_MOMENT, A_MOMENT + seconds(60))


def test_inclusions_fire_where_they_were_stored(store: Store) -> None:
    subject = Subject(SubjectKind.INCLUSION, A_NETWORK, a_hash(1))
    with store.write() as connection:
        change = a_transition(60, subject=subject, after=State.INCLUDED)
        assert record_transition(connection, change, 1)

    assert len(preview(store, Rule("in", RuleKind.INCLUDED)).firings) == 1


@pytest.mark.parametrize(
    ("kind", "networks"), [(RuleKind.COVERAGE_GAP, A_NETWORK), (RuleKind.WORKER_SILENT, 0)]
)
def test_gaps_fire_where_they_were_long_enough(store: Store, kind: RuleKind, networks: int) -> None:
    held = Covered(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT)
    found = [
        Gap(A_NETWORK, Watched.FEES, A_MOMENT + seconds(at), A_MOMENT + seconds(ends), cause)
        for at, ends, cause in (
            (0, 179, GapCause.NOT_WATCHED),
            (200, 380, GapCause.NOT_WATCHED),
        )
    ]
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, tuple(found)))
    rule = Rule("gaps", kind, pending=seconds(180))
    scoped = replace(rule, scope=RuleScope(networks=(A_NETWORK,)))

    (firing,) = preview(store, scoped).firings

    assert (firing.at, firing.network_id) == (A_MOMENT + seconds(200), networks)


def test_rule_about_what_is_not_stored_has_no_preview(store: Store) -> None:
    with pytest.raises(InputError, match="have no preview"):
        preview(store, Rule("delivery", RuleKind.DELIVERY_FAILING))


def test_preview_of_more_than_a_month_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="31 days at most"):
        preview(store, Rule("busy", RuleKind.BUSY), timedelta(days=32))
