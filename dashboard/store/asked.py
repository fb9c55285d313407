"""What came of asking about cohorts: a row for each, and partings where it is not the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, literal, update

from dashboard.domain.observation import ExclusionAnswer, Failure
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.cohorts import Cohort, part, portions
from dashboard.store.columns import Moment
from dashboard.store.schema import watched_cohorts

NO_FAILURE: Final = {"failing_since": None, "failure_kind": None, "failure_message": None}


@dataclass(frozen=True, slots=True)
class Asked:
    """A cohort with what was answered about all of its hashes, or about `is_whole` not all."""

    cohort: Cohort
    answers: Sequence[ExclusionAnswer]
    is_whole: bool = True


class Outcome(NamedTuple):
    """What came of one question, as far as hashes can share it."""

    failure: Failure | None
    is_rejected: bool


def record_cohorts(
    connection: Connection, network_id: NetworkId, asked_at: datetime, asked: Iterable[Asked]
) -> dict[int, Outcome]:
    """Remember what came of asking cohorts; return of each what came of those who stay in it.

    The others leave for new cohorts. Of a cohort about which there is no news one row is written,
    however many its hashes are.
    """
    stayed: dict[int, Outcome] = {}
    came: defaultdict[Outcome, list[int]] = defaultdict(list)
    for each in asked:
        groups = _grouped(each)
        cohort_id = each.cohort.cohort_id
        if each.is_whole:
            staying = max(groups, key=lambda outcome: len(groups[outcome]))
            stayed[cohort_id] = staying
            came[staying].append(cohort_id)
            del groups[staying]
        for outcome, hashes in groups.items():
            left_for = part(connection, cohort_id, hashes)
            if left_for is not None:
                came[outcome].append(left_for)
    for outcome, cohort_ids in came.items():
        _write(connection, network_id, asked_at, outcome, cohort_ids)
    return stayed


def _grouped(asked: Asked) -> dict[Outcome, list[TxHash]]:
    groups: defaultdict[Outcome, list[TxHash]] = defaultdict(list)
    was_rejected = asked.cohort.is_rejected
    for answer in asked.answers:
        is_rejected = was_rejected or answer.record is not None
        groups[Outcome(answer.failure, is_rejected)].append(answer.tx_hash)
    return groups


def _write(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    outcome: Outcome,
    cohort_ids: Sequence[int],
) -> None:
    column = watched_cohorts.c
    values: dict[str, Any] = {"last_asked_at": asked_at}
    if outcome.is_rejected:
        values["is_rejected"] = True
    at = literal(asked_at, Moment)
    if outcome.failure is None:
        values |= NO_FAILURE | {"last_answered_at": at}
        values["first_answered_at"] = func.coalesce(column.first_answered_at, at)
    else:
        values["failing_since"] = func.coalesce(column.failing_since, at)
        values |= row_of_failure(outcome.failure)
    for some in portions(cohort_ids):
        of_cohorts = update(watched_cohorts).where(column.cohort_id.in_(some))
        connection.execute(of_cohorts.where(column.network_id == network_id).values(**values))


def row_of_failure(failure: Failure) -> dict[str, str]:
    """Write a failure as columns."""
    return {"failure_kind": failure.kind, "failure_message": failure.message}
