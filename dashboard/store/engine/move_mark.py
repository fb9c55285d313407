"""Marks of a move, so that workers use at most one of both stores.

The target says that it is a copy until the source says that it was moved.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlalchemy import Connection, select, update

from dashboard.errors import ForeignStore
from dashboard.store.schema import installation

_COPY: Final = "copy of "


class MoveMark(NamedTuple):
    """Where a store was moved to; or where an incomplete copy comes from."""

    place: str
    is_copy: bool = False


def move_mark(connection: Connection) -> MoveMark | None:
    """Return the mark of a store that takes no work; None of any other."""
    stored: str | None = connection.scalar(select(installation.c.moved_to))
    if stored is None:
        return None
    return MoveMark(stored.removeprefix(_COPY), stored.startswith(_COPY))


def set_move_mark(connection: Connection, mark: MoveMark | None) -> None:
    """Mark a store, or let it take work."""
    stored = None if mark is None else f"{_COPY if mark.is_copy else ''}{mark.place}"
    connection.execute(update(installation).values(moved_to=stored))


def refuse_moved_store(connection: Connection, name: str) -> None:
    """Raise ForeignStore, naming the remedy, where a store was moved or is an incomplete copy."""
    mark = move_mark(connection)
    if mark is None:
        return
    if mark.is_copy:
        raise ForeignStore(
            f"{name} is the copy of a move from {mark.place} that was not completed: run "
            "`linewatch move --to` again there, with this as its target"
        )
    raise ForeignStore(
        f"{name} was moved to {mark.place}: set store.url, or LINEWATCH_STORE_URL, to that"
    )
