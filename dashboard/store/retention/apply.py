"""Retention: what is forgotten in time, in steps so small that nobody waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from dashboard.domain.retention import Before
from dashboard.store.access.audit_log import forget_let_go, let_go_before
from dashboard.store.engine.batching import Pace
from dashboard.store.engine.engine import Store
from dashboard.store.retention.purge_fees import forget_fee_minutes, forget_fees
from dashboard.store.retention.purge_lookup_results import (
    forget_checks,
    forget_follow_ups,
    forget_key_uses,
)
from dashboard.store.retention.purge_monitoring import forget_coverage_gaps, forget_credits
from dashboard.store.retention.purge_notifications import forget_notifications
from dashboard.store.retention.purge_rejections import forget_rejections
from dashboard.store.tracking.saved_lookups import purge_saved_lookups


class Step(NamedTuple):
    """What one transaction forgot, and for how many seconds nobody else could write."""

    kind: str
    rows: int
    took: float


def keep_house(store: Store, before: Before, pace: Pace | None = None) -> Iterator[Step]:
    """Forget what is older than it is kept, one transaction for each step that is asked for.

    Nothing is open between two steps: whoever takes them pauses as long as others need.
    """
    steps = Pace() if pace is None else pace
    for kind, forget, moment in (
        ("fees", forget_fees, before.fees),
        ("fee minutes", forget_fee_minutes, before.fee_minutes),
        ("notifications", forget_notifications, before.notifications),
        ("rejections", forget_rejections, before.rejections),
        ("answers", forget_checks, before.untracked_answers),
        ("saved look-ups", purge_saved_lookups, before.saved_lookups),
        ("follow-ups", forget_follow_ups, before.untracked_answers),
        ("uses of keys", forget_key_uses, before.untracked_answers),
        ("audit log", _forget_audit_log, before.audit_log),
        ("credits", forget_credits, before.credits),
        ("coverage gaps", forget_coverage_gaps, before.coverage_gaps),
    ):
        if moment is not None:
            own = steps.anew()
            for rows in forget(store, moment, own):
                yield Step(kind, rows, own.took)


def _forget_audit_log(store: Store, before: datetime, pace: Pace) -> Iterator[int]:
    with pace.writing(store) as connection:
        let_go_before(connection, before)
    forgotten = 1
    while forgotten:
        with pace.writing(store) as connection:
            forgotten = forget_let_go(connection, pace.rows)
        yield forgotten
