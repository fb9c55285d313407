"""The one honest verdict on a tracked transaction, derived only from what is stored."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.formatting import moment
from dashboard.domain.health.observation import Failure
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    CLOCK_IS_WRONG,
    QUERYABLE_WINDOW,
    REPORTING_DELAY,
    EndedLimits,
    RejectedTransaction,
)
from dashboard.domain.tracking.inclusion import FollowUp, Inclusion
from dashboard.domain.tracking.statements import Statement, statements_in_words

WATCHED_FOR: Final = QUERYABLE_WINDOW + REPORTING_DELAY
"""How long a transaction is asked about after its attempt, or after it was tracked."""

_LAST_ANSWERED_IN: Final = timedelta(hours=2)
"""An answer to the last question comes within this time, unless the API is silent: transactions
that are asked about as one group have the last question of the youngest, up to 70 minutes later."""

UNANSWERED_AFTER: Final = timedelta(minutes=10)
ENDS_WITHIN: Final = timedelta(hours=24)


class Need(StrEnum):
    """Why a transaction needs attention; the most urgent first.

    All of these are still asked about, and are neither included nor replaced as far as nodes say.
    REJECTED: a rejection is on record. UNANSWERED: no answer about it for ten minutes.
    ENDING: it has no record, and will be asked about for less than a day.
    """

    REJECTED = "Rejected"
    UNANSWERED = "No answer for 10 min"
    ENDING = "Ending soon"


class VerdictKind(StrEnum):
    """What can be said of a hash; there is no "not rejected", since nobody can know that.

    With several networks, the earliest of these kinds counts: known events, then unknown outcomes,
    and last that no rejection is on record, or that none was possible. Otherwise the verdict would
    read as "not rejected" while another network may have the rejection.
    """

    REJECTED = "rejected"
    REJECTED_THEN_INCLUDED = "rejected, then included"
    INCLUDED = "included"
    REPLACED = "replaced"
    CANNOT_CHECK = "cannot check"
    NOT_CHECKED_YET = "not checked yet"
    CANNOT_TELL = "cannot tell"
    NO_REJECTION_ON_RECORD = "no rejection on record"
    NO_LINE_LIMITS = "no line limits"

    @property
    def place(self) -> int:
        """Its place in this order."""
        return list(VerdictKind).index(self)

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows if it was rejected."""
        return self in _UNKNOWN


UNANSWERED_KINDS: Final = frozenset({VerdictKind.CANNOT_CHECK, VerdictKind.NOT_CHECKED_YET})
_UNKNOWN: Final = {
    VerdictKind.CANNOT_CHECK,
    VerdictKind.NOT_CHECKED_YET,
    VerdictKind.CANNOT_TELL,
}


class Evidence(Struct, frozen=True):
    """All that the store holds about one hash on one network.

    `records` are the versions seen, newest claimed time first, and `record_seen_at` is when the
    first of them arrived; `is_dated_ahead`: each of them claimed a time in the future when it
    arrived. `first_answered_at` and `last_answered_at` are the times of answers (a record or null);
    `failing_since` is the time of the first failed question after the last answer, with its
    `failure`. `follow_up` is the answer of the network's node, None if there is no node or no
    answer; if it does not answer now, `receipt_failure` says since when and why. `tracked_at` is
    when the network was first to be asked about it. `limits_ended_at` is when the line limits of
    the network ended, None while they apply. `statements` are what exclusion endpoints say, if that
    is more than the records.
    """

    network_id: NetworkId
    tx_hash: TxHash
    records: tuple[RejectedTransaction, ...] = ()
    attempted_at: datetime | None = None
    first_answered_at: datetime | None = None
    last_answered_at: datetime | None = None
    failing_since: datetime | None = None
    failure: Failure | None = None
    follow_up: FollowUp | None = None
    receipt_failure: tuple[datetime, Failure] | None = None
    is_dated_ahead: bool = False
    record_seen_at: datetime | None = None
    tracked_at: datetime | None = None
    limits_ended_at: datetime | None = None
    statements: tuple[Statement, ...] = ()

    @property
    def has_receipt(self) -> bool:
        return self.follow_up is not None and self.follow_up.inclusion is not None

    @property
    def ended_limits(self) -> EndedLimits | None:
        """The line limits if they have ended, relative to the newest record."""
        dated = self.records[0].timestamp or self.record_seen_at if self.records else None
        return None if dated is None else EndedLimits.of(self.limits_ended_at, dated)

    @property
    def is_after_end(self) -> bool:
        """Whether it was first seen after line limits ended; a hash never seen counts as new."""
        moments = (self.attempted_at, self.tracked_at, self.first_answered_at, self.failing_since)
        ended_at = self.limits_ended_at
        return ended_at is not None and all(each is None or each >= ended_at for each in moments)


class Verdict(Struct, frozen=True):
    """A verdict, and sentences that say what it rests on and what follows from it.

    The sentences hold no upstream text except a failure's own message, which is safe to show, and a
    status, shortened and unlinked.
    """

    kind: VerdictKind
    rests_on: str
    follows: str


_REVERTED: Final = (
    "Its execution was reverted: the fee was paid and the nonce used, but nothing else happened."
)
_CAN_STILL_CHANGE: Final = (
    " The newest blocks of a chain can still be replaced; Linewatch checks this again."
)
_CANNOT_TELL: Final = Verdict(
    VerdictKind.CANNOT_TELL,
    "It was attempted more than seven days before the first answer, "
    "and the network keeps rejections for seven days only.",
    "An earlier rejection may have expired unseen.",
)


def conclude(evidence: Evidence) -> Verdict:
    """Return the verdict; the same evidence always gives the same verdict."""
    verdict = _conclude(evidence)
    said = statements_in_words(evidence.statements, has_receipt=evidence.has_receipt)
    return replace(verdict, rests_on=f"{verdict.rests_on} {said}") if said else verdict


def _conclude(evidence: Evidence) -> Verdict:
    end = evidence.follow_up
    if end is not None and end.inclusion is not None:
        return _included(evidence, end, end.inclusion)
    if end is not None and end.is_replaced:
        return _replaced(evidence, end)
    if evidence.records:
        return _rejected(evidence)
    if evidence.is_after_end and evidence.limits_ended_at is not None:
        return _no_limits(evidence, evidence.limits_ended_at)
    return _unrecorded(evidence)


def _unrecorded(evidence: Evidence) -> Verdict:
    if evidence.first_answered_at is None or evidence.last_answered_at is None:
        return _unanswered(evidence)
    if _first_answer_came_too_late(evidence):
        return _CANNOT_TELL
    return _no_record(evidence, evidence.last_answered_at)


def _included(evidence: Evidence, end: FollowUp, inclusion: Inclusion) -> Verdict:
    receipt = f"Its receipt names block {inclusion.block_number:,}"
    if end.included_since is not None:
        receipt += f", first seen {moment(end.included_since)}"
    is_recent = end.settled_at is None
    outcome = "" if is_recent else "Nothing is left to do."
    if inclusion.is_successful is False:
        outcome = _REVERTED
    follows = f"{outcome}{_CAN_STILL_CHANGE if is_recent else ''}".strip()
    if not evidence.records:
        return Verdict(VerdictKind.INCLUDED, f"{receipt}.", follows)
    return Verdict(
        VerdictKind.REJECTED_THEN_INCLUDED,
        f"{_record_seen(evidence)} {receipt}.",
        f"The rejection did not last: the same signed transaction was accepted. {follows}",
    )


def _replaced(evidence: Evidence, end: FollowUp) -> Verdict:
    used = (
        f"Another transaction used the sender's nonce. At {moment(end.answered_at)} this one had "
        "no receipt."
    )
    recent = _CAN_STILL_CHANGE if end.settled_at is None else ""
    return Verdict(
        VerdictKind.REPLACED,
        f"{_record_seen(evidence)} {used}" if evidence.records else used,
        f"This transaction cannot be included any more, and nothing waits for its nonce.{recent}",
    )


def _rejected(evidence: Evidence) -> Verdict:
    return Verdict(
        VerdictKind.REJECTED,
        _record_seen(evidence) + _no_receipt(evidence),
        "A rejection is not final: the same transaction may be accepted if it is sent again.",
    )


def _record_seen(evidence: Evidence) -> str:
    newest = evidence.records[0]
    versions = len(evidence.records)
    count = "" if versions == 1 else f" {versions} versions of the record were seen."
    wrong = f" {CLOCK_IS_WRONG}." if evidence.is_dated_ahead else ""
    limits = evidence.ended_limits
    note = "" if limits is None or not limits.is_in_spite else f" {limits.note}"
    return f"{newest.in_words(evidence.record_seen_at)}{wrong}{count}{note}"


def _no_receipt(evidence: Evidence) -> str:
    end, failure = evidence.follow_up, evidence.receipt_failure
    said = "" if end is None else f" At {moment(end.answered_at)} there was no receipt for it."
    if failure is not None:
        since, why = failure
        said += (
            f" The node has not answered about its receipt since {moment(since)}. {_sentence(why)}"
        )
    return said


def _sentence(failure: Failure) -> str:
    return f"{failure.message.removesuffix('.')}."


def _unanswered(evidence: Evidence) -> Verdict:
    if evidence.failing_since is None:
        return Verdict(
            VerdictKind.NOT_CHECKED_YET,
            "The network has not been asked about this hash yet.",
            "A tracked hash is asked about within moments.",
        )
    why = "" if evidence.failure is None else f" {_sentence(evidence.failure)}"
    return Verdict(
        VerdictKind.CANNOT_CHECK,
        f"The exclusion API has given no answer since {moment(evidence.failing_since)}.{why}",
        "Nothing is known until the API answers. If the hash is tracked, Linewatch asks again.",
    )


def _first_answer_came_too_late(evidence: Evidence) -> bool:
    if evidence.attempted_at is None or evidence.first_answered_at is None:
        return False
    return evidence.first_answered_at - evidence.attempted_at > QUERYABLE_WINDOW


def _no_limits(evidence: Evidence, ended_at: datetime) -> Verdict:
    """Describe a transaction after the end of line limits, which may also be older than that."""
    known = "" if evidence.attempted_at is None else ", before this transaction was attempted"
    rests_on = f"No line limits since {moment(ended_at)}{known}."
    answered_at = evidence.last_answered_at
    if answered_at is not None:
        rests_on += f" At {moment(answered_at)}, no rejection was on record."
    if evidence.failing_since is not None:
        rests_on += f" The API has given no answer since {moment(evidence.failing_since)}."
    follows = "No transaction is rejected for line limits any more; other rules of nodes apply."
    if evidence.attempted_at is None:
        follows += (
            " The time of the attempt is not known: an attempt before that may have been rejected."
        )
    return Verdict(VerdictKind.NO_LINE_LIMITS, rests_on + _no_receipt(evidence), follows)


def _no_record(evidence: Evidence, answered_at: datetime) -> Verdict:
    window_start = answered_at - QUERYABLE_WINDOW
    rests_on = (
        f"At {moment(answered_at)}, no rejection dated after "
        f"{moment(window_start)} was on record. Older ones cannot be seen."
    )
    if evidence.failing_since is not None:
        rests_on += f" The API has given no answer since {moment(evidence.failing_since)}."
    rests_on += _no_receipt(evidence)
    follows = _late_report(evidence, answered_at)
    return Verdict(VerdictKind.NO_REJECTION_ON_RECORD, rests_on, follows)


def _late_report(evidence: Evidence, answered_at: datetime) -> str:
    if evidence.attempted_at is None:
        return "The time of the attempt is not known, and a node may report up to two hours late."
    deadline = evidence.attempted_at + REPORTING_DELAY
    if answered_at <= deadline:
        return f"A node's report can still arrive until {moment(deadline)}."
    first = evidence.first_answered_at or answered_at
    if first <= deadline and answered_at > evidence.attempted_at + WATCHED_FOR + _LAST_ANSWERED_IN:
        return (
            "Nodes report within two hours, and a report can be seen for seven days; "
            "the last answer came after that."
        )
    return "Nodes report within two hours, and Linewatch asked later."
