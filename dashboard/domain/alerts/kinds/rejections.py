"""Rules of kinds rejected, changed and included: what becomes of each transaction."""

from __future__ import annotations

from typing import Final

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import Judged, Kind

_BY_API: Final = frozenset({SubjectKind.EXCLUSION_API})

REJECTED: Final = Kind(
    title=("rejected", "rejected"),
    when="a transaction is rejected for the first time",
    rests_on=_BY_API,
    is_of_rejections=True,
    is_lasting=False,
)
"""A transaction is rejected for the first time."""

CHANGED: Final = Kind(
    title=("changed rejection", "changed rejections"),
    when="the record of a rejected transaction changes",
    rests_on=_BY_API,
    is_of_rejections=True,
    is_lasting=False,
)
"""A rejected transaction has a new record."""


class InclusionGrounds(Grounds, frozen=True):
    """The block that holds a transaction; `is_successful` is None if the node does not say."""

    block_number: int
    is_successful: bool | None


INCLUDED: Final = Kind(
    title=("rejected transaction in a block", "rejected transactions in a block"),
    when="a rejected transaction is in a block later",
    subjects={SubjectKind.INCLUSION: Judged(State.UNREPORTED, State.INCLUDED)},
    is_of_rejections=True,
    is_lasting=False,
    grounds={"inclusion": InclusionGrounds},
)
"""A rejected transaction is in a block after all."""
