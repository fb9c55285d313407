"""Notifications held after a restore: the store that was replaced may have sent them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, literal_column, select, update

from dashboard.domain.alerts.condition import SubjectKind, Transition
from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.store.schema import installation, notifications

SETTLING: Final = timedelta(minutes=15)
"""How long before a restore a transition of a network may have been notified although the backup
does not know it: its condition held before already."""

_DISCARDED: Final = "not sent: discarded after a restore"
# Written out, so that the planner sees that the partial index fits.
_IS_HELD: Final = notifications.c.state == literal_column("'held'")


def restored_at(connection: Connection) -> datetime | None:
    """Return when a backup was restored; None if there was none, or nothing is held since."""
    moment: datetime | None = connection.scalar(select(installation.c.restored_at))
    return moment


def is_uncertain(
    transition: Transition, rejection: StoredRejection | None, restored: datetime | None
) -> bool:
    """Whether the store that a backup replaced may have notified people of a change already.

    For a rejection its own time counts, however late it is seen.
    """
    if restored is None:
        return False
    if transition.subject.kind is not SubjectKind.TRANSACTION:
        return transition.at <= restored + SETTLING
    happened_at = transition.at if rejection is None else rejection.dated_at
    return happened_at <= restored


def hold_pending(connection: Connection) -> int:
    """Hold every pending notification; return how many."""
    pending = update(notifications).where(notifications.c.state == NotificationState.PENDING)
    return connection.execute(
        pending.values(state=NotificationState.HELD, claimed_by=None)
    ).rowcount


def count_held(connection: Connection) -> int:
    # A column that stands in no other index lets SQLite take the partial one, which is short.
    count = select(func.count(notifications.c.notification_id)).where(_IS_HELD)
    return connection.scalar(count) or 0


def release_held(connection: Connection, now: datetime) -> int:
    """Make held notifications pending again, and hold no more; return how many."""
    connection.execute(update(installation).values(restored_at=None))
    held = update(notifications).where(_IS_HELD)
    pending = held.values(state=NotificationState.PENDING, next_attempt_at=now)
    return connection.execute(pending).rowcount


def discard_held(connection: Connection) -> int:
    """Mark held notifications as dead, which keeps them on record; return how many.

    Later changes that are uncertain are still held.
    """
    held = update(notifications).where(_IS_HELD)
    return connection.execute(
        held.values(state=NotificationState.DEAD, outcome=_DISCARDED)
    ).rowcount
