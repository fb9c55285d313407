"""Notices that are held: a restored store cannot know whether they were sent meanwhile."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, func, literal_column, select, update

from dashboard.domain.condition import SubjectKind, Transition
from dashboard.domain.exclusion import StoredRejection
from dashboard.domain.notice import NoticeState
from dashboard.store.schema import installation, notices

SETTLING: Final = timedelta(minutes=15)
"""How long after a restore what is concluded of a network may have been told before: it lasted
already, and the backup does not know."""

_LET_GO: Final = "not sent: let go after a restore"
# Written out, so that the planner sees that the partial index fits.
_IS_HELD: Final = notices.c.state == literal_column("'held'")


def restored_at(connection: Connection) -> datetime | None:
    """Return when a backup was restored, None where what was in doubt since was released."""
    moment: datetime | None = connection.scalar(select(installation.c.restored_at))
    return moment


def is_uncertain(
    transition: Transition, rejection: StoredRejection | None, restored: datetime | None
) -> bool:
    """Whether people may have been told of a change by the store that a backup replaced.

    A rejection says itself when it was made, however late it is seen.
    """
    if restored is None:
        return False
    if transition.subject.kind is not SubjectKind.TRANSACTION:
        return transition.at <= restored + SETTLING
    happened_at = transition.at if rejection is None else rejection.record.timestamp
    return happened_at <= restored


def hold_what_is_owed(connection: Connection) -> int:
    """Hold every notice that is owed; return how many."""
    owed = update(notices).where(notices.c.state == NoticeState.OWED)
    return connection.execute(owed.values(state=NoticeState.HELD, claimed_by=None)).rowcount


def how_many_held(connection: Connection) -> int:
    """Count what is held."""
    # A column that stands in no other index lets SQLite take the partial one, which is short.
    count = select(func.count(notices.c.notice_id)).where(_IS_HELD)
    return connection.scalar(count) or 0


def release(connection: Connection, now: datetime) -> int:
    """Owe what is held, and let nothing be in doubt any more; return how many are owed again."""
    connection.execute(update(installation).values(restored_at=None))
    held = update(notices).where(_IS_HELD)
    owed = held.values(state=NoticeState.OWED, next_attempt_at=now)
    return connection.execute(owed).rowcount


def let_go(connection: Connection) -> int:
    """Give up what is held, which keeps it on record; return how many. Later doubts are held."""
    held = update(notices).where(_IS_HELD)
    return connection.execute(held.values(state=NoticeState.DEAD, outcome=_LET_GO)).rowcount
