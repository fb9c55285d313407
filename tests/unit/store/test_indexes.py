"""What pages, pollers and serve read again and again is found by index, never by a scan.

Sorting the few rows of one hash or one network is fine, sorting a table is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from dashboard.domain.alerts.condition import Subject, SubjectKind
from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.rule import RuleScope
from dashboard.domain.fees.gas import FeeSeries
from dashboard.domain.health.coverage import Watched
from dashboard.domain.health.observation import ExclusionAnswer, Operation
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.access.api_keys import find_key, keys_version
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.alerts.alert_status import notification_counts, open_incidents
from dashboard.store.alerts.conditions import (
    current_condition,
    current_state,
    measured_conditions,
)
from dashboard.store.alerts.incidents import due_incidents
from dashboard.store.alerts.notification_claims import ClaimRequest, claim
from dashboard.store.alerts.notification_search import (
    NotificationFilter,
    count_notifications,
    search_notifications,
)
from dashboard.store.alerts.notifications import deliveries_by_notification
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import holder
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.busy_window import RollingFees, spells_between
from dashboard.store.fees.latest import latest_gas_of
from dashboard.store.fees.series import (
    ChartRange,
    fee_means,
    fee_steps,
    first_seen_at,
    percentile_steps,
)
from dashboard.store.fees.stored_fees import (
    fees_answered_at,
    percentile_answered_by_api_at,
    priority_fee_window,
)
from dashboard.store.monitoring.answer_counts import (
    last_answers_of,
    read_standing_failures,
    source_records,
)
from dashboard.store.monitoring.coverage import covered, gaps, watched_from
from dashboard.store.monitoring.upkeep import spent_since
from dashboard.store.rejections.archive import (
    PageRequest,
    all_arrivals,
    archive_page,
    archived_versions,
    last_rejection_id,
    queryable_record,
)
from dashboard.store.rejections.counts import (
    Grouping,
    count_by,
    count_causes,
    count_over_time,
    count_rejections,
    rank_senders,
)
from dashboard.store.rejections.rates import count_arrivals
from dashboard.store.rejections.save import watched_among
from dashboard.store.rejections.search import hashes_with_label, search, unparsed_reasons
from dashboard.store.tracking.cohorts import KnownHashes, read_cohorts, watched_after
from dashboard.store.tracking.follow_ups import inclusion_questions, open_follow_ups
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    search_tracked,
)
from dashboard.store.tracking.transactions import track, track_all, tracked_among
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    an_address,
    an_id,
    seconds,
)
from tests.databases import new_sqlite_store
from tests.delivery_checks import make_pending, take_lease
from tests.one_by_one import base_fees, follow_ups_of, newest_tracked, read_evidence, versions
from tests.recording_channel import ONCALL

MINUTES = ChartRange(A_MOMENT - seconds(600), A_MOMENT, seconds(1))
YEARS = ChartRange(A_MOMENT - 3650 * seconds(86_400), A_MOMENT, seconds(86_400))
TINY = ("leases", "installation", "cohorts", "tracked_labels")
DERIVED = ("anon_", "of_")
"""What a query gathered itself: few rows."""
FEW_ROWS = (
    "find_key",
    "arrivals",
    "causes",
    "open_incidents",
    "search_notifications of a hash",
    "visible",
    "versions",
    "evidence",
    "read_standing_failures",
    "last_answers_of",
    "latest_gas",
    "latest_figures",
    "base_fees",
    "unparsed_reasons",
    "versions_of",
    "search of a hash prefix",
    "search of a label",
    "search_tracked",
    "search_tracked by words",
    "rank_senders",
    "spent_since",
    "source_records",
    "gaps",
    "count_by sender",
    "count_by module",
    "count_by day",
)
NEWEST_FIRST = {"tracked": {"tracked_hashes"}, "search_tracked": {"tracked_hashes"}}
"""Tables that a read goes through from the end, by the number of the row, until it has enough."""
OF_ALL_DAYS = {"count_by module": {"rejection_days"}, "count_by day": {"rejection_days"}}
"""Tables that a read adds up: counters of days, far fewer than what they count."""

A_STAGE = RejectionStage.RPC
A_RANGE = HashRange.beginning_with("abcd")
SEEN = frozenset({A_NETWORK, ANOTHER_NETWORK})

EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN"}
WHOLE = re.compile(r"(?:^SCAN|Seq Scan on) (?!CONSTANT ROW)(\w+)")  # an empty list has no rows
SORT = re.compile(r"USE TEMP B-TREE FOR ORDER BY|(?<!Incremental )\bSort  \(")

Read = Callable[[Connection], object]

READS: dict[str, Read] = {
    "visible": lambda it: queryable_record(it, (A_NETWORK, A_NETWORK), a_hash(), A_MOMENT),
    "versions": lambda it: versions(it, a_hash()),
    "evidence": lambda it: read_evidence(it, None, a_hash()),
    "tracked_among": lambda it: tracked_among(it, [a_hash()]),
    "tracked": lambda it: newest_tracked(it, 5),
    "watches": lambda it: watched_after(it, A_NETWORK, 0),
    "cohorts_of": lambda it: read_cohorts(it, A_NETWORK, [1, 2], KnownHashes()),
    "watched_among": lambda it: watched_among(it, [(a_hash(), A_NETWORK)]),
    "hashes_labelled": lambda it: it.scalars(hashes_with_label("Case 17")).all(),
    "condition": lambda it: current_state(it, Subject.transaction(A_NETWORK, a_hash())),
    "held": lambda it: current_condition(it, Subject(SubjectKind.BUSYNESS, A_NETWORK)),
    "fees_answered_at": lambda it: fees_answered_at(it, A_NETWORK, A_MOMENT),
    "percentile_answered_by_api_at": lambda it: percentile_answered_by_api_at(
        it, A_NETWORK, A_MOMENT
    ),
    "rolling fees": lambda it: RollingFees(
        A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, seconds(3600)
    ).read(it, A_MOMENT),
    "priority_fee_window": lambda it: priority_fee_window(it, A_NETWORK, A_MOMENT, A_MOMENT),
    "latest_gas": lambda it: latest_gas_of(it, [A_NETWORK, ANOTHER_NETWORK], A_MOMENT),
    "latest_figures": lambda it: latest_gas_of(
        it, [A_NETWORK, ANOTHER_NETWORK], A_MOMENT, seconds(60)
    ),
    "base_fees": lambda it: base_fees(it, A_NETWORK, A_MOMENT, A_MOMENT),
    "fee_means of years": lambda it: fee_means(it, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, YEARS),
    "fee_steps of values": lambda it: fee_steps(
        it, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, MINUTES
    ),
    "fee_steps of days": lambda it: fee_steps(it, A_NETWORK, FeeSeries.ESTIMATED_BASE_FEE, YEARS),
    "percentile_steps": lambda it: percentile_steps(it, A_NETWORK, Operation.BUSY_THRESHOLD, YEARS),
    "first_seen_at": lambda it: first_seen_at(it, A_NETWORK),
    "read_standing_failures": lambda it: read_standing_failures(it, A_NETWORK),
    "follow_ups_of": lambda it: follow_ups_of(it, a_hash()),
    "open_follow_ups": lambda it: open_follow_ups(it, A_NETWORK, 0, 0),
    "inclusion_questions": lambda it: inclusion_questions(it, A_NETWORK, [a_hash()]),
    "unparsed_reasons": lambda it: unparsed_reasons(it, 5),
    "unexpanded": lambda it: pending_expansion(it, 5),
    "deliveries_by_notification": lambda it: deliveries_by_notification(it, [an_id()]),
    "search": lambda it: search(it, RejectionFilter(since=A_MOMENT), 5),
    "search beyond a place": lambda it: search(it, RejectionFilter(), 5, before=(A_MOMENT, 5)),
    "audit_entries beyond a place": lambda it: audit_entries(
        it, AuditFilter(), 5, before=(A_MOMENT, 5)
    ),
    "search_notifications beyond a place": lambda it: search_notifications(
        it, NotificationFilter(), 5, before=(A_MOMENT, an_id())
    ),
    "search of a module": lambda it: search(it, RejectionFilter(module="HUB", since=A_MOMENT), 5),
    "search of a module and network": lambda it: search(
        it, RejectionFilter(A_NETWORK, module=""), 5
    ),
    "search of a sender": lambda it: search(it, RejectionFilter(sender=an_address()), 5),
    "search of a stage": lambda it: search(it, RejectionFilter(tx_rejection_stage=A_STAGE), 5),
    "search of a hash prefix": lambda it: search(it, RejectionFilter(tx_hashes=A_RANGE), 5),
    "search of a label": lambda it: search(it, RejectionFilter(label="team"), 5),
    "rank_senders": lambda it: rank_senders(it, RejectionFilter(since=A_MOMENT), 5),
    "gaps": lambda it: gaps(it, [A_NETWORK], A_MOMENT, 5),
    "covered": lambda it: covered(it, [A_NETWORK]),
    "spells_between": lambda it: spells_between(it, A_NETWORK, A_MOMENT, A_MOMENT),
    "watched_from": lambda it: watched_from(it, [A_NETWORK], Watched.REJECTIONS),
    "spent_since": lambda it: spent_since(it, A_MOMENT),
    "source_records": lambda it: source_records(it, A_MOMENT, 96),
    "last_answers_of": lambda it: last_answers_of(it, [A_NETWORK, ANOTHER_NETWORK]),
    "search of a network": lambda it: search(it, RejectionFilter(A_NETWORK, since=A_MOMENT), 5),
    "page": lambda it: archive_page(it, RejectionFilter(since=A_MOMENT), SEEN, PageRequest(5)),
    "page of a sender": lambda it: archive_page(
        it, RejectionFilter(sender=an_address()), SEEN, PageRequest(5)
    ),
    "page of a module": lambda it: archive_page(
        it, RejectionFilter(module="HUB"), SEEN, PageRequest(5)
    ),
    "page of no module": lambda it: archive_page(
        it, RejectionFilter(module=""), SEEN, PageRequest(5)
    ),
    "every_arrival": lambda it: all_arrivals(it, 5, 5),
    "versions_of": lambda it: archived_versions(it, a_hash(), SEEN, 5),
    "last_place": last_rejection_id,
    "count_by sender": lambda it: count_by(it, Grouping.SENDER, RejectionFilter(), SEEN, 5),
    "count_by module": lambda it: count_by(it, Grouping.MODULE, RejectionFilter(), SEEN, 5),
    "count_by day": lambda it: count_by(it, Grouping.DAY, RejectionFilter(), SEEN, 5),
    "how_many": lambda it: count_rejections(it, RejectionFilter(since=A_MOMENT)),
    "arrivals": lambda it: count_over_time(
        it, RejectionFilter(since=A_MOMENT), seconds(3600), Grouping.STAGE
    ),
    "causes": lambda it: count_causes(it, RejectionFilter(since=A_MOMENT)),
    "search_tracked": lambda it: search_tracked(
        it, TrackedFilter(record_status=RecordStatus.UNANSWERED), 5
    ),
    "search_tracked by words": lambda it: search_tracked(it, TrackedFilter(search="team"), 5),
    "how_many_tracked by words": lambda it: count_tracked(it, TrackedFilter(search="team")),
    "how_many_tracked": lambda it: count_tracked(it, TrackedFilter(A_NETWORK)),
    "search_notifications": lambda it: search_notifications(
        it, NotificationFilter(since=A_MOMENT), 5
    ),
    "search_notifications of a hash": lambda it: search_notifications(
        it, NotificationFilter(tx_hashes=HashRange.of(a_hash())), 5
    ),
    "count_notifications": lambda it: count_notifications(
        it, NotificationFilter(tx_hashes=HashRange.of(a_hash()))
    ),
    "open_incidents": open_incidents,
    "measured_conditions": lambda it: measured_conditions(it, [SubjectKind.FEE_LIMIT]),
    "count_arrivals": lambda it: count_arrivals(
        it, RuleScope(modules=("HUB",)), Dimension.SENDER, A_MOMENT, A_MOMENT
    ),
    "notification_counts": lambda it: notification_counts(it, A_MOMENT),
    "find_key": lambda it: find_key(it, "wallet"),
    "keys_version": keys_version,
    "holder": lambda it: holder(it, "worker"),
}


def plan_of(connection: Connection, read: Read) -> list[str]:
    """Return the steps of the query plans of everything that is read."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, *statement: Any) -> None:  # noqa: ANN401 - SQLAlchemy's event
        asked.append(statement[:2])

    event.listen(connection, "before_cursor_execute", note)
    read(connection)
    event.remove(connection, "before_cursor_execute", note)
    explain = EXPLAIN[connection.dialect.name]
    plans = [
        connection.exec_driver_sql(f"{explain} {statement}", parameters)
        for statement, parameters in asked
        if statement.startswith(("SELECT", "UPDATE", "DELETE"))
    ]
    steps = [str(step[-1]) for plan in plans for step in plan]
    assert steps
    return steps


def scans(steps: list[str]) -> list[str]:
    """Return the steps that go through every row of a table that grows."""
    found = [match[1] for step in steps if " USING " not in step and (match := WHOLE.search(step))]
    return [table for table in found if table not in TINY and not table.startswith(DERIVED)]


@pytest.fixture
def busy_store(store: Store) -> Store:
    """Return a store in which something is tracked: no hashes, no second query."""
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(), (A_NETWORK,)), A_MOMENT)
    return store


def prefer_indexes(connection: Connection) -> None:
    """Let PostgreSQL scan or sort a small table only where no index helps, as SQLite does."""
    if connection.dialect.name == "postgresql":
        for way in ("seqscan", "sort"):
            connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")


def test_reads_go_by_index_and_those_of_the_newest_sort_no_table(busy_store: Store) -> None:
    with busy_store.read() as connection:
        prefer_indexes(connection)
        plans = {name: plan_of(connection, read) for name, read in READS.items()}

    allowed = {**NEWEST_FIRST, **OF_ALL_DAYS}
    scanned = {name: set(scans(steps)) - allowed.get(name, set()) for name, steps in plans.items()}
    sorting = {
        name: [step for step in steps if SORT.search(step)]
        for name, steps in plans.items()
        if name not in FEW_ROWS
    }
    assert {name: tables for name, tables in scanned.items() if tables} == {}
    assert {name: steps for name, steps in sorting.items() if steps} == {}


def test_rejected_ones_of_an_owner_are_found_in_the_index_alone(tmp_path: Path) -> None:
    wanted = TrackedFilter(record_status=RecordStatus.REJECTED, owner="Ann")
    with (
        open_store(new_sqlite_store(tmp_path / "store.sqlite")) as store,
        store.read() as connection,
    ):
        steps = plan_of(connection, lambda it: count_tracked(it, wanted))

    assert any("COVERING INDEX ix_tracked_hashes_owner" in each for each in steps)


def test_claim_goes_by_the_index_of_what_is_pending(store: Store) -> None:
    make_pending(store)
    token = take_lease(store)
    with store.write() as connection:
        steps = plan_of(
            connection, lambda it: claim(it, token, [ClaimRequest(ONCALL, 5)], A_MOMENT)
        )

    assert scans(steps) == []
    assert any("ix_notifications_pending" in step for step in steps)


def test_pending_incidents_that_are_due_are_found_in_their_index(store: Store) -> None:
    with store.write() as connection:
        prefer_indexes(connection)
        steps = plan_of(connection, lambda it: due_incidents(it, A_MOMENT, 50))

    assert scans(steps) == []
    assert any("ix_incidents_pending" in step for step in steps)
    assert any("ix_incidents_next_at" in step for step in steps)


def test_tracking_and_its_answers_go_by_index(busy_store: Store) -> None:
    wishes = [TrackRequest(a_hash(number), (A_NETWORK,)) for number in (1, 2)]
    answers = [ExclusionAnswer(a_hash(1)), ExclusionAnswer(a_hash(2), a_record(tx_hash=a_hash(2)))]
    with busy_store.write() as connection:
        prefer_indexes(connection)
        steps = plan_of(connection, lambda it: track_all(it, wishes, A_MOMENT))
        steps += plan_of(connection, lambda it: record_lookup(it, A_NETWORK, A_MOMENT, answers))

    assert scans(steps) == []
