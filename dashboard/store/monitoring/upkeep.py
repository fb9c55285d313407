"""When the store was last purged of what is old, and last backed up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select, update

from dashboard.store.schema import installation


@dataclass(frozen=True, slots=True)
class Upkeep:
    """When a purge last came to its end, and when `linewatch backup` did; None: never yet."""

    purged_at: datetime | None = None
    backed_up_at: datetime | None = None


def last_upkeep(connection: Connection) -> Upkeep:
    """Return what is stored of it."""
    column = installation.c
    row = connection.execute(select(column.purged_at, column.backed_up_at)).first()
    return Upkeep() if row is None else Upkeep(row.purged_at, row.backed_up_at)


def note_purge(connection: Connection, at: datetime) -> None:
    """Store that everything that is old was purged."""
    connection.execute(update(installation).values(purged_at=at))


def note_backup(connection: Connection, at: datetime) -> None:
    """Store that a backup was made and verified."""
    connection.execute(update(installation).values(backed_up_at=at))
