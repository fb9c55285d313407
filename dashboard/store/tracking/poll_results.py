"""Poll results: one row for each cohort and network, one for each hash that is not tracked.

The hashes of a cohort share one result. If some get another result, they move to a new cohort. A
hash that is looked up but not tracked has its own row, in `checks`, until it is tracked; a hash
that is no longer tracked gets such a row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Update,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.store.engine.batching import grouped, portions
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import (
    checks,
    cohorts,
    follow_ups,
    polled_cohorts,
    rejections,
    tracked_hashes,
    watched_cohorts,
)
from dashboard.store.schema.columns import Hash, Moment
from dashboard.store.schema.tracking import POLL_RESULT_COLUMNS
from dashboard.store.tracking.cohorts import (
    Cohort,
    PollResult,
    mark_included,
    mark_rejected,
    split_cohort,
)

_NO_FAILURE: Final = {"failing_since": None, "failure_kind": None, "failure_message": None}

_Columns: TypeAlias = tuple[Any, ...]
"""The values of `POLL_RESULT_COLUMNS`, in their order."""


def record_poll_results(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    polled: Iterable[Cohort],
    answers: Mapping[TxHash, ExclusionAnswer],
) -> dict[int, PollResult]:
    """Write the results of cohorts; return those of whole cohorts. None: not answered.

    If the hashes of a cohort were answered differently, most of them stay, and the others move to
    new cohorts. So an unchanged cohort costs one row, however many hashes it has. If failures of
    one kind differ in their message, the most frequent message is kept.
    """
    results: dict[int, PollResult] = {}
    changes: defaultdict[tuple[PollResult, str], list[int]] = defaultdict(list)
    for cohort in polled:
        groups = _by_result(cohort, answers)
        if cohort.is_whole:
            commonest = max(groups, key=lambda result: len(groups[result]))
            results[cohort.cohort_id] = commonest
            message = _commonest_message(commonest, groups.pop(commonest), answers)
            changes[commonest, message].append(cohort.cohort_id)
        for result, some in groups.items():
            new_id = split_cohort(connection, cohort.cohort_id, some)
            if new_id is not None:
                changes[result, _commonest_message(result, some, answers)].append(new_id)
    for (result, message), cohort_ids in changes.items():
        said = {"of_network": network_id, "at": asked_at, "message": message}
        for ids in portions(cohort_ids):
            connection.execute(_update_of(result), {"some": ids, **said})
        if result.is_rejected:
            _mark_cohorts_rejected(connection, cohort_ids)
    return results


def answered_hash(connection: Connection, network_id: NetworkId) -> TxHash | None:
    """Return a hash that was answered when it was last asked about, of the newest such cohort."""
    watched, column = watched_cohorts.c, tracked_hashes.c
    newest = select(watched.cohort_id).where(
        watched.network_id == network_id,
        watched.last_answered_at.is_not(None),
        watched.failing_since.is_(None),
    )
    newest = newest.order_by(watched.cohort_id.desc()).limit(1)
    of_cohort = column.cohort_id == newest.scalar_subquery()
    return connection.scalars(select(column.tx_hash).where(of_cohort).limit(1)).first()


def record_untracked_results(
    connection: Connection,
    network_id: NetworkId,
    asked_at: datetime,
    answers: Iterable[ExclusionAnswer],
) -> None:
    """Write a row for each hash that is not tracked on the network."""
    answered, failed = [], []
    for answer in answers:
        asked = {"tx_hash": answer.tx_hash, "network_id": network_id, "last_asked_at": asked_at}
        if answer.failure is None:
            at = {"first_answered_at": asked_at, "last_answered_at": asked_at}
            answered.append(asked | at | _NO_FAILURE)
        else:
            why = {"failure_kind": answer.failure.kind, "failure_message": answer.failure.message}
            failed.append(asked | {"failing_since": asked_at} | why)
    upsert(connection, checks, answered, keep=frozenset({"first_answered_at"}))
    upsert(connection, checks, failed, keep=frozenset({"failing_since"}))


def adopt_earlier_results(connection: Connection, cohort_ids: Sequence[int]) -> None:
    """Give new cohorts the results and blocks that were known before they were tracked."""
    for some in portions(cohort_ids):
        rejected, included = rejected_in(connection, some), _included_in(connection, some)
        for (cohort_id, results), hashes in _earlier_results(connection, some).items():
            new_id = split_cohort(connection, cohort_id, hashes)
            for network_id, values in results:
                columns = dict(zip(POLL_RESULT_COLUMNS, values, strict=True))
                of_cohort = _is_watch(new_id, network_id)
                connection.execute(update(watched_cohorts).where(of_cohort).values(**columns))
                _delete_checks(connection, network_id, hashes)
        for network_id, hashes in rejected.items():
            mark_rejected(connection, network_id, hashes)
        for (network_id, at), hashes in included.items():
            mark_included(connection, network_id, hashes, at)


def keep_results_of_removed(connection: Connection, tx_hash: TxHash, cohort_id: int) -> None:
    """Keep the results of a hash that is no longer tracked."""
    names = ["network_id", *POLL_RESULT_COLUMNS]
    results = select(literal(tx_hash, Hash), *polled_cohorts.c[tuple(names)]).where(
        polled_cohorts.c.cohort_id == cohort_id, polled_cohorts.c.last_asked_at.is_not(None)
    )
    connection.execute(insert(checks).from_select(["tx_hash", *names], results))


def _by_result(
    cohort: Cohort, answers: Mapping[TxHash, ExclusionAnswer]
) -> dict[PollResult, Sequence[TxHash]]:
    if not answers or answers.keys().isdisjoint(cohort.hashes):  # nearly always
        return {_result(cohort, None): cohort.hashes}
    return {**grouped((_result(cohort, answers.get(each)), each) for each in cohort.hashes)}


def _result(cohort: Cohort, answer: ExclusionAnswer | None) -> PollResult:
    if answer is None:
        return PollResult(None, cohort.is_rejected, cohort.is_included)
    return PollResult(
        None if answer.failure is None else answer.failure.kind,
        cohort.is_rejected or answer.record is not None,
        cohort.is_included,
        answer.is_claimed_included,
    )


def _commonest_message(
    result: PollResult, hashes: Sequence[TxHash], answers: Mapping[TxHash, ExclusionAnswer]
) -> str:
    """Return the most frequent message of the failures of these hashes; empty without a failure."""
    if result.is_answered:
        return ""
    failures = (answers[each].failure for each in hashes)
    messages = Counter(each.message for each in failures if each is not None)
    return messages.most_common(1)[0][0]


@cache
def _update_of(result: PollResult) -> Update:
    """Return the cached update that writes a result `at` a moment, with the failure's `message`."""
    column, at = watched_cohorts.c, bindparam("at", type_=Moment)
    values: dict[str, Any] = {"last_asked_at": at}
    if result.is_rejected:
        values["is_rejected"] = True
    if result.failure is None:
        first = func.coalesce(column.first_answered_at, at)
        values |= _NO_FAILURE | {"last_answered_at": at, "first_answered_at": first}
    else:
        values["failing_since"] = func.coalesce(column.failing_since, at)
        values |= {"failure_kind": result.failure, "failure_message": bindparam("message")}
    of_cohorts = column.cohort_id.in_(bindparam("some", expanding=True))
    of_network = column.network_id == bindparam("of_network")
    return update(watched_cohorts).where(of_cohorts, of_network).values(**values)


def _mark_cohorts_rejected(connection: Connection, cohort_ids: Sequence[int]) -> None:
    """Mark unmarked cohorts in which each hash has a rejection."""
    column = cohorts.c
    for some in portions(cohort_ids):
        new = update(cohorts).where(column.cohort_id.in_(some), column.is_rejected.is_(False))
        connection.execute(new.values(is_rejected=True))


def _earlier_results(
    connection: Connection, cohort_ids: Sequence[int]
) -> dict[tuple[int, tuple[tuple[NetworkId, _Columns], ...]], list[TxHash]]:
    """Return hashes that were asked about earlier, by cohort and by their results on networks."""
    columns = (checks.c[name] for name in POLL_RESULT_COLUMNS)
    query = (
        select(*tracked_hashes.c["cohort_id", "tx_hash"], checks.c.network_id, *columns)
        .join(checks, checks.c.tx_hash == tracked_hashes.c.tx_hash)
        .join(watched_cohorts, _is_watch(tracked_hashes.c.cohort_id, checks.c.network_id))
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids))
        .order_by(checks.c.network_id)
    )
    results: defaultdict[tuple[int, TxHash], tuple[tuple[NetworkId, _Columns], ...]]
    results = defaultdict(tuple)
    for cohort_id, tx_hash, network_id, *values in connection.execute(query):
        results[cohort_id, tx_hash] += ((network_id, tuple(values)),)
    return grouped(((of, each), tx_hash) for (of, tx_hash), each in results.items())


def rejected_in(connection: Connection, cohort_ids: Sequence[int]) -> dict[NetworkId, list[TxHash]]:
    """Return the hashes of cohorts that have rejections, by the networks of these."""
    query = (
        select(rejections.c.network_id, tracked_hashes.c.tx_hash)
        .distinct()
        .join_from(tracked_hashes, rejections, rejections.c.tx_hash == tracked_hashes.c.tx_hash)
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids))
    )
    return grouped(connection.execute(query))


def _included_in(
    connection: Connection, cohort_ids: Sequence[int]
) -> dict[tuple[NetworkId, datetime], list[TxHash]]:
    """Return the hashes of cohorts that are in blocks, by network and by when that was seen."""
    column = follow_ups.c
    query = (
        select(column.network_id, column.included_since, column.tx_hash)
        .join_from(tracked_hashes, follow_ups, column.tx_hash == tracked_hashes.c.tx_hash)
        .where(tracked_hashes.c.cohort_id.in_(cohort_ids), column.included_since.is_not(None))
    )
    return grouped(((on, at), tx_hash) for on, at, tx_hash in connection.execute(query))


def _is_watch(
    cohort_id: ColumnElement[int] | int | None, network_id: ColumnElement[int] | NetworkId
) -> ColumnElement[bool]:
    column = watched_cohorts.c
    return and_(column.cohort_id == cohort_id, column.network_id == network_id)


def _delete_checks(connection: Connection, network_id: NetworkId, hashes: Sequence[TxHash]) -> None:
    for some in portions(hashes):
        column = checks.c
        of_hashes = and_(column.tx_hash.in_(some), column.network_id == network_id)
        connection.execute(delete(checks).where(of_hashes))
