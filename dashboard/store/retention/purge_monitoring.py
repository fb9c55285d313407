"""Purge credits, answers of sources and coverage gaps, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, and_, delete, select, tuple_

from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.engine.engine import Store
from dashboard.store.schema import answer_counts, coverage_gaps, credit_ledger


def purge_credits(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete what was spent in hours that began before."""
    hour = credit_ledger.c.hour
    return _purge(store, hour, hour < before, pace)


def purge_answer_counts(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete what became of questions in quarters of an hour that began before."""
    quarter = answer_counts.c.quarter
    return _purge(store, quarter, quarter < before, pace)


def purge_coverage_gaps(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    """Delete gaps that ended before; one that lasts stays, however long ago it began."""
    column = coverage_gaps.c
    is_over = and_(column.begins_at < before, column.ends_at < before)
    return _purge(store, column.begins_at, is_over, pace)


def _purge(
    store: Store, began: Column[Any], is_old: ColumnElement[bool], pace: AdaptiveBatches
) -> Iterator[int]:
    table = began.table
    keys = tuple(table.primary_key)
    oldest = select(*keys).where(is_old).order_by(began)
    deleted = 1
    while deleted:
        with pace.writing(store) as connection:
            found = [tuple(row) for row in connection.execute(oldest.limit(pace.rows))]
            if found:
                connection.execute(delete(table).where(tuple_(*keys).in_(found)))
        deleted = len(found)
        yield deleted
