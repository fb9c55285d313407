"""How far a move is: noted in each of both stores, so that at most one of them takes workers.

The store that is left says where it goes before anything is copied. The copy says that it is none
yet until the store that was left says that all is gone. A killed move continues from these.
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
    """Leaves: holds all until it is gone, where nobody works any more. Arrives: is the copy."""

    LEAVES = "leaves"
    ARRIVES = "arrives"
    GONE = "gone"


_UNDER_WAY: Final = re.compile(
    rf"({MoveState.LEAVES}|{MoveState.ARRIVES}) ([0-9a-f-]{{36}}) (.*)", re.DOTALL
)


class MoveProgress(NamedTuple):
    """What a store says of its move: from or to which `place`, and which move it is."""

    state: MoveState
    place: str
    move_id: UUID | None

    @classmethod
    def of_new_move(cls, place: str) -> MoveProgress:
        """Begin to leave for a place."""
        return cls(MoveState.LEAVES, place, uuid4())

    def at_its_end(self) -> MoveProgress:
        """Return what the store says when all is in the other place."""
        return MoveProgress(MoveState.GONE, self.place, None)

    def of_copy(self, source: str) -> MoveProgress:
        """Return what the copy says while the store that it comes from is not gone."""
        return MoveProgress(MoveState.ARRIVES, source, self.move_id)


def move_progress(connection: Connection) -> MoveProgress | None:
    """Return what the store says of its move, None where there is none."""
    stored: str | None = connection.scalar(select(installation.c.moved_to))
    if stored is None:
        return None
    if match := _UNDER_WAY.fullmatch(stored):
        return MoveProgress(MoveState(match[1]), match[3], UUID(match[2]))
    return MoveProgress(MoveState.GONE, stored, None)


def record_move_progress(connection: Connection, progress: MoveProgress | None) -> None:
    """Let the store say something else of its move."""
    stored = None
    if progress is not None:
        stored = (
            progress.place
            if progress.state is MoveState.GONE
            else f"{progress.state} {progress.move_id} {progress.place}"
        )
    connection.execute(update(installation).values(moved_to=stored))


def refuse_moved_store(connection: Connection, name: str) -> None:
    """Raise ForeignStore, naming the remedy, where a store moves or was moved."""
    progress = move_progress(connection)
    if progress is None:
        return
    match progress.state:
        case MoveState.GONE:
            said = f"was moved to {progress.place}: set store.url, or LINEWATCH_STORE_URL, to that"
        case MoveState.LEAVES:
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
