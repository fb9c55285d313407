"""Rejections leaf by leaf: a late leaf of a long list is found by tallies, not by skipping rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.rejections.counting import is_tallied, rows_to_count
from dashboard.store.rejections.search import search
from dashboard.store.schema.columns import moment_of

_MOST_SKIPPED: Final = 500
"""So many rows are skipped one by one."""

_STEPS: Final = (timedelta(days=7), timedelta(days=1), timedelta(hours=1))
_MILLISECOND: Final = timedelta(milliseconds=1)


def leaf(
    connection: Connection, wanted: RejectionFilter, limit: int, skipped: int
) -> list[StoredRejection]:
    """Return what `search` returns, as quickly however many are skipped."""
    since = wanted.since
    if skipped > _MOST_SKIPPED and is_tallied(connection, wanted):
        for step in _STEPS:
            found = _step_with(connection, wanted, skipped, step)
            if found is None:
                return []
            wanted, passed = found
            skipped -= passed
    return search(connection, replace(wanted, since=since), limit, skipped)


def _step_with(
    connection: Connection, wanted: RejectionFilter, skipped: int, step: timedelta
) -> tuple[RejectionFilter, int] | None:
    """Narrow to the step with the first row that is not skipped; tell how many come before it.

    None where all are skipped.
    """
    counted = rows_to_count(connection, wanted, step)
    begins = counted.c.begins
    many = func.sum(counted.c.many).label("many")
    query = select(begins, many).group_by(begins).order_by(begins.desc())
    passed = 0
    for row in connection.execute(query):
        if passed + row.many > skipped:
            since = moment_of(row.begins)
            until = since + step - _MILLISECOND
            return replace(
                wanted,
                since=since if wanted.since is None else max(since, wanted.since),
                until=until if wanted.until is None else min(until, wanted.until),
            ), passed
        passed += int(row.many)
    return None
