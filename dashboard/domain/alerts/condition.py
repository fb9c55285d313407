"""Conditions: the state that a subject is in, the transitions between states, and their grounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from dashboard.domain.quantity import NetworkId, TxHash


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


LONGEST_DIMENSION: Final = 80
"""Characters of what tells apart that a rule measures: the store keeps it within a key."""

INSTALLATION: Final = NetworkId(0)
"""Stands for a network in what is about no network but about the installation itself."""


class SubjectKind(StrEnum):
    """What a condition is about: one transaction, one side of a network, or our own disk.

    INCLUSION is whether a block holds a transaction that was rejected. REJECTION_RATE, FEE_LIMIT
    and what follows INCLUSION are measured for each rule. ADDRESS is a mail address, whose
    mails may come back.
    """

    TRANSACTION = "transaction"
    BUSYNESS = "busyness"
    FEES = "fees"
    GAS_API = "gas API"
    EXCLUSION_API = "exclusion API"
    DISK = "disk"
    REJECTION_RATE = "rejection rate"
    FEE_LIMIT = "fee limit"
    INCLUSION = "inclusion"
    COVERAGE = "coverage"
    WORKER = "worker"
    DELIVERY = "delivery"
    CREDITS = "credits"
    EXPIRY = "expiry"
    ADDRESS = "address"
    DIGEST = "digest"
    LINE_LIMITS = "line limits"


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that has a condition: a transaction on a network, or a side of the network.

    What a rule measures is named by the `rule`, and by the value of the `dimension` by which it
    tells things apart, if it does; that is foreign text.
    """

    kind: SubjectKind
    network_id: NetworkId
    tx_hash: TxHash | None = None
    rule: str = ""
    dimension: str = ""

    @classmethod
    def transaction(cls, network_id: NetworkId, tx_hash: TxHash) -> Subject:
        """Name the exclusion condition of one transaction on one network."""
        return cls(SubjectKind.TRANSACTION, network_id, tx_hash)

    @classmethod
    def of_rule(
        cls,
        kind: SubjectKind,
        rule: str,
        dimension: str = "",
        network_id: NetworkId = INSTALLATION,
    ) -> Subject:
        """Name what a rule measures; of a long dimension the store has room for the beginning."""
        return cls(kind, network_id, rule=rule, dimension=dimension[:LONGEST_DIMENSION])

    def key(self) -> str:
        """Return the text under which the store keeps this subject's condition."""
        key = f"{self.kind}:{self.network_id}:{self.tx_hash or ''}"
        return f"{key}:{self.rule}:{self.dimension}" if self.rule else key


class State(StrEnum):
    """The states a subject can be in.

    UNREPORTED: asked at least once, no record seen; only older stores held that of a hash.
    REJECTED: a record was seen. BUSY: a busy spell lasts, UNKNOWN: nobody can say. STALE: a
    fee is older than two of its own poll periods. SILENT: an API answers nothing, or a source of
    fees has none, whatever else it answers. The others are their opposites, as far as is known.
    LOW_ON_SPACE: the disk of the store has too little room. BEYOND_LIMITS: what a rule measures is
    more, or less, than it allows. INCLUDED: a block holds the transaction; nothing is wrong.
    NOT_WATCHED: nobody asks, or nobody answers. FAILING: notifications are not taken, or come back.
    NO_LINE_LIMITS: those of the network ended; nothing is wrong.
    """

    UNREPORTED = "unreported"
    REJECTED = "rejected"
    CALM = "calm"
    BUSY = "busy"
    UNKNOWN = "unknown"
    FRESH = "fresh"
    STALE = "stale"
    ANSWERING = "answering"
    SILENT = "silent"
    ENOUGH_SPACE = "enough space"
    LOW_ON_SPACE = "low on space"
    WITHIN_LIMITS = "within limits"
    BEYOND_LIMITS = "beyond limits"
    INCLUDED = "included"
    WATCHED = "watched"
    NOT_WATCHED = "not watched"
    DELIVERING = "delivering"
    FAILING = "failing"
    REPORTED = "reported"
    LINE_LIMITS = "line limits"
    NO_LINE_LIMITS = "no line limits"

    @property
    def is_open(self) -> bool:
        """Whether something is wrong while a subject is in this state."""
        return self in _OPEN


_OPEN: Final = frozenset(
    {State.REJECTED, State.BUSY, State.STALE, State.SILENT, State.LOW_ON_SPACE}
    | {State.BEYOND_LIMITS, State.NOT_WATCHED, State.FAILING}
)


_GOOD_NEWS: Final = frozenset({State.INCLUDED, State.NO_LINE_LIMITS})
"""States of which people are notified although nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What is held true of a subject, and since when.

    `turning_since` is when the opposite was seen first, while it was not seen for long enough.
    `seen_at` is when busyness was judged last.
    """

    state: State
    since: datetime
    turning_since: datetime | None = None
    seen_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of condition, with what stands behind it.

    `transition_id` is chosen by the caller, so that the same change is stored once. From open
    to the same state: the same rejection has a new version. It was concluded `at` a moment; the
    state may hold `since` one before that.
    """

    transition_id: UUID
    subject: Subject
    before: State | None
    after: State
    at: datetime
    grounds: Grounds | None = None
    since: datetime | None = None

    @property
    def began_at(self) -> datetime:
        return self.at if self.since is None else self.since

    @property
    def is_notifiable(self) -> bool:
        """Whether it opens, changes or ends something that people are notified of."""
        was_open = self.before is not None and self.before.is_open
        return was_open or self.after.is_open or self.after in _GOOD_NEWS


@dataclass(frozen=True, slots=True)
class Opening:
    """The transition with which a condition opened that lasts, or has just ended."""

    transition_id: UUID
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Reading:
    """Whether a subject was seen in trouble at one moment, and since when, if that is known.

    With `ended_at` the trouble was over by then, and became known only afterwards.
    """

    is_trouble: bool
    at: datetime
    since: datetime | None = None
    grounds: Grounds | None = None
    ended_at: datetime | None = None


Readings: TypeAlias = dict[Subject, Reading | None]
"""What was read of each subject; None if nothing can be known now."""
