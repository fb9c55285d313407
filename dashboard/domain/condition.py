"""Conditions: what we hold true of a subject, and the transitions between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from dashboard.domain.quantity import NetworkId, TxHash


class SubjectKind(StrEnum):
    """What a condition is about."""

    TRANSACTION = "transaction"
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that has a condition: a transaction on a network, or the network itself."""

    kind: SubjectKind
    network_id: NetworkId
    tx_hash: TxHash | None = None

    @classmethod
    def transaction(cls, network_id: NetworkId, tx_hash: TxHash) -> Subject:
        """Name the exclusion condition of one transaction on one network."""
        return cls(SubjectKind.TRANSACTION, network_id, tx_hash)

    def key(self) -> str:
        """Return the text under which the store keeps this subject's condition."""
        return f"{self.kind}:{self.network_id}:{self.tx_hash or ''}"


class State(StrEnum):
    """The states a subject can be in.

    UNREPORTED: asked at least once, no record seen. REJECTED: a record was seen.
    """

    UNREPORTED = "unreported"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of condition, with what stands behind it.

    `transition_id` is chosen by the caller, so that the same change is stored once.
    `rejection_id` names the stored record that caused it.
    """

    transition_id: UUID
    subject: Subject
    before: State | None
    after: State
    at: datetime
