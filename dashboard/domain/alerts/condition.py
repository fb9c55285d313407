"""Conditions: the state that a subject is in, the transitions between states, and their grounds."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias
from uuid import UUID

from msgspec import Struct

from dashboard.domain.quantity import NetworkId, TxHash


class Grounds(Struct, frozen=True):
    """The values that a change rests on; each kind of rule has its own subclass."""


class Signal(StrEnum):
    """The fee that decides whether a network is busy; PRIORITY_FEE if the base fee never moves."""

    BASE_FEE = "base fee"
    PRIORITY_FEE = "priority fee"


class NetworkDigest(Struct, frozen=True):
    """What happened on a network during the time of a digest.

    `rejections` is None if nobody asks for them, and a lower bound unless `is_whole`. `busy` is the
    share of the watched time that lies in busy spells, None if nothing was watched. `gaps` counts
    the times in which something was not watched, `unwatched` is their total.
    """

    network_id: NetworkId
    rejections: int | None
    is_whole: bool
    busy: float | None
    gaps: int
    unwatched: timedelta


class DigestGrounds(Grounds, frozen=True):
    """The time that a digest covers: what `opened` in it, and what was `open` when it was written.

    `unassigned` counts the open incidents that nobody had acknowledged.
    """

    begins_at: datetime
    ends_at: datetime
    is_weekly: bool
    networks: tuple[NetworkDigest, ...]
    opened: int
    open: int
    unassigned: int


LONGEST_DIMENSION: Final = 80
"""Characters of the value by which a rule tells subjects apart: the store keeps it within a key."""

INSTALLATION: Final = NetworkId(0)
"""Stands for the network of a subject that is the installation itself."""


class SubjectKind(StrEnum):
    """What a condition is about: one transaction, one aspect of a network, or the installation.

    INCLUSION is whether a block holds a transaction that was rejected. REJECTION_RATE, FEE_LIMIT
    and what follows INCLUSION are measured for each rule. ADDRESS is an email address, whose mails
    may bounce.
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


class Subject(Struct, frozen=True):
    """One thing that has a condition: a transaction on a network, or an aspect of the network.

    A subject that a rule measures also has the name of the `rule` and, if the rule has a dimension,
    the value of the subject in that `dimension`: foreign text.
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
        """Name what a rule measures; a long `dimension` is truncated to fit the store."""
        return cls(kind, network_id, rule=rule, dimension=dimension[:LONGEST_DIMENSION])

    def key(self) -> str:
        """Return the text under which the store keeps this subject's condition."""
        key = f"{self.kind}:{self.network_id}:{self.tx_hash or ''}"
        return f"{key}:{self.rule}:{self.dimension}" if self.rule else key


class State(StrEnum):
    """The states a subject can be in.

    UNREPORTED: asked at least once, no record seen; only older stores have it for a hash. REJECTED:
    a record was seen. BUSY: a busy spell lasts, UNKNOWN: nobody can say. STALE: a fee is older than
    two of its own poll periods. SILENT: an API answers nothing, or a source of fees gives no fees,
    even if it answers other questions. LOW_ON_SPACE: the disk of the store has too little room.
    BEYOND_LIMITS: what a rule measures is above or below its limit. INCLUDED: a block holds the
    transaction; nothing is wrong. NOT_WATCHED: nobody asks, or nobody answers. FAILING: a channel
    does not accept notifications, or mails bounce. NO_LINE_LIMITS: the line limits of the network
    ended; nothing is wrong. Each other state is the opposite of one of these, as far as we know.
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
    def word(self) -> str:
        """What people read; stores and webhooks keep the older name of an outage."""
        return "down" if self is State.SILENT else self.value

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


class Condition(Struct, frozen=True):
    """The present state of a subject, and since when it has it.

    `turning_since` is when the opposite was first seen, as long as that has not lasted long enough.
    `seen_at` is when busyness was last evaluated.
    """

    state: State
    since: datetime
    turning_since: datetime | None = None
    seen_at: datetime | None = None


class Transition(Struct, frozen=True):
    """A change of condition, with its grounds.

    `transition_id` is chosen by the caller, so that the same change is stored once. If `before` and
    `after` are the same open state, a rejection has a new version. `at` is when the change was
    concluded; the state may already have held `since` an earlier moment.
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


class Opening(Struct, frozen=True):
    """The transition that opened a condition which lasts, or has just ended."""

    transition_id: UUID
    opened_at: datetime


class Reading(Struct, frozen=True):
    """Whether a subject was in trouble at one moment, and since when, if that is known.

    If `ended_at` is set, the trouble became known only after it had ended.
    """

    is_trouble: bool
    at: datetime
    since: datetime | None = None
    grounds: Grounds | None = None
    ended_at: datetime | None = None


Readings: TypeAlias = dict[Subject, Reading | None]
"""The reading of each subject; None if nothing can be known now."""
