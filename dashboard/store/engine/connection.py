"""The open transaction that every function of the store works in, by name for its callers."""

from typing import Final

from sqlalchemy import Connection

__all__ = ["DATABASE", "Connection"]

DATABASE: Final = "linewatch_database"
"""The option of a connection that tells in which `Database` it is."""
