"""Apply retention: purge old rows, in transactions so short that no other writer waits long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from dashboard.domain.health.retention import Before
from dashboard.store.access.audit_log import allow_purge_before, purge_allowed
from dashboard.store.engine.batching import AdaptiveBatches
from dashboard.store.engine.engine import Store
from dashboard.store.retention.purge_fees import purge_fee_minutes, purge_fees
from dashboard.store.retention.purge_lookup_results import (
    purge_follow_ups,
    purge_key_uses,
    purge_untracked_lookups,
)
from dashboard.store.retention.purge_monitoring import (
    purge_answer_counts,
    purge_coverage_gaps,
    purge_credits,
)
from dashboard.store.retention.purge_notifications import purge_notifications
from dashboard.store.retention.purge_rejections import purge_rejections
from dashboard.store.tracking.saved import purge_saved_lookups


class PurgeBatch(NamedTuple):
    """What one transaction deleted, and for how many seconds nobody else could write."""

    kind: str
    rows: int
    took: float


def apply_retention(
    store: Store, before: Before, pace: AdaptiveBatches | None = None
) -> Iterator[PurgeBatch]:
    """Delete what is older than it is kept, one transaction for each batch that is asked for.

    No transaction is open between two batches: the caller pauses as long as others need.
    """
    batches = AdaptiveBatches() if pace is None else pace
    for kind, purge, moment in (
        ("fees", purge_fees, before.fees),
        ("fee minutes", purge_fee_minutes, before.fee_minutes),
        ("notifications", purge_notifications, before.notifications),
        ("rejections", purge_rejections, before.rejections),
        ("answers", purge_untracked_lookups, before.untracked_answers),
        ("saved look-ups", purge_saved_lookups, before.saved_lookups),
        ("follow-ups", purge_follow_ups, before.untracked_answers),
        ("uses of keys", purge_key_uses, before.untracked_answers),
        ("audit log", _purge_audit_log, before.audit_log),
        ("credits", purge_credits, before.credits),
        ("answers of sources", purge_answer_counts, before.answer_counts),
        ("coverage gaps", purge_coverage_gaps, before.coverage_gaps),
    ):
        if moment is not None:
            own = batches.restarted()
            for rows in purge(store, moment, own):
                yield PurgeBatch(kind, rows, own.took)


def _purge_audit_log(store: Store, before: datetime, pace: AdaptiveBatches) -> Iterator[int]:
    with pace.writing(store) as connection:
        allow_purge_before(connection, before)
    deleted = 1
    while deleted:
        with pace.writing(store) as connection:
            deleted = purge_allowed(connection, pace.rows)
        yield deleted
