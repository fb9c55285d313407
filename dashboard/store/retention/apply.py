"""Apply retention: what is purged when, kind by kind, and the loop that purges it.

Old rows are found by an index while others write, and deleted in transactions so short that no
other writer waits long. Each of these checks again whether a row may go: time has passed since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.engine.engine import Store
from dashboard.store.retention.old_rows import (
    ANSWERS,
    AUDIT_LOG,
    FOLLOW_UPS,
    USES_OF_KEYS,
    OldRows,
    fee_series,
    rows_by_time,
)
from dashboard.store.retention.purge import NOTIFICATIONS, REJECTIONS
from dashboard.store.schema import (
    answer_counts,
    coverage_gaps,
    credit_ledger,
    estimated_base_fees,
    fee_percentiles,
    fee_rollups,
    saved_lookups,
    suggested_gas_fees,
)


class _Purge(NamedTuple):
    """A kind as the log names it, the field of `Retention` that says its age, and its rows."""

    kind: str
    age: str
    rows: OldRows


PURGES: Final = (
    _Purge("fees", "fees", fee_series(suggested_gas_fees)),
    _Purge("fees", "fees", fee_series(estimated_base_fees)),
    _Purge("fees", "fees", fee_series(fee_percentiles)),
    _Purge("fee minutes", "fee_minutes", fee_series(fee_rollups)),
    _Purge("notifications", "notifications", NOTIFICATIONS),
    _Purge("rejections", "rejections", REJECTIONS),
    _Purge("answers", "untracked_answers", ANSWERS),
    _Purge("saved look-ups", "saved_lookups", rows_by_time(saved_lookups.c.asked_at)),
    _Purge("follow-ups", "untracked_answers", FOLLOW_UPS),
    _Purge("uses of keys", "untracked_answers", USES_OF_KEYS),
    _Purge("audit log", "audit_log", AUDIT_LOG),
    _Purge("credits", "credits", rows_by_time(credit_ledger.c.hour)),
    _Purge("answers of sources", "answer_counts", rows_by_time(answer_counts.c.quarter)),
    _Purge(
        "coverage gaps",
        "coverage_gaps",
        rows_by_time(coverage_gaps.c.begins_at, coverage_gaps.c.ends_at),
    ),
)


class PurgeBatch(NamedTuple):
    """What one transaction deleted, and for how many seconds nobody else could write."""

    kind: str
    rows: int
    took: float


def apply_retention(
    store: Store, before: Mapping[str, datetime], pace: AdaptiveBatches | None = None
) -> Iterator[PurgeBatch]:
    """Delete data past its retention, one transaction for each batch.

    `before` is what `Retention.before` returns. No transaction is open between two batches: the
    caller pauses as long as others need.
    """
    batches = AdaptiveBatches() if pace is None else pace
    for purge in PURGES:
        moment = before.get(purge.age)
        if moment is not None:
            own = batches.restarted()
            for rows in _batches(store, purge.rows, moment, own):
                yield PurgeBatch(purge.kind, rows, own.took)


def _batches(store: Store, rows: OldRows, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    after = None
    while True:
        with store.read() as connection:
            found = rows.find(connection, before, after)
        if not found:
            return
        after = found[-1]
        yield from pace.in_batches(
            store, found, lambda connection, some: rows.delete(connection, some, before)
        )
