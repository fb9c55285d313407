"""Groups of tracked transactions: those of one label, case, owner or tag, and how many they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    func,
    literal,
    literal_column,
    select,
)

from dashboard.store.schema import tracked_hashes, tracked_tags

MOST_COUNTED: Final = 1000
"""Transactions of a group that are counted."""


class GroupedBy(StrEnum):
    """What the transactions of a group have in common."""

    LABEL = "Label"
    CASE_ID = "Case id"
    OWNER = "Owner"
    TAG = "Tag"


_COLUMNS: Final[dict[GroupedBy, Column[Any]]] = {
    GroupedBy.LABEL: tracked_hashes.c.label,
    GroupedBy.CASE_ID: tracked_hashes.c.case_id,
    GroupedBy.OWNER: tracked_hashes.c.owner,
    GroupedBy.TAG: tracked_tags.c.tag,
}
_NONE: Final[ColumnElement[str]] = literal_column("''")
"""Written out, so that the planner sees that a partial index fits."""


@dataclass(frozen=True, slots=True)
class TrackedGroup:
    """A group by its name, which is foreign text; `many` is at most one above `MOST_COUNTED`."""

    name: str
    many: int


def groups_of(connection: Connection, by: GroupedBy, after: str, limit: int) -> list[TrackedGroup]:
    """Return the groups that follow a name in the order of names, one step of the index each."""
    column = _COLUMNS[by]
    first = select(func.min(column).label("name"), literal(1).label("place"))
    first = first.where(column != _NONE, column > after)
    steps = first.cte("steps", recursive=True)
    following = select(func.min(column)).where(column != _NONE, column > steps.c.name)
    steps = steps.union_all(
        select(following.scalar_subquery(), steps.c.place + 1).where(
            steps.c.name.is_not(None), steps.c.place < limit
        )
    )
    names = select(steps.c.name).where(steps.c.name.is_not(None))
    return [
        TrackedGroup(name, _count(connection, column, name)) for name in connection.scalars(names)
    ]


def _count(connection: Connection, column: Column[Any], name: str) -> int:
    some = select(literal(1)).where(column == name, column != _NONE).limit(MOST_COUNTED + 1)
    return connection.scalars(select(func.count()).select_from(some.subquery())).one()
