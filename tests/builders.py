"""Builders: whole values of the domain, of which a test names only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.alerts.incident import Incident, IncidentState
from dashboard.domain.alerts.notification import Notification, Recipient
from dashboard.domain.fees.gas import FeeSuggestion, SuggestedGasFees
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import Address, NetworkId, TxHash, Wei
from dashboard.domain.rejections.exclusion import (
    RejectedTransaction,
    RejectionReport,
    RejectionStage,
    SignedTransaction,
    StatusClaim,
    StoredRejection,
)

A_MOMENT: Final = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
A_NETWORK: Final = NetworkId(424242)
ANOTHER_NETWORK: Final = NetworkId(59144)
GWEI: Final = 10**9
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


def seconds(count: float) -> timedelta:
    """Return a duration, to be added to `A_MOMENT`."""
    return timedelta(seconds=count)


def utc(text: str) -> datetime:
    """Read a moment in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def a_hash(number: int = 1) -> TxHash:
    """Return the hash that ends in `number`; different numbers, different hashes."""
    return TxHash(number.to_bytes(TxHash.LENGTH, "big"))


def an_address(number: int = 1) -> Address:
    """Return the address that ends in `number`."""
    return Address(number.to_bytes(Address.LENGTH, "big"))


def an_id(number: int = 1) -> UUID:
    """Return the UUID that ends in `number`."""
    return UUID(int=number)


def a_record(**changes: Any) -> RejectedTransaction:  # noqa: ANN401 - any field
    """Return the record of `a_hash()`, rejected by an RPC node at `A_MOMENT`."""
    fields: dict[str, Any] = {
        "tx_hash": a_hash(),
        "sender": an_address(),
        "nonce": 5,
        "tx_rejection_stage": RejectionStage.RPC,
        "reason_message": (
            "Transaction line count for module ADD=600000 is above the limit 524288"
        ),
        "timestamp": A_MOMENT,
    }
    return RejectedTransaction(**(fields | changes))


def a_disputed_answer(tx_hash: TxHash, **record: Any) -> ExclusionAnswer:  # noqa: ANN401 - any field
    """Return the answer of an endpoint that has a record, beside one that has an inclusion."""
    claim = StatusClaim("INCLUDED", tx_hash, 21_044)
    beside = (ExclusionAnswer(tx_hash, claim=claim, endpoint="second"),)
    answer = a_record(tx_hash=tx_hash, **record)
    return ExclusionAnswer(tx_hash, answer, endpoint="gateway", beside=beside)


DISPUTE: Final = (
    "The endpoints disagree, and the rejection takes precedence: gateway has reported a rejection "
    "since 2026-11-20 12:00:00 UTC; second has reported the transaction as included in block "
    "21,044 since 2026-11-20 12:00:00 UTC; only a receipt proves an inclusion."
)
"""What is said of such an answer, given at `A_MOMENT`."""


def a_transaction(**changes: Any) -> SignedTransaction:  # noqa: ANN401 - any field
    """Return the signed transaction of `a_hash()`; its bytes are made up."""
    fields: dict[str, Any] = {
        "tx_hash": a_hash(),
        "sender": an_address(),
        "recipient": an_address(2),
        "nonce": 5,
        "chain_id": A_NETWORK,
        "raw": b"\x02signed",
    }
    return SignedTransaction(**(fields | changes))


def a_report(**changes: Any) -> RejectionReport:  # noqa: ANN401 - any field, or one of the transaction
    """Return the report that `a_record()` is the record of; fields of both may be changed."""
    fields: dict[str, Any] = {
        "tx_rejection_stage": RejectionStage.RPC,
        "reason_message": a_record().reason_message,
        "timestamp": A_MOMENT,
        "block_number": None,
        "overflows": (),
    }
    of_transaction = {name: changes.pop(name) for name in {*changes} - fields.keys()}
    return RejectionReport(transaction=a_transaction(**of_transaction), **(fields | changes))


def a_rejection(**changes: Any) -> StoredRejection:  # noqa: ANN401 - any field
    """Return `a_record()` as it stands in the archive."""
    fields: dict[str, Any] = {
        "rejection_id": 1,
        "network_id": A_NETWORK,
        "record": a_record(),
        "first_seen_at": A_MOMENT + seconds(3),
    }
    return StoredRejection(**(fields | changes))


def a_transition(number: int = 1, **changes: Any) -> Transition:  # noqa: ANN401 - any field
    """Return the news that the transaction of `a_hash(number)` was rejected."""
    fields: dict[str, Any] = {
        "transition_id": an_id(number),
        "subject": Subject.transaction(A_NETWORK, a_hash(number)),
        "before": None,
        "after": State.REJECTED,
        "at": A_MOMENT,
    }
    return Transition(**(fields | changes))


def a_notification(**changes: Any) -> Notification:  # noqa: ANN401 - any field
    """Return what is pending to somebody because of `a_transition()` and `a_rejection()`."""
    fields: dict[str, Any] = {
        "notification_id": an_id(),
        "message_id": f"<{an_id()}@linewatch.invalid>",
        "recipient": Recipient("mail", "ops@example.org"),
        "transition": a_transition(),
        "rejection": a_rejection(),
        "created_at": A_MOMENT,
    }
    return Notification(**(fields | changes))


def an_incident(**changes: Any) -> Incident:  # noqa: ANN401 - any field
    """Return the incident of one rejection, which opened at `A_MOMENT`."""
    fields: dict[str, Any] = {
        "incident_id": an_id(9),
        "rule": "rejections",
        "kind": "rejected",
        "severity": "warning",
        "group": (("network", str(A_NETWORK)), ("module", "ADD"), ("stage", "RPC")),
        "state": IncidentState.FIRING,
        "opened_at": A_MOMENT,
        "changed_at": A_MOMENT,
    }
    return Incident(**(fields | changes))


def a_suggestion(priority_fee: int = 2 * GWEI, fee: int = 20 * GWEI) -> FeeSuggestion:
    """Return one level of suggested fees."""
    return FeeSuggestion(Wei(priority_fee), Wei(fee), seconds(15), seconds(30))


def suggested_gas_fees(**changes: Any) -> SuggestedGasFees:  # noqa: ANN401 - any field
    """Return suggested fees on a network that is calm at 10 gwei."""
    fields: dict[str, Any] = {
        "low": a_suggestion(1 * GWEI, 12 * GWEI),
        "medium": a_suggestion(2 * GWEI, 14 * GWEI),
        "high": a_suggestion(3 * GWEI, 16 * GWEI),
        "estimated_base_fee": Wei(10 * GWEI),
        "network_congestion": 0.25,
        "latest_priority_fee_range": (Wei(1 * GWEI), Wei(3 * GWEI)),
        "historical_priority_fee_range": (Wei(1), Wei(90 * GWEI)),
        "historical_base_fee_range": (Wei(7), Wei(40 * GWEI)),
        "priority_fee_trend": "level",
        "base_fee_trend": "up",
    }
    return SuggestedGasFees(**(fields | changes))
