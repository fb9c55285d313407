"""The small world in which the store is tried: few hashes and networks, so that they meet."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from hypothesis import strategies as st

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import Address, TxHash
from dashboard.domain.rejections.exclusion import (
    WIRE_STAGES,
    LocatedReport,
    ModuleOverflow,
    RejectedTransaction,
    RejectionReport,
    SignedTransaction,
)
from tests.builders import A_NETWORK, ANOTHER_NETWORK, a_report, an_address

NETWORKS: Final = (A_NETWORK, ANOTHER_NETWORK)
HASHES: Final = tuple(
    TxHash(bytes([1, 1, 1, first]) + bytes(27) + bytes([2])) for first in range(4)
)
"""They begin alike, so that whoever looks at their beginnings only is found out."""

SENDERS: Final = (an_address(1), an_address(2))
REASONS: Final = (
    "Transaction line count for module ADD=600000 is above the limit 524288",
    "TX_MODULE_LINE_COUNT_OVERFLOW (MUL)",
    "nobody knows \0 why: 50% \\u0000 _or_ more",
)
LABELS: Final = ("", "payout", "100% of it")

hashes = st.sampled_from(HASHES)
networks = st.sampled_from(NETWORKS)
some_networks = st.lists(networks, unique=True, max_size=2).map(tuple)
labels = st.sampled_from(LABELS)
lateness = st.sampled_from(
    [timedelta(), timedelta(milliseconds=1), timedelta(hours=1), timedelta(days=7, seconds=1)]
)
claims = lateness | st.just(timedelta(days=-1))
"""How long ago a node claims that it happened; one clock is a day ahead."""
failures = st.builds(Failure, st.sampled_from(FailureKind), st.sampled_from(["no \0 route", "429"]))


def sender_of(tx_hash: TxHash) -> Address:
    """Return who signed a transaction: its hash decides."""
    return SENDERS[tx_hash[3] % len(SENDERS)]


def signed(tx_hash: TxHash) -> SignedTransaction:
    """Return the only transaction that has this hash."""
    number = tx_hash[3]
    recipient = an_address(9) if number else None
    chain_id = A_NETWORK if number % 2 else None
    return SignedTransaction(
        tx_hash, sender_of(tx_hash), recipient, number, chain_id, bytes(tx_hash[:8])
    )


@st.composite
def reports(draw: st.DrawFn) -> tuple[LocatedReport, timedelta]:
    """Draw a report, and how long before its arrival it claims to have happened."""
    transaction = signed(draw(hashes))
    overflows = draw(st.sampled_from([(), (ModuleOverflow("ADD", 600_000, 524_288),)]))
    report = a_report(
        tx_hash=transaction.tx_hash,
        sender=transaction.sender,
        recipient=transaction.recipient,
        nonce=transaction.nonce,
        chain_id=transaction.chain_id,
        raw=transaction.raw,
        tx_rejection_stage=draw(st.sampled_from(WIRE_STAGES)),
        reason_message=draw(st.sampled_from(REASONS)),
        block_number=draw(st.sampled_from([None, 5, 6])),
        overflows=overflows,
    )
    return LocatedReport(report, draw(networks)), draw(claims)


def dated(located: tuple[LocatedReport, timedelta], now: datetime) -> LocatedReport:
    """Let a drawn report claim its time, counted back from `now`."""
    report, late = located[0].report, located[1]
    claimed = RejectionReport(
        report.transaction,
        report.tx_rejection_stage,
        report.reason_message,
        now - late,
        report.block_number,
        report.overflows,
    )
    return located[0]._replace(report=claimed)


def said_of_one() -> st.SearchStrategy[RejectedTransaction | Failure | None]:
    """Return what upstream may say of one hash: a record, null or nothing."""
    record = reports().map(lambda drawn: drawn[0].report.record())
    return st.none() | failures | record


@st.composite
def answers(draw: st.DrawFn) -> list[tuple[TxHash, RejectedTransaction | Failure | None]]:
    """Draw what upstream says of some hashes: a record, null or nothing."""
    asked = draw(st.lists(hashes, unique=True, min_size=1, max_size=3))
    return [(each, draw(said_of_one())) for each in asked]


def answer_of(
    said: tuple[TxHash, RejectedTransaction | Failure | None], now: datetime
) -> ExclusionAnswer:
    """Put a drawn answer into the form of upstream's."""
    tx_hash, what = said
    if isinstance(what, Failure):
        return ExclusionAnswer(tx_hash, failure=what)
    return ExclusionAnswer(tx_hash, record=None if what is None else _of_hash(what, tx_hash, now))


def _of_hash(record: RejectedTransaction, tx_hash: TxHash, now: datetime) -> RejectedTransaction:
    transaction = signed(tx_hash)
    return RejectedTransaction(
        tx_hash,
        transaction.sender,
        transaction.nonce,
        record.tx_rejection_stage,
        record.reason_message,
        now.replace(minute=0, second=0, microsecond=0),
        record.block_number,
    )
