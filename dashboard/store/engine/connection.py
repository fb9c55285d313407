"""The open transaction that every function of the store works in, by name for its callers."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sqlalchemy import Connection

from dashboard.errors import StoreUnavailable

__all__ = ["DATABASE", "Connection", "patience_of", "set_patience", "store_in_use_error"]

DATABASE: Final = "linewatch_database"
"""The option of a connection that holds the `Database` it is in."""

_PATIENCE: Final = "linewatch_patience"


def set_patience(connection: Connection, patience: timedelta) -> None:
    """Set how long a connection waits for other writers, whatever the default of its engine."""
    connection.execution_options(**{_PATIENCE: patience})


def patience_of(connection: Connection) -> timedelta | None:
    """Return how long a connection waits for other writers, if it has a patience of its own."""
    found: timedelta | None = connection.get_execution_options().get(_PATIENCE)
    return found


def store_in_use_error(name: str) -> StoreUnavailable:
    """Return the error for a caller that needs the store exclusively while others use it."""
    return StoreUnavailable(
        f"{name} is in use: stop everything of this installation that runs (up, worker, serve, "
        "pages, devnet) and try again"
    )
