"""Rejections as people search for them, a page of rows at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.rejections.counts import has_counters, rows_to_count
from dashboard.store.rejections.filter import latest_first
from dashboard.store.schema import rejections
from dashboard.store.schema.columns import moment_of
from dashboard.store.schema.rejections import stored_rejection


def search(
    connection: Connection, wanted: RejectionFilter, limit: int | None = None, skipped: int = 0
) -> list[StoredRejection]:
    """Return the rejections that fit after the first `skipped`, at most `limit`.

    The latest arrival comes first.
    """
    query = latest_first(wanted, *rejections.c).limit(limit).offset(skipped)
    return [stored_rejection(row) for row in connection.execute(query).mappings()]


def latest_reasons(connection: Connection, wanted: RejectionFilter, limit: int) -> list[str]:
    """Return the reasons, as they were sent, of the latest `limit` rejections that fit."""
    return list(connection.scalars(latest_first(wanted, rejections.c.reason_message).limit(limit)))


_MOST_SKIPPED: Final = 500
"""Rows that are skipped one by one; beyond, counters find the page."""

_STEPS: Final = (timedelta(days=7), timedelta(days=1), timedelta(hours=1))
_MILLISECOND: Final = timedelta(milliseconds=1)


def search_page(
    connection: Connection, wanted: RejectionFilter, limit: int, skipped: int
) -> list[StoredRejection]:
    """Return what `search` returns, fast for late pages too: counters say where they begin."""
    since = wanted.since
    if skipped > _MOST_SKIPPED and has_counters(connection, wanted):
        for step in _STEPS:
            found = _find_step(connection, wanted, skipped, step)
            if found is None:
                return []
            wanted, passed = found
            skipped -= passed
    return search(connection, replace(wanted, since=since), limit, skipped)


def _find_step(
    connection: Connection, wanted: RejectionFilter, skipped: int, step: timedelta
) -> tuple[RejectionFilter, int] | None:
    """Narrow the filter to the step with the first row of the page; return how many come before.

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
