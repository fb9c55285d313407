"""Exclusion values: what a reader of a report gets to see, and the words of the wire."""

from __future__ import annotations

from datetime import UTC, datetime

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    ModuleOverflow,
    RejectedTransaction,
    RejectionReport,
    RejectionStage,
    SaveStatus,
    SignedTransaction,
)
from tests.builders import A_MOMENT, a_rejection, seconds


def test_report_shows_its_record_without_overflows_and_bytes() -> None:
    moment = datetime(2026, 11, 20, tzinfo=UTC)
    transaction = SignedTransaction(
        TxHash(bytes(32)), Address(bytes(20)), None, 2**64 - 2, NetworkId(1), b"\x02"
    )
    report = RejectionReport(
        transaction, RejectionStage.P2P, "why", moment, 7, (ModuleOverflow("ADD", 2, 1),)
    )

    assert report.record() == RejectedTransaction(
        TxHash(bytes(32)), Address(bytes(20)), 2**64 - 2, RejectionStage.P2P, "why", moment, 7
    )


def test_stages_and_answers_are_the_words_of_the_wire() -> None:
    assert [*RejectionStage] == ["SEQUENCER", "RPC", "P2P"]
    assert [*SaveStatus] == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]


def test_rejection_was_seen_last_when_it_was_seen_again() -> None:
    later = A_MOMENT + seconds(3600)

    assert a_rejection(first_seen_at=A_MOMENT).last_seen_at == A_MOMENT
    assert a_rejection(first_seen_at=A_MOMENT, seen_again_at=later).last_seen_at == later
