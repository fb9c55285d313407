"""Rejected transactions: the record that is asked for and the report that a node sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self

from dashboard.domain.formatting import listed, moment
from dashboard.domain.quantity import Address, NetworkId, TxHash

QUERYABLE_WINDOW: Final = timedelta(days=7)
"""How long after the claimed rejection time a record is answered, inclusive."""

REPORTING_DELAY: Final = timedelta(hours=2)
"""How long a node keeps trying to hand in a report: news can be this late."""


LARGEST_LEAD: Final = timedelta(minutes=5)
"""How far ahead of our clock a claimed time may be when it arrives: clocks differ a little."""

UNDATED: Final = "unknown: upstream gave no date"
"""What to say of a claimed time that is missing."""

CLOCK_IS_WRONG: Final = (
    "This time was in the future when the record arrived: the node's clock is wrong"
)
"""What to say of a claimed time that was further ahead."""


class RejectionStage(StrEnum):
    """Where a transaction was rejected; the wire's `txRejectionStage`.

    UNKNOWN is no word of the wire: upstream did not say it.
    """

    SEQUENCER = "SEQUENCER"
    RPC = "RPC"
    P2P = "P2P"
    UNKNOWN = "unknown"


WIRE_STAGES: Final = tuple(each for each in RejectionStage if each is not RejectionStage.UNKNOWN)
"""The stages that a record or a report can name."""


def or_unknown(value: object | None) -> str:
    """Print what a record says, or that it does not say it."""
    return "unknown" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class RejectedTransaction:
    """One exclusion record, as `getTransactionExclusionStatusV1` answers it.

    What upstream does not say is unknown: None, an empty reason, or the stage UNKNOWN.
    `timestamp` is the claimed time of the rejection (UTC, whole milliseconds).
    `block_number` is shown only for the SEQUENCER stage. `added` holds members that are not part of
    a record, as JSON.
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
        """Whether it says all that a record of the exclusion API has to say."""
        return None not in {self.sender, self.nonce, self.timestamp} and self.is_staged

    @property
    def is_staged(self) -> bool:
        """Whether the stage is known."""
        return self.tx_rejection_stage in WIRE_STAGES

    def in_words(self, seen_at: datetime | None) -> str:
        """Say where and when it was rejected, and what of that is not known."""
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


@dataclass(frozen=True, slots=True)
class EndedLimits:
    """Line limits that ended, as a rejection sees them; `is_in_spite`: it is dated after that."""

    since: datetime
    is_in_spite: bool

    @classmethod
    def of(cls, ended_at: datetime | None, dated: datetime) -> Self | None:
        """Return them for a rejection dated then; None while limits hold."""
        return None if ended_at is None else cls(ended_at, dated >= ended_at)

    @property
    def note(self) -> str:
        """What is to be said beside the rejection; empty for one from before the end."""
        if not self.is_in_spite:
            return ""
        return (
            f"It is dated after the line limits of this network ended on {moment(self.since)}, and "
            "still counts."
        )


EXCLUDED: Final = "EXCLUDED"
"""The status of a rejected transaction, at upstreams that answer a status."""

INCLUDED: Final = "INCLUDED"


@dataclass(frozen=True, slots=True)
class StatusClaim:
    """What an upstream says of a transaction instead of a record; `status` is a word of its own.

    INCLUDED is a claim that only a receipt proves; it may name the block. Any other word means
    that no rejection is on record now.
    """

    status: str
    tx_hash: TxHash | None = None
    block_number: int | None = None
    added: str = ""


@dataclass(frozen=True, slots=True)
class ModuleOverflow:
    """One element of a report's `overflows`: a module whose lines went over its limit."""

    module: str
    count: int
    limit: int


class RejectionSource(StrEnum):
    """How a version came here first: from a node, from an upstream that was asked, or made up."""

    REPORTED = "reported"
    POLLED = "polled"
    DEMO_HISTORY = "demo history"


@dataclass(frozen=True, slots=True)
class StoredRejection:
    """One version of a record in our archive.

    `first_seen_at` is when it arrived here, by poll or report. `reported_at` is when a node
    handed it to our own serve; None if it was only polled. `seen_again_at` is when upstream
    showed it another time, to the hour; None if it did not.
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
        """Whether it claims a time after its arrival: the node's clock is wrong.

        Such a claim is kept as it is and ranks behind every other, or one report of the year 9998
        would hide whatever is reported of its hash later.
        """
        claimed = self.record.timestamp
        return claimed is not None and claimed - self.first_seen_at > LARGEST_LEAD

    @property
    def dated_at(self) -> datetime:
        """When it was rejected, as it claims; when we first saw it if it claims nothing."""
        return self.record.timestamp or self.first_seen_at

    @property
    def last_seen_at(self) -> datetime:
        """When upstream or a node showed it last, to the hour."""
        return self.seen_again_at or self.first_seen_at


@dataclass(frozen=True, slots=True)
class ArchivedRejection:
    """A rejection with the fields of its signed transaction, if a node reported that.

    `recipient` is None for a deployment, and unknown if `is_signed_held` is false.
    """

    rejection: StoredRejection
    is_signed_held: bool = False
    recipient: Address | None = None


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """What a signed transaction says of itself, derived from its RLP bytes.

    `recipient` is None for a deployment; `chain_id` is None for signatures older than EIP-155.
    `raw` is the canonical encoding whose keccak is `tx_hash` (never the block-body wrapping).
    """

    tx_hash: TxHash
    sender: Address
    recipient: Address | None
    nonce: int
    chain_id: NetworkId | None
    raw: bytes


@dataclass(frozen=True, slots=True)
class RejectionReport:
    """One `saveRejectedTransactionV1` call: a node says that it rejected a transaction."""

    transaction: SignedTransaction
    tx_rejection_stage: RejectionStage
    reason_message: str
    timestamp: datetime
    block_number: int | None
    overflows: tuple[ModuleOverflow, ...]

    def record(self) -> RejectedTransaction:
        """Return the record that a reader of this report gets to see."""
        return RejectedTransaction(
            tx_hash=self.transaction.tx_hash,
            sender=self.transaction.sender,
            nonce=self.transaction.nonce,
            tx_rejection_stage=self.tx_rejection_stage,
            reason_message=self.reason_message,
            timestamp=self.timestamp,
            block_number=self.block_number,
        )


class SaveStatus(StrEnum):
    """What became of a report; a duplicate is a normal result, not an error."""

    SAVED = "SAVED"
    DUPLICATE = "DUPLICATE_ALREADY_SAVED_BEFORE"
