"""Rejected transactions: the record that is asked for and the report that a node sends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.quantity import Address, NetworkId, TxHash

QUERYABLE_WINDOW: Final = timedelta(days=7)
"""How long after the claimed rejection time a record is answered, inclusive."""

REPORTING_DELAY: Final = timedelta(hours=2)
"""How long a node keeps trying to hand in a report: news can be this late."""


LARGEST_LEAD: Final = timedelta(minutes=5)
"""How far ahead of our clock a claimed time may be when it arrives: clocks differ a little."""

CLOCK_IS_WRONG: Final = "This time was in the future when it arrived: the node's clock is wrong"
"""What to say of a claimed time that was further ahead."""


class RejectionStage(StrEnum):
    """Where a transaction was rejected; the wire's `txRejectionStage`."""

    SEQUENCER = "SEQUENCER"
    RPC = "RPC"
    P2P = "P2P"


@dataclass(frozen=True, slots=True)
class RejectedTransaction:
    """One exclusion record, as `getTransactionExclusionStatusV1` answers it.

    `timestamp` is the claimed time of the rejection (UTC, whole milliseconds).
    `block_number` is shown only for the SEQUENCER stage.
    """

    tx_hash: TxHash
    sender: Address
    nonce: int
    tx_rejection_stage: RejectionStage
    reason_message: str
    timestamp: datetime
    block_number: int | None = None


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
        return self.record.timestamp - self.first_seen_at > LARGEST_LEAD

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
