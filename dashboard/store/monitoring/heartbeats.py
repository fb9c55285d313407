"""When the heartbeat was accepted last, and why the latest was not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select, update

from dashboard.store.schema import installation


@dataclass(frozen=True, slots=True)
class LastHeartbeat:
    """`accepted_at` is None where none was accepted yet; `trouble` is empty where the latest was.

    `trouble` holds foreign text.
    """

    accepted_at: datetime | None = None
    trouble: str = ""


def last_heartbeat(connection: Connection) -> LastHeartbeat:
    """Return what is stored of it."""
    column = installation.c
    row = connection.execute(select(column.heartbeat_at, column.heartbeat_trouble)).first()
    if row is None:
        return LastHeartbeat()
    return LastHeartbeat(row.heartbeat_at, row.heartbeat_trouble or "")


def note_heartbeat(connection: Connection, accepted_at: datetime) -> None:
    """Store that it was accepted."""
    values = {"heartbeat_at": accepted_at, "heartbeat_trouble": None}
    connection.execute(update(installation).values(values))


def note_heartbeat_trouble(connection: Connection, trouble: str) -> None:
    """Store why the latest was not accepted."""
    connection.execute(update(installation).values(heartbeat_trouble=trouble))
