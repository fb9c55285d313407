"""Standing failures: which questions to a network get no answer, since when and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select

from dashboard.domain.observation import Failure, FailureKind, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import last_answers, standing_failures


@dataclass(frozen=True, slots=True)
class StandingFailure:
    """A question that failed and was not answered since; `failure` is the latest one."""

    operation: Operation
    failing_since: datetime
    last_failed_at: datetime
    failure: Failure


def record_failure(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    failed: tuple[Operation, Failure],
) -> None:
    """Remember that a question failed; `failing_since` stays the first time."""
    operation, failure = failed
    row = {
        "network_id": network_id,
        "operation": operation,
        "failing_since": asked_at,
        "last_failed_at": asked_at,
        "failure_kind": failure.kind,
        "failure_message": failure.message,
    }
    upsert(connection, standing_failures, [row], keep=frozenset({"failing_since"}))


def record_answer(
    connection: Connection, network_id: NetworkId, operation: Operation, asked_at: datetime
) -> None:
    """Remember that a question was answered."""
    row = {"network_id": network_id, "operation": operation, "answered_at": asked_at}
    upsert(connection, last_answers, [row])
    answered = delete(standing_failures).where(
        standing_failures.c.network_id == network_id, standing_failures.c.operation == operation
    )
    connection.execute(answered)


def last_answers_of(
    connection: Connection, network_ids: Collection[NetworkId]
) -> dict[tuple[NetworkId, Operation], datetime]:
    """Return when several networks last answered each question that they ever answered."""
    query = select(last_answers).where(last_answers.c.network_id.in_(network_ids))
    return {
        (row.network_id, Operation(row.operation)): row.answered_at
        for row in connection.execute(query)
    }


def read_standing_failures(
    connection: Connection, network_id: NetworkId
) -> tuple[StandingFailure, ...]:
    """Return what a network does not answer now, the longest silence first."""
    return tuple(standing_failures_of(connection, [network_id])[network_id])


def standing_failures_of(
    connection: Connection, network_ids: Collection[NetworkId]
) -> dict[NetworkId, list[StandingFailure]]:
    """Return the same of several networks."""
    query = (
        select(standing_failures)
        .where(standing_failures.c.network_id.in_(network_ids))
        .order_by(standing_failures.c.failing_since, standing_failures.c.operation)
    )
    found: dict[NetworkId, list[StandingFailure]] = {each: [] for each in network_ids}
    for row in connection.execute(query):
        failure = Failure(FailureKind(row.failure_kind), row.failure_message)
        found[row.network_id].append(
            StandingFailure(
                Operation(row.operation), row.failing_since, row.last_failed_at, failure
            )
        )
    return found
