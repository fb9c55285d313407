"""Poll results: one row for each cohort and network, one for each hash that nobody watches.

Hashes of a cohort share their result; those with another one move to a new cohort.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from dashboard.domain.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.engine.portions import portions
from dashboard.store.schema import checks, cohorts, rejections, tracked_hashes, watched_cohorts
from dashboard.store.schema.columns import Hash, Moment
from dashboard.store.schema.tracking import POLL_RESULT_COLUMNS
from dashboard.store.tracking.cohorts import Cohort, mark_rejected, split_cohort

NO_FAILURE: Final = {"failing_since": None, "failure_kind": None, "failure_message": None}


@dataclass(frozen=True, slots=True)
class Asked:
    """A cohort with what was answered about all of its hashes, or about `is_whole` not all."""

    cohort: Cohort
    answers: Sequence[ExclusionAnswer]
    is_whole: bool = True


class PollResult(NamedTuple):
    """What came of one question, as far as hashes must share it to stay together.

    Failures of one kind that are told in different words part nobody.
    """

    failure: FailureKind | None
    is_rejected: bool


def record_cohort_results(
    connection: Connection, network_id: NetworkId, asked_at: datetime, asked: Iterable[Asked]
) -> dict[int, PollResult]:
    """Remember what came of asking cohorts; return of each what came of those who stay in it.

    The others leave for new cohorts. Of a cohort about which there is no news one row is written,
    however many its hashes are. Of those that failed alike the commonest words are kept.
    """
    stayed: dict[int, PollResult] = {}
    came: defaultdict[tuple[PollResult, str], list[int]] = defaultdict(list)
    for each in asked:
        groups = _grouped(each)
        cohort_id = each.cohort.cohort_id
        if each.is_whole:
            staying = max(groups, key=lambda outcome: len(groups[outcome]))
            stayed[cohort_id] = staying
            came[staying, _words(groups.pop(staying))].append(cohort_id)
        for outcome, answers in groups.items():
            left_for = split_cohort(connection, cohort_id, [answer.tx_hash for answer in answers])
            if left_for is not None:
                came[outcome, _words(answers)].append(left_for)
    for (outcome, words), cohort_ids in came.items():
        changed = _changed(asked_at, outcome, words)
        _write(connection, network_id, changed, cohort_ids)
        if outcome.is_rejected:
            _note_records(connection, cohort_ids)
    return stayed


def _grouped(asked: Asked) -> dict[PollResult, list[ExclusionAnswer]]:
    groups: defaultdict[PollResult, list[ExclusionAnswer]] = defaultdict(list)
    was_rejected = asked.cohort.is_rejected
    for answer in asked.answers:
        kind = None if answer.failure is None else answer.failure.kind
        groups[PollResult(kind, was_rejected or answer.record is not None)].append(answer)
    return groups


def _words(answers: Sequence[ExclusionAnswer]) -> str:
    """Return what most of these failures say, nothing where they are none."""
    told = Counter(each.failure.message for each in answers if each.failure is not None)
    return told.most_common(1)[0][0] if told else ""


def _changed(asked_at: datetime, outcome: PollResult, words: str) -> dict[str, Any]:
    column, at = watched_cohorts.c, literal(asked_at, Moment)
    values: dict[str, Any] = {"last_asked_at": asked_at}
    if outcome.is_rejected:
        values["is_rejected"] = True
    if outcome.failure is None:
        first = func.coalesce(column.first_answered_at, at)
        return values | NO_FAILURE | {"last_answered_at": at, "first_answered_at": first}
    values["failing_since"] = func.coalesce(column.failing_since, at)
    return values | row_of_failure(Failure(outcome.failure, words))


def _write(
    connection: Connection,
    network_id: NetworkId,
    values: Mapping[str, Any],
    cohort_ids: Sequence[int],
) -> None:
    column = watched_cohorts.c
    for some in portions(cohort_ids):
        of_cohorts = update(watched_cohorts).where(column.cohort_id.in_(some))
        connection.execute(of_cohorts.where(column.network_id == network_id).values(**values))


def _note_records(connection: Connection, cohort_ids: Sequence[int]) -> None:
    """Let cohorts know, once, that each of their hashes has a record."""
    column = cohorts.c
    for some in portions(cohort_ids):
        new = update(cohorts).where(column.cohort_id.in_(some), column.is_rejected.is_(False))
        connection.execute(new.values(is_rejected=True))


def row_of_failure(failure: Failure) -> dict[str, str]:
    """Write a failure as columns."""
    return {"failure_kind": failure.kind, "failure_message": failure.message}


Came: TypeAlias = tuple[tuple[NetworkId, tuple[Any, ...]], ...]
"""What came of asking networks, in the order of `POLL_RESULT_COLUMNS`."""

_CHECKED: Final = tuple(checks.c[name] for name in POLL_RESULT_COLUMNS)


def adopt_earlier_results(connection: Connection, cohort_ids: Sequence[int]) -> None:
    """Give the hashes of new cohorts what was known of them before they were watched."""
    for some in portions(cohort_ids):
        rejected = _rejected(connection, some)
        for (cohort_id, came), hashes in _asked(connection, some).items():
            theirs = split_cohort(connection, cohort_id, hashes)
            for network_id, values in came:
                of_theirs = _is_watch(theirs, network_id)
                told = dict(zip(POLL_RESULT_COLUMNS, values, strict=True))
                connection.execute(update(watched_cohorts).where(of_theirs).values(**told))
                _forget(connection, network_id, hashes)
        for network_id, hashes in rejected.items():
            mark_rejected(connection, network_id, hashes)


def keep_results_of_removed(connection: Connection, tx_hash: TxHash, cohort_id: int) -> None:
    """Keep what came of asking about a hash that leaves its cohort for none."""
    names = ["network_id", *POLL_RESULT_COLUMNS]
    came = select(literal(tx_hash, Hash), *watched_cohorts.c[tuple(names)]).where(
        watched_cohorts.c.cohort_id == cohort_id, watched_cohorts.c.last_asked_at.is_not(None)
    )
    connection.execute(insert(checks).from_select(["tx_hash", *names], came))


def _asked(
    connection: Connection, cohort_ids: Sequence[int]
) -> dict[tuple[int, Came], list[TxHash]]:
    """Return hashes that were asked about, by their cohorts and by what came of it."""
    query = (
        select(*tracked_hashes.c["cohort_id", "tx_hash"], checks.c.network_id, *_CHECKED)
        .join(checks, checks.c.tx_hash == tracked_hashes.c.tx_hash)
        .join(watched_cohorts, _is_watched_on(checks.c.network_id))
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids))
        .order_by(checks.c.network_id)
    )
    came: defaultdict[tuple[int, TxHash], Came] = defaultdict(tuple)
    for cohort_id, tx_hash, network_id, *values in connection.execute(query):
        came[cohort_id, tx_hash] += ((network_id, tuple(values)),)
    alike: defaultdict[tuple[int, Came], list[TxHash]] = defaultdict(list)
    for (cohort_id, tx_hash), each in came.items():
        alike[cohort_id, each].append(tx_hash)
    return alike


def _rejected(connection: Connection, cohort_ids: Sequence[int]) -> dict[NetworkId, list[TxHash]]:
    """Return hashes of which records are held, by the networks of these."""
    query = (
        select(rejections.c.network_id, tracked_hashes.c.tx_hash)
        .distinct()
        .join_from(tracked_hashes, rejections, rejections.c.tx_hash == tracked_hashes.c.tx_hash)
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids))
    )
    found: defaultdict[NetworkId, list[TxHash]] = defaultdict(list)
    for network_id, tx_hash in connection.execute(query):
        found[network_id].append(tx_hash)
    return found


def _is_watched_on(network_id: ColumnElement[int]) -> ColumnElement[bool]:
    column = watched_cohorts.c
    return and_(column.cohort_id == tracked_hashes.c.cohort_id, column.network_id == network_id)


def _is_watch(cohort_id: int | None, network_id: NetworkId) -> ColumnElement[bool]:
    column = watched_cohorts.c
    return and_(column.cohort_id == cohort_id, column.network_id == network_id)


def _forget(connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]) -> None:
    for some in portions(hashes):
        column = checks.c
        of_hashes = and_(column.tx_hash.in_(some), column.network_id == network_id)
        connection.execute(delete(checks).where(of_hashes))
