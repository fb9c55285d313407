"""Rejected transactions: the record that upstream answers, and the report that a node sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, Self

from msgspec import Struct

from dashboard.domain.formatting import listed, moment
from dashboard.domain.quantity import Address, NetworkId, TxHash

QUERYABLE_WINDOW: Final = timedelta(days=7)
"""How long after its claimed rejection time upstream still answers a record, inclusive."""

REPORTING_DELAY: Final = timedelta(hours=2)
"""How long a node keeps trying to send a report: news can be this late."""


LARGEST_LEAD: Final = timedelta(minutes=5)
"""How far a claimed time may be ahead of our clock on arrival: clocks differ a little."""

UNDATED: Final = "unknown: upstream gave no date"
"""Shown in place of a claimed time that is missing."""

CLOCK_IS_WRONG: Final = (
    "This time was in the future when the record arrived: the node's clock is wrong"
)
"""Shown with a claimed time that was further ahead."""


class RejectionStage(StrEnum):
    """Where a transaction was rejected; the wire's `txRejectionStage`.

    UNKNOWN is not on the wire: upstream did not give a stage.
    """

    SEQUENCER = "SEQUENCER"
    RPC = "RPC"
    P2P = "P2P"
    UNKNOWN = "unknown"


WIRE_STAGES: Final = tuple(each for each in RejectionStage if each is not RejectionStage.UNKNOWN)
"""The stages that a record or a report can name."""


def or_unknown(value: object | None) -> str:
    """Format a value of a record, or "unknown"."""
    return "unknown" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class RejectedTransaction:
    """One exclusion record, as `getTransactionExclusionStatusV1` answers it.

    A value that upstream leaves out is None, an empty reason, or the stage UNKNOWN. `timestamp` is
    the claimed time of the rejection (UTC, whole milliseconds). `block_number` is shown only for
    the SEQUENCER stage. `added` holds members that are not part of a record, as JSON.
    """

    tx_hash: TxHash
    sender: Address | None
    nonce: int | None
    tx_rejection_stage: RejectionStage
    reason_message: str
    timestamp: datetime | None
    block_number: int | None = None
    added: str = field(default="", compare=False)

    @property
    def is_whole(self) -> bool:
        """Whether it has every value that a record of the exclusion API has."""
        return None not in {self.sender, self.nonce, self.timestamp} and self.is_staged

    @property
    def is_staged(self) -> bool:
        """Whether the stage is known."""
        return self.tx_rejection_stage in WIRE_STAGES

    def in_words(self, seen_at: datetime | None) -> str:
        """Say where and when it was rejected, and which values are unknown."""
        where = f" at the {self.tx_rejection_stage} stage" if self.is_staged else ""
        when = "" if self.timestamp is None else f", dated {moment(self.timestamp)}"
        if self.timestamp is None and seen_at is not None:
            when = f", first seen {moment(seen_at)}"
        known = {
            "stage": self.is_staged,
            "sender": self.sender is not None,
            "nonce": self.nonce is not None,
            "date": self.timestamp is not None,
        }
        unknown = [name for name, is_known in known.items() if not is_known]
        are = "is" if len(unknown) == 1 else "are"
        remark = f" The {listed(unknown)} {are} not known." if unknown else ""
        return f"Rejected{where}{when}.{remark}"


class EndedLimits(Struct, frozen=True):
    """Line limits that have ended; `is_in_spite`: the rejection is dated after that."""

    since: datetime
    is_in_spite: bool

    @classmethod
    def of(cls, ended_at: datetime | None, dated: datetime) -> Self | None:
        """Return the ended limits for a rejection with this date; None while limits apply."""
        return None if ended_at is None else cls(ended_at, dated >= ended_at)

    @property
    def note(self) -> str:
        """The note beside a rejection that is dated after the end; otherwise empty."""
        if not self.is_in_spite:
            return ""
        return (
            f"It is dated after the line limits of this network ended on {moment(self.since)}, and "
            "still counts."
        )


EXCLUDED: Final = "EXCLUDED"
"""The status of a rejected transaction, from upstreams that answer with a status."""

INCLUDED: Final = "INCLUDED"


class StatusClaim(Struct, frozen=True):
    """What an upstream says of a transaction instead of a record; `status` is its own word.

    INCLUDED is a claim that only a receipt proves; it may name the block. Any other status means
    that no rejection is on record now.
    """

    status: str
    tx_hash: TxHash | None = None
    block_number: int | None = None
    added: str = ""


class ModuleOverflow(Struct, frozen=True):
    """One element of a report's `overflows`: a module whose lines went over its limit."""

    module: str
    count: int
    limit: int


class RejectionSource(StrEnum):
    """How a version first arrived: a node reported it, a poll found it, or it is demo data."""

    REPORTED = "reported"
    POLLED = "polled"
    DEMO_HISTORY = "demo history"


class StoredRejection(Struct, frozen=True):
    """One version of a record in our archive.

    `first_seen_at` is when it arrived, by poll or report. `reported_at` is when a node sent it to
    our own serve; None if it was only polled. `seen_again_at` is when upstream last answered it
    again, to the hour; None if it did not.
    """

    rejection_id: int
    network_id: NetworkId
    record: RejectedTransaction
    first_seen_at: datetime
    reported_at: datetime | None = None
    overflows: tuple[ModuleOverflow, ...] = ()
    seen_again_at: datetime | None = None
    source: RejectionSource = RejectionSource.POLLED

    @property
    def is_dated_ahead(self) -> bool:
        """Whether its claimed time was in the future when it arrived: the node's clock is wrong.

        Such a version is kept unchanged and ranks behind all others; otherwise one report from the
        year 9998 would hide all later reports of its hash.
        """
        claimed = self.record.timestamp
        return claimed is not None and claimed - self.first_seen_at > LARGEST_LEAD

    @property
    def dated_at(self) -> datetime:
        """The claimed time of the rejection, or when we first saw it if none is claimed."""
        return self.record.timestamp or self.first_seen_at

    @property
    def last_seen_at(self) -> datetime:
        """When upstream or a node last gave it, to the hour."""
        return self.seen_again_at or self.first_seen_at


class ArchivedRejection(Struct, frozen=True):
    """A rejection with the recipient of its signed transaction, if a node reported that.

    `recipient` is None for a deployment, and unknown unless `is_signed_held`.
    """

    rejection: StoredRejection
    is_signed_held: bool = False
    recipient: Address | None = None


class SignedTransaction(Struct, frozen=True):
    """The fields of a signed transaction, decoded from its RLP bytes.

    `recipient` is None for a deployment; `chain_id` is None for signatures older than EIP-155.
    `raw` is the canonical encoding whose keccak is `tx_hash` (never the block-body wrapping).
    """

    tx_hash: TxHash
    sender: Address
    recipient: Address | None
    nonce: int
    chain_id: NetworkId | None
    raw: bytes


class RejectionReport(Struct, frozen=True):
    """One `saveRejectedTransactionV1` call: a node says that it rejected a transaction."""

    transaction: SignedTransaction
    tx_rejection_stage: RejectionStage
    reason_message: str
    timestamp: datetime
    block_number: int | None
    overflows: tuple[ModuleOverflow, ...]

    def record(self) -> RejectedTransaction:
        """Return the record that readers of this report get."""
        return RejectedTransaction(
            tx_hash=self.transaction.tx_hash,
            sender=self.transaction.sender,
            nonce=self.transaction.nonce,
            tx_rejection_stage=self.tx_rejection_stage,
            reason_message=self.reason_message,
            timestamp=self.timestamp,
            block_number=self.block_number,
        )


class LocatedReport(NamedTuple):
    """A report, its network, and when it came, unless that is now."""

    report: RejectionReport
    network_id: NetworkId
    came_at: datetime | None = None


class SaveStatus(StrEnum):
    """What happened to a report; a duplicate is a normal result, not an error."""

    SAVED = "SAVED"
    DUPLICATE = "DUPLICATE_ALREADY_SAVED_BEFORE"
