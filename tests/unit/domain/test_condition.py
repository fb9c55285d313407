"""Subjects: the key under which a condition is kept."""

from __future__ import annotations

from dashboard.domain.alerts.condition import Subject, SubjectKind
from dashboard.domain.quantity import NetworkId, TxHash


def test_transaction_is_kept_under_its_network_and_hash() -> None:
    subject = Subject.transaction(NetworkId(59144), TxHash(b"\xab" * 32))

    assert subject.kind is SubjectKind.TRANSACTION
    assert subject.key() == f"transaction:59144:0x{'ab' * 32}"


def test_network_is_kept_without_a_hash() -> None:
    assert Subject(SubjectKind.BUSYNESS, NetworkId(1)).key() == "busyness:1:"
