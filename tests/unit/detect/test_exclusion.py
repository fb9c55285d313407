"""What an exclusion answer changes in the condition of a transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from dashboard.detect.silence import conclude_exclusion
from dashboard.domain.alerts.condition import State, Subject, Transition
from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage

AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NEW_ID = UUID(int=7)
TX_HASH = TxHash(bytes(31) + b"\x01")
SUBJECT = Subject.transaction(NetworkId(424242), TX_HASH)
RECORD = RejectedTransaction(
    TX_HASH, Address(bytes(20)), 0, RejectionStage.RPC, "TX_MODULE_LINE_COUNT_OVERFLOW(MMU)", AT
)
FOUND = ExclusionAnswer(TX_HASH, record=RECORD)
NULL = ExclusionAnswer(TX_HASH)
FAILED = ExclusionAnswer(TX_HASH, failure=Failure(FailureKind.UNAVAILABLE, "no answer"))


@pytest.mark.parametrize("before", [None, State.UNREPORTED])
def test_record_makes_the_transaction_rejected(before: State | None) -> None:
    transition = conclude_exclusion(SUBJECT, before, FOUND, AT, NEW_ID)

    assert transition == Transition(NEW_ID, SUBJECT, before, State.REJECTED, AT)


@pytest.mark.parametrize("answer", [NULL, FAILED], ids=["null", "failure"])
@pytest.mark.parametrize("before", [None, *State])
def test_answer_without_a_record_changes_no_condition(
    before: State | None, answer: ExclusionAnswer
) -> None:
    assert conclude_exclusion(SUBJECT, before, answer, AT, NEW_ID) is None


def test_record_of_a_rejected_transaction_may_be_a_new_version() -> None:
    transition = conclude_exclusion(SUBJECT, State.REJECTED, FOUND, AT, NEW_ID)

    assert transition == Transition(NEW_ID, SUBJECT, State.REJECTED, State.REJECTED, AT)
