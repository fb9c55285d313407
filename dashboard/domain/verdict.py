"""The one honest verdict on a tracked transaction, concluded purely from what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from dashboard.domain.exclusion import QUERYABLE_WINDOW, REPORTING_DELAY, RejectedTransaction
from dashboard.domain.observation import Failure
from dashboard.domain.quantity import NetworkId, TxHash


class VerdictKind(StrEnum):
    """What can be said of a hash; there is no "not rejected", since nobody can know that."""

    REJECTED = "rejected"
    NO_REJECTION_ON_RECORD = "no rejection on record"
    CANNOT_TELL = "cannot tell"
    NOT_CHECKED_YET = "not checked yet"
    CANNOT_CHECK = "cannot check"


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the store holds about one hash on one network.

    `records` are the versions seen, newest claimed time first. `first_answered_at` and
    `last_answered_at` are the times of answers (a record or null); `failing_since` is the
    time of the first failed question after the last answer, with its `failure`.
    """

    network_id: NetworkId
    tx_hash: TxHash
    records: tuple[RejectedTransaction, ...] = ()
    attempted_at: datetime | None = None
    first_answered_at: datetime | None = None
    last_answered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict and the sentences that say what it rests on and what follows from it.

    The sentences hold no upstream text except a failure's own message, which is safe to show.
    """

    kind: VerdictKind
    rests_on: str
    follows: str


_CANNOT_TELL: Final = Verdict(
    VerdictKind.CANNOT_TELL,
    "It was attempted more than seven days before the first answer; "
    "the network answers for seven days only.",
    "An earlier rejection may have expired unseen.",
)


def conclude(evidence: Evidence) -> Verdict:
    """Conclude the verdict; the same evidence always gives the same verdict."""
    if evidence.records:
        return _rejected(evidence)
    if evidence.first_answered_at is None or evidence.last_answered_at is None:
        return _unanswered(evidence)
    if _first_answer_came_too_late(evidence):
        return _CANNOT_TELL
    return _no_record(evidence, evidence.last_answered_at)


def _rejected(evidence: Evidence) -> Verdict:
    newest = evidence.records[0]
    versions = len(evidence.records)
    count = "" if versions == 1 else f" {versions} versions of the record were seen."
    return Verdict(
        VerdictKind.REJECTED,
        f"Rejected at the {newest.tx_rejection_stage} stage, "
        f"dated {_moment(newest.timestamp)}.{count}",
        "A rejection is not final: the same transaction may be sent again and be accepted.",
    )


def _unanswered(evidence: Evidence) -> Verdict:
    if evidence.failing_since is None:
        return Verdict(
            VerdictKind.NOT_CHECKED_YET,
            "The network has not been asked about this hash yet.",
            "It is asked within moments of being tracked.",
        )
    why = "" if evidence.failure is None else f" {evidence.failure.message}"
    return Verdict(
        VerdictKind.CANNOT_CHECK,
        f"The exclusion API has given no answer since {_moment(evidence.failing_since)}.{why}",
        "Nothing is known of this hash until the API answers; it is asked again by itself.",
    )


def _first_answer_came_too_late(evidence: Evidence) -> bool:
    if evidence.attempted_at is None or evidence.first_answered_at is None:
        return False
    return evidence.first_answered_at - evidence.attempted_at > QUERYABLE_WINDOW


def _no_record(evidence: Evidence, answered_at: datetime) -> Verdict:
    window_start = answered_at - QUERYABLE_WINDOW
    rests_on = (
        f"Asked {_moment(answered_at)}: no rejection on record dated after "
        f"{_moment(window_start)}. An older one could not be seen."
    )
    if evidence.failing_since is not None:
        rests_on += f" Since {_moment(evidence.failing_since)} the API gives no answer."
    follows = _late_report(evidence, answered_at)
    return Verdict(VerdictKind.NO_REJECTION_ON_RECORD, rests_on, follows)


def _late_report(evidence: Evidence, answered_at: datetime) -> str:
    if evidence.attempted_at is None:
        return "A node may report up to two hours late; the time of the attempt is not known."
    deadline = evidence.attempted_at + REPORTING_DELAY
    if answered_at <= deadline:
        return f"A node's report can still arrive until {_moment(deadline)}."
    return "The two hours in which nodes report had passed when this was asked."


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
