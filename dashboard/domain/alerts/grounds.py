"""Grounds: the figures that a change of condition rests on, kept with it for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dashboard.domain.quantity import NetworkId


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a change rests on; the module of each kind of rule has its own."""


class Signal(StrEnum):
    """What tells whether a network is busy; the priority fee if the base fee never moves."""

    BASE_FEE = "base fee"
    PRIORITY_FEE = "priority fee"


@dataclass(frozen=True, slots=True)
class NetworkDigest:
    """What happened on a network in a time.

    `rejections` is None if nobody is asked about them, at least so many unless `is_whole`.
    `busy` is the share of the time watched in busy spells, None if none was. `gaps` are the
    times in which something was not watched, `unwatched` in all.
    """

    network_id: NetworkId
    rejections: int | None
    is_whole: bool
    busy: float | None
    gaps: int
    unwatched: timedelta


@dataclass(frozen=True, slots=True)
class DigestGrounds(Grounds):
    """What happened in a time: incidents that opened, and those that were open when it was written.

    Nobody had acknowledged the `unassigned` ones.
    """

    begins_at: datetime
    ends_at: datetime
    is_weekly: bool
    networks: tuple[NetworkDigest, ...]
    opened: int
    open: int
    unassigned: int
