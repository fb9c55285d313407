"""Filters of the page Tracked that people named for themselves and their colleagues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, func, select

from dashboard.domain.audit import Actor
from dashboard.errors import InputError
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import saved_filters

LONGEST_FILTER_NAME: Final = 60
MOST_SAVED: Final = 100


@dataclass(frozen=True, slots=True)
class SavedFilter:
    """A filter by its name, with what the address of the page says; texts are foreign."""

    name: str
    parameters: Mapping[str, str]
    saved_at: datetime
    saved_by: str


def read_saved_filters(connection: Connection) -> list[SavedFilter]:
    """Return all, by name."""
    rows = connection.execute(select(saved_filters).order_by(saved_filters.c.name))
    return [SavedFilter(row.name, row.parameters, row.saved_at, row.saved_by) for row in rows]


def save_filter(
    connection: Connection, name: str, parameters: Mapping[str, str], by: Actor
) -> None:
    """Save a filter, in place of one of the same name; InputError where there are too many."""
    column = saved_filters.c
    others = select(func.count()).where(column.name != name)
    if connection.scalars(others).one() >= MOST_SAVED:
        raise InputError(f"{MOST_SAVED} filters are saved already: remove one that nobody needs")
    row = {"parameters": dict(parameters), "saved_at": by.at, "saved_by": by.name}
    upsert(connection, saved_filters, [{"name": name} | row])


def remove_filter(connection: Connection, name: str) -> bool:
    """Remove a saved filter; False where there is none of that name."""
    of_name = delete(saved_filters).where(saved_filters.c.name == name)
    return connection.execute(of_name).rowcount > 0
