"""The open transaction that every function of the store works in, by name for its callers."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from dashboard.errors import StoreUnavailable

__all__ = ["DATABASE", "Connection", "store_in_use_error"]

DATABASE: Final = "linewatch_database"
"""The option of a connection that holds the `Database` it is in."""


def store_in_use_error(name: str) -> StoreUnavailable:
    """Return the error for a caller that needs the store exclusively while others use it."""
    return StoreUnavailable(
        f"{name} is in use: stop everything of this installation that runs (up, worker, serve, "
        "pages, devnet) and try again"
    )
