"""The open transaction that every function of the store works in, by name for its callers."""

from sqlalchemy import Connection

__all__ = ["Connection"]
