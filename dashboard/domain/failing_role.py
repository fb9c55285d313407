"""A role that keeps dying: what `linewatch up` knows of it, and the pages show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class FailingRole:
    """A process of `linewatch up` that died again before it had been ready for a while.

    `deaths` counts from `since`; `why` tells how it ended last, `again_at` when it starts again.
    """

    name: str
    deaths: int
    since: datetime
    why: str
    again_at: datetime
