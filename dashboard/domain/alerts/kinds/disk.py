"""Rules of kind disk-filling: the disk of the store has too little room."""

from __future__ import annotations

from typing import Final

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.formatting import size

_FULL: Final = (
    "When the disk is full, nothing more is stored: reports of nodes are refused, and nobody "
    "is notified of anything."
)
_MAKE_ROOM: Final = (
    "Free some space there, or move the store to a larger disk.",
    "Run `linewatch store`: it shows what uses the space; [store] says how long each kind is kept.",
    "What is stored stays intact. `linewatch backup` to another disk still works.",
)


class SpaceGrounds(Grounds, frozen=True):
    """Free bytes on the disk of the store, and the least number that is enough."""

    free: int
    least: int


def _describe(change: DescribedChange, grounds: SpaceGrounds) -> IncidentText:
    claim = "Low disk space" if change.is_open else "Enough disk space again"
    free, least = size(grounds.free), size(grounds.least)
    return IncidentText(
        headline=f"{claim}: {free} free",
        opening=f"The disk of the store has {free} free; less than {least} is low.",
        page="health",
        rows=(("Free", free), ("Warn below", least), *change.lasted),
        explanation=_FULL if change.is_open else "",
        next_steps=_MAKE_ROOM if change.is_open else (),
    )


DISK_FILLING: Final = Kind(
    title="Low disk space",
    when="the disk of the store has little space left",
    subjects={SubjectKind.DISK: Judged(State.ENOUGH_SPACE, State.LOW_ON_SPACE)},
    is_of_networks=False,
    grounds={"space": SpaceGrounds},
    describe=_describe,
    describe_past=lambda change, _: f"Low disk space {change.when}",
)
