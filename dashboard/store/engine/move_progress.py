"""How far a move is: noted in each of both stores, so that workers use at most one of them.

The source says where it moves before anything is copied. The target says that it is incomplete
until the source says that it was moved. A killed move continues from these.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import Connection, select, update

from dashboard.errors import ForeignStore
from dashboard.store.schema import installation


class MoveState(StrEnum):
    """SOURCE: is being copied. TARGET: is the copy, not complete. MOVED: is used no more."""

    SOURCE = "source"
    TARGET = "target"
    MOVED = "moved"


_UNDER_WAY: Final = re.compile(
    rf"({MoveState.SOURCE}|{MoveState.TARGET}) ([0-9a-f-]{{36}}) (.*)", re.DOTALL
)


class MoveProgress(NamedTuple):
    """What a store says of its move: from or to which `place`, and which move it is."""

    state: MoveState
    place: str
    move_id: UUID | None

    @classmethod
    def of_new_move(cls, place: str) -> MoveProgress:
        """Begin to move to a place."""
        return cls(MoveState.SOURCE, place, uuid4())

    def at_its_end(self) -> MoveProgress:
        """Return what the source says when the target is complete."""
        return MoveProgress(MoveState.MOVED, self.place, None)

    def of_copy(self, source: str) -> MoveProgress:
        """Return what the target says until the source was moved."""
        return MoveProgress(MoveState.TARGET, source, self.move_id)


def move_progress(connection: Connection) -> MoveProgress | None:
    """Return what the store says of its move, None where there is none."""
    stored: str | None = connection.scalar(select(installation.c.moved_to))
    if stored is None:
        return None
    if match := _UNDER_WAY.fullmatch(stored):
        return MoveProgress(MoveState(match[1]), match[3], UUID(match[2]))
    return MoveProgress(MoveState.MOVED, stored, None)


def record_move_progress(connection: Connection, progress: MoveProgress | None) -> None:
    """Let the store say something else of its move."""
    stored = None
    if progress is not None:
        stored = (
            progress.place
            if progress.state is MoveState.MOVED
            else f"{progress.state} {progress.move_id} {progress.place}"
        )
    connection.execute(update(installation).values(moved_to=stored))


def refuse_moved_store(connection: Connection, name: str) -> None:
    """Raise ForeignStore, naming the remedy, where a store moves or was moved."""
    progress = move_progress(connection)
    if progress is None:
        return
    match progress.state:
        case MoveState.MOVED:
            said = f"was moved to {progress.place}: set store.url, or LINEWATCH_STORE_URL, to that"
        case MoveState.SOURCE:
            said = (
                f"is being moved to {progress.place}, and that move was not completed: run the "
                "same `linewatch move --to` again, or `linewatch move --cancel` to stay here"
            )
        case _:
            said = (
                f"is the copy of a move from {progress.place} that was not completed: run "
                "`linewatch move --to` again there, with this as its target"
            )
    raise ForeignStore(f"{name} {said}")
