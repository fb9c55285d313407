"""Grounds: the figures that a change of condition rests on, kept with it for good."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from dashboard.domain.health.coverage import GapCause
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei


class Signal(StrEnum):
    """What tells whether a network is busy; the priority fee where the base fee never moves."""

    BASE_FEE = "base fee"
    PRIORITY_FEE = "priority fee"


@dataclass(frozen=True, slots=True)
class FeeGrounds:
    """A fee beside what is usual.

    BASE_FEE: `estimatedBaseFee` and `busyThreshold` of one network. PRIORITY_FEE: the medium
    suggested priority fee and the 90th percentile of its own stored window.
    """

    signal: Signal
    fee: Wei
    threshold: Wei

    @property
    def is_busy(self) -> bool:
        """Strictly above: a fee that never moves equals its own threshold for ever."""
        return self.fee > self.threshold


@dataclass(frozen=True, slots=True)
class SilenceGrounds:
    """Since when an API answers nothing, and why; `message` is safe to show."""

    failing_since: datetime
    message: str


@dataclass(frozen=True, slots=True)
class AgeGrounds:
    """A figure that is too old: which one, when it was answered last, how often it is due.

    `answered_at` is None where it never was, though others were.
    """

    operation: Operation
    answered_at: datetime | None
    period: timedelta


@dataclass(frozen=True, slots=True)
class SpaceGrounds:
    """Bytes that are free on the disk of the store, beside how many there should be at least."""

    free: int
    least: int


@dataclass(frozen=True, slots=True)
class RateGrounds:
    """How many rejections arrived within a time, beside how many a rule allows.

    `by` is the dimension by which the rule tells them apart, empty for none, and `value` theirs,
    which is foreign text.
    """

    count: int
    more_than: int
    window: timedelta
    by: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class FeeLimitGrounds:
    """A fee beside the limit that a rule sets it, from above or from below."""

    signal: Signal
    fee: Wei
    limit: Wei
    is_upper: bool

    @property
    def is_beyond(self) -> bool:
        """Strictly above an upper limit, strictly below a lower one."""
        return self.fee > self.limit if self.is_upper else self.fee < self.limit


@dataclass(frozen=True, slots=True)
class InclusionGrounds:
    """The block that holds a transaction; `is_successful` is None where the node does not say."""

    block_number: int
    is_successful: bool | None


@dataclass(frozen=True, slots=True)
class GapGrounds:
    """A time in which a network was not watched, or no worker was running; open without an end.

    `reason` is the failure in words, safe to show; empty where no worker asked.
    """

    begins_at: datetime
    ends_at: datetime | None
    cause: GapCause
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryGrounds:
    """How many notifications a channel does not take, since when, and its last answer (foreign)."""

    pending: int
    oldest: datetime
    outcome: str


@dataclass(frozen=True, slots=True)
class BounceGrounds:
    """When a mail to an address came back, the answer of its server (foreign), and what follows.

    `is_off`: nothing is sent to the address any more.
    """

    bounced_at: datetime
    answer: str
    is_off: bool


@dataclass(frozen=True, slots=True)
class CreditGrounds:
    """Credits spent in this day or month, beside what a rule allows for it."""

    spent: int
    budget: int
    per: str


@dataclass(frozen=True, slots=True)
class ExpiryGrounds:
    """What ends soon, such as ``key wallet`` (foreign text), and when."""

    what: str
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class NetworkDigest:
    """What happened on a network in a time.

    `rejections` is None where nobody is asked about them, at least so many unless `is_whole`.
    `busy` is the share of the time watched in busy spells, None where none was. `gaps` are the
    times in which something was not watched, `unwatched` in all.
    """

    network_id: NetworkId
    rejections: int | None
    is_whole: bool
    busy: float | None
    gaps: int
    unwatched: timedelta


@dataclass(frozen=True, slots=True)
class DigestGrounds:
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


Grounds: TypeAlias = (
    FeeGrounds
    | SilenceGrounds
    | AgeGrounds
    | SpaceGrounds
    | RateGrounds
    | FeeLimitGrounds
    | InclusionGrounds
    | GapGrounds
    | DeliveryGrounds
    | BounceGrounds
    | CreditGrounds
    | ExpiryGrounds
    | DigestGrounds
)
