"""Answers and failures of sources by quarter of an hour, standing failures, and transports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    select,
    type_coerce,
)

from dashboard.domain.health.observation import AnswerCounts, Failure, FailureKind, Operation
from dashboard.domain.health.transport_state import TransportState
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import upsert, upsert_sums
from dashboard.store.schema import (
    answer_counts,
    endpoint_transports,
    last_answers,
    standing_failures,
)
from dashboard.store.schema.columns import columns_of, milliseconds_of, read_as
from dashboard.store.schema.monitoring import TIMES

QUARTER: Final = timedelta(minutes=15)
"""The period of one row."""

_TIMES: Final = tuple(answer_counts.c[name] for name in TIMES)


class SourceRecord(Struct, frozen=True):
    """The results of a question over some period: in total, and by quarters, oldest first.

    A quarter is None if nothing was asked; its `times` are not read.
    """

    total: AnswerCounts
    quarters: tuple[AnswerCounts | None, ...]


def record_answer_counts(
    connection: Connection,
    network_id: NetworkId,
    at: datetime,
    counts: Mapping[Operation, AnswerCounts],
) -> None:
    """Count the results of questions in the quarter of an hour when they were asked."""
    rows = [
        columns_of(
            answer_counts,
            each,
            quarter=quarter_of(at),
            network_id=network_id,
            operation=operation,
            **dict(zip(TIMES, each.times, strict=True)),
        )
        for operation, each in counts.items()
    ]
    upsert_sums(connection, answer_counts, rows)


def quarter_of(at: datetime) -> datetime:
    return at.replace(minute=at.minute - at.minute % 15, second=0, microsecond=0)


def source_records(
    connection: Connection, until: datetime, quarters: int
) -> dict[tuple[NetworkId, Operation], SourceRecord]:
    """Return the results of each question in so many quarters of an hour, up to that of `until`.

    A question that was not asked then is left out.
    """
    first = quarter_of(until) - (quarters - 1) * QUARTER
    column = answer_counts.c
    lies_in = (column.quarter >= first, column.quarter <= until)
    began = type_coerce(column.quarter, BigInteger)
    query = select(
        column.network_id, column.operation, began, column.answered, column.instead, column.failed
    ).where(*lies_in)
    zero, length = milliseconds_of(first), QUARTER // timedelta(milliseconds=1)
    found: dict[tuple[NetworkId, str], list[AnswerCounts | None]] = {}
    known: dict[tuple[int, ...], AnswerCounts] = {}  # most quarters are alike
    for network_id, operation, at, *counts in connection.execute(query).all():
        line = found.setdefault((network_id, operation), [None] * quarters)
        alike = tuple(counts)
        if alike not in known:
            known[alike] = AnswerCounts(*alike)
        line[(at - zero) // length] = known[alike]
    totals = _totals(connection, lies_in)
    return {
        (network_id, Operation(operation)): SourceRecord(totals[network_id, operation], tuple(line))
        for (network_id, operation), line in found.items()
    }


def _totals(
    connection: Connection, lies_in: Sequence[ColumnElement[bool]]
) -> dict[tuple[NetworkId, str], AnswerCounts]:
    """Add up the results of each question, and the times of its answers."""
    column = answer_counts.c
    summed = (column.answered, column.instead, column.failed, *_TIMES)
    sums = select(column.network_id, column.operation, *(func.sum(each) for each in summed))
    grouped = sums.where(*lies_in).group_by(column.network_id, column.operation)
    totals = {}
    for network_id, operation, *counts in connection.execute(grouped).all():
        answered, instead, failed, *times = map(int, counts)
        totals[network_id, operation] = AnswerCounts(answered, instead, failed, tuple(times))
    return totals


class StandingFailure(Struct, frozen=True):
    """A question that failed and was not answered since; `failure` is the latest one."""

    operation: Operation
    failing_since: datetime
    last_failed_at: datetime
    failure: Failure


_FAILURE: Final = standing_failures.c
_FAILURES: Final = (
    select(standing_failures)
    .where(_FAILURE.network_id.in_(bindparam("some", expanding=True)))
    .order_by(_FAILURE.failing_since, _FAILURE.operation)
)
_ANSWERED: Final = delete(standing_failures).where(
    _FAILURE.network_id == bindparam("of_network"),
    _FAILURE.operation.in_(bindparam("some", expanding=True)),
)


def note_failure(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    failed: tuple[Operation, Failure],
) -> None:
    """Record that a question failed; `failing_since` stays the first time.

    If the upstream asked for a pause, the question fails until that is over: nobody asks it again.
    """
    operation, failure = failed
    row = {
        "network_id": network_id,
        "operation": operation,
        "failing_since": asked_at,
        "last_failed_at": asked_at + (failure.retry_after or timedelta()),
        "failure_kind": failure.kind,
        "failure_message": failure.message,
    }
    upsert(connection, standing_failures, [row], keep=frozenset({"failing_since"}))


def note_answered(
    connection: Connection,
    network_id: NetworkId,
    operations: Collection[Operation],
    asked_at: datetime,
) -> None:
    same = {"network_id": network_id, "answered_at": asked_at}
    upsert(connection, last_answers, [{**same, "operation": each} for each in operations])
    note_unasked(connection, network_id, *operations)


def note_unasked(connection: Connection, network_id: NetworkId, *operations: Operation) -> None:
    """Record that failures of questions say nothing of now, as these are not asked any more."""
    connection.execute(_ANSWERED, {"of_network": network_id, "some": operations})


def last_answers_of(
    connection: Connection, network_ids: Collection[NetworkId]
) -> dict[tuple[NetworkId, Operation], datetime]:
    """Return when each question of several networks was last answered, if it ever was."""
    query = select(last_answers).where(last_answers.c.network_id.in_(network_ids))
    return {
        (row.network_id, Operation(row.operation)): row.answered_at
        for row in connection.execute(query)
    }


def read_standing_failures(
    connection: Connection, network_id: NetworkId
) -> tuple[StandingFailure, ...]:
    """Return what a network does not answer now, the longest outage first."""
    return tuple(standing_failures_of(connection, [network_id])[network_id])


def standing_failures_of(
    connection: Connection, network_ids: Collection[NetworkId]
) -> dict[NetworkId, list[StandingFailure]]:
    """Return the same of several networks."""
    found: dict[NetworkId, list[StandingFailure]] = {each: [] for each in network_ids}
    for row in connection.execute(_FAILURES, {"some": list(network_ids)}):
        failure = Failure(FailureKind(row.failure_kind), row.failure_message)
        standing = read_as(StandingFailure, row, standing_failures, failure=failure)
        found[row.network_id].append(standing)
    return found


def note_transports(
    connection: Connection, network_id: NetworkId, states: Mapping[str, Iterable[TransportState]]
) -> None:
    """Store which transport each endpoint accepts, by its name."""
    rows = [
        columns_of(endpoint_transports, each, network_id=network_id, endpoint=endpoint)
        for endpoint, some in states.items()
        for each in some
    ]
    upsert(connection, endpoint_transports, rows)


def transports_of(
    connection: Connection, network_ids: Collection[NetworkId]
) -> dict[NetworkId, dict[str, list[TransportState]]]:
    """Return the transports of the endpoints of networks, by their names."""
    column = endpoint_transports.c
    query = (
        select(endpoint_transports)
        .where(column.network_id.in_(network_ids))
        .order_by(column.network_id, column.endpoint, column.is_used.desc(), column.transport)
    )
    found: dict[NetworkId, dict[str, list[TransportState]]] = {
        each: defaultdict(list) for each in network_ids
    }
    for row in connection.execute(query):
        state = read_as(TransportState, row, endpoint_transports)
        found[row.network_id][row.endpoint].append(state)
    return found
