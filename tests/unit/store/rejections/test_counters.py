"""Counters always equal a count of the rows, whatever is inserted, purged and asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.reasons import ReasonKind, parse_reason
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.counts import (
    Grouping,
    count_by,
    count_causes,
    count_deleted,
    count_over_time,
    count_rejections,
    rebuild_counters,
)
from dashboard.store.schema import rejection_days, rejections
from dashboard.store.schema.columns import milliseconds_of, moment_of
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_report,
    an_address,
    seconds,
)
from tests.one_by_one import newest, save_report
from tests.saved_record import save_record

NETWORKS: Final = (A_NETWORK, ANOTHER_NETWORK)
HOUR: Final = timedelta(hours=1)
STEPS: Final = (timedelta(minutes=2), HOUR, timedelta(hours=6), HOUR * 24, HOUR * 24 * 7)
REASONS: Final = (
    *(f"TX_MODULE_LINE_COUNT_OVERFLOW({name})" for name in ("HUB", "ADD", "MUL", "EXP")),
    "TX_MODULE_LINE_COUNT_OVERFLOW",
    "Module HUB does not exist in the limits file.",
    "gas price too low",
)

moments = st.integers(0, 40 * 24 * 60).map(lambda minutes: A_MOMENT + minutes * seconds(60))
arriving = st.tuples(
    st.sampled_from(NETWORKS), st.sampled_from(RejectionStage), st.sampled_from(REASONS), moments
)
filters = st.builds(
    RejectionFilter,
    network_id=st.sampled_from([None, None, *NETWORKS]),
    tx_rejection_stage=st.sampled_from([None, None, *RejectionStage]),
    module=st.sampled_from([None, None, "", "HUB", "EXP", "NONE"]),
    reason_kind=st.sampled_from([None, None, *ReasonKind]),
    sender=st.sampled_from([None, None, None, an_address(1)]),
    since=st.none() | moments,
    until=st.none() | moments,
    network_ids=st.sampled_from([None, frozenset({A_NETWORK}), frozenset[int]()]),
)


class _Undo(Exception):
    """Ends an example without a trace."""


@contextmanager
def undone(store: Store) -> Iterator[Connection]:
    """Write, and undo everything in the end."""
    with suppress(_Undo), store.write() as connection:
        yield connection
        raise _Undo


def take(connection: Connection, number: int, arrival: tuple[Any, ...]) -> None:
    """Let a rejection arrive; every third is reported, the others are polled."""
    network_id, stage, reason, at = arrival
    told = {"tx_hash": a_hash(number), "tx_rejection_stage": stage, "reason_message": reason}
    sender = {"sender": an_address(number % 2)}
    if number % 3 == 0:
        save_report(connection, a_report(**told, **sender), network_id, at)
    else:
        save_record(connection, network_id, a_record(**told, **sender), at)


def forget(connection: Connection, rejection_ids: Sequence[int]) -> None:
    count_deleted(connection, rejection_ids)
    connection.execute(delete(rejections).where(rejections.c.rejection_id.in_(rejection_ids)))


def counted_days(connection: Connection) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in connection.execute(select(rejection_days))}


@given(
    arrived=st.lists(arriving, max_size=25),
    forgotten=st.sets(st.integers(0, 24), max_size=5),
    wanted=filters,
    split_by=st.sampled_from([Grouping.STAGE, Grouping.MODULE, Grouping.NETWORK]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_every_question_is_answered_as_by_counting(
    store: Store,
    arrived: list[tuple[Any, ...]],
    forgotten: set[int],
    wanted: RejectionFilter,
    split_by: Grouping,
) -> None:
    with undone(store) as connection:
        for number, arrival in enumerate(arrived):
            take(connection, number, arrival)
        kept = newest(connection, len(arrived))
        forget(connection, [each.rejection_id for at, each in enumerate(kept) if at in forgotten])
        fitting = [each for each in newest(connection, len(arrived)) if wanted.fits(each)]

        assert count_rejections(connection, wanted) == len(fitting)
        for grouping in Grouping:
            counted = count_by(connection, grouping, wanted, None, 1000)
            found = {group.key: group.count for group in counted.groups}
            assert found == Counter(key_of(grouping, each) for each in fitting)
            assert (counted.of, counted.total) == (len(found), len(fitting))
            if grouping not in {Grouping.HOUR, Grouping.DAY}:
                numbers = [group.count for group in counted.groups]
                assert numbers == sorted(numbers, reverse=True)
        for step in STEPS:
            told = {
                (each.since, each.key): each.count
                for each in count_over_time(connection, wanted, step, split_by)
            }
            assert told == Counter(
                (beginning(each.first_seen_at, step), key_of(split_by, each)) for each in fitting
            )
        causes = count_causes(connection, wanted)
        named = {(each.reason_kind, each.module): each.count for each in causes}
        assert [each.count for each in causes] == sorted(named.values(), reverse=True)
        reasons = (parse_reason(each.record.reason_message) for each in fitting)
        assert named == Counter((each.kind, each.module) for each in reasons)

        held = counted_days(connection)
        rebuild_counters(connection)
        assert counted_days(connection) == held


def test_counters_of_purged_rejections_leave_no_rows(store: Store) -> None:
    with store.write() as connection:
        rejection_id = save_record(connection, A_NETWORK, a_record(), A_MOMENT)
        forget(connection, [rejection_id])

        assert counted_days(connection) == set()


def key_of(grouping: Grouping, each: StoredRejection) -> object:
    """Return what a rejection is counted under."""
    record, reason = each.record, parse_reason(each.record.reason_message)
    return {
        Grouping.MODULE: reason.module,
        Grouping.STAGE: record.tx_rejection_stage.value,
        Grouping.REASON_KIND: reason.kind.value,
        Grouping.SENDER: record.sender,
        Grouping.NETWORK: each.network_id,
        Grouping.HOUR: beginning(each.first_seen_at, HOUR),
        Grouping.DAY: beginning(each.first_seen_at, HOUR * 24),
    }[grouping]


def beginning(at: datetime, step: timedelta) -> datetime:
    """Return when the step of a moment began."""
    length = step // timedelta(milliseconds=1)
    return moment_of(milliseconds_of(at) // length * length)
