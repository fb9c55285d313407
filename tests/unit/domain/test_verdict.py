"""Verdicts: the one honest thing to say of a hash, from what is stored and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from dashboard.domain.health.observation import Failure, FailureKind
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    QUERYABLE_WINDOW,
    REPORTING_DELAY,
    RejectedTransaction,
    RejectionStage,
)
from dashboard.domain.tracking.verdict import (
    Evidence,
    FollowUp,
    Inclusion,
    Verdict,
    VerdictKind,
    conclude,
)

HASH: Final = TxHash(bytes(32))
NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
MOMENT: Final = timedelta(milliseconds=1)
REFUSED: Final = Failure(FailureKind.REFUSED, "The exclusion endpoint refuses the key.")


IN_BLOCK: Final = FollowUp(NOW, Inclusion(1234, bytes(32), is_successful=True), NOW)
REPLACED: Final = FollowUp(NOW, replaced_since=NOW - timedelta(minutes=1), next_nonce=2)
NO_RECEIPT: Final = FollowUp(NOW)


def concluded(**changes: Any) -> Verdict:  # noqa: ANN401 - any field of the evidence
    """Conclude on a hash never asked for, with some evidence added."""
    return conclude(Evidence(NetworkId(59144), HASH, **changes))


def answered(at: datetime = NOW, **changes: Any) -> Verdict:  # noqa: ANN401 - likewise
    """Conclude on a hash that was answered once, with null."""
    return concluded(**({"first_answered_at": at, "last_answered_at": at} | changes))


def a_record(stage: RejectionStage = RejectionStage.RPC) -> RejectedTransaction:
    return RejectedTransaction(
        HASH, Address(bytes(20)), 1, stage, "<b>hostile</b>", NOW - timedelta(hours=1)
    )


def test_record_makes_it_rejected_and_not_final() -> None:
    verdict = concluded(records=(a_record(),))

    assert verdict.kind is VerdictKind.REJECTED
    assert verdict.rests_on == "Rejected at the RPC stage, dated 2026-11-20 11:00:00 UTC."
    assert "may be sent again" in verdict.follows


def test_several_records_are_counted_and_the_newest_is_told() -> None:
    verdict = concluded(records=(a_record(RejectionStage.SEQUENCER), a_record()))

    assert verdict.rests_on.startswith("Rejected at the SEQUENCER stage")
    assert verdict.rests_on.endswith("2 versions of the record were seen.")


def test_record_that_is_dated_ahead_is_said_to_come_from_a_wrong_clock() -> None:
    verdict = concluded(records=(a_record(),), is_dated_ahead=True)

    assert verdict.rests_on.endswith(
        "11:00:00 UTC. This time was in the future when it arrived: the node's clock is wrong."
    )


def test_record_outlives_a_later_null_and_a_failing_upstream() -> None:
    verdict = answered(records=(a_record(),), failing_since=NOW, failure=REFUSED)

    assert verdict.kind is VerdictKind.REJECTED


def test_record_text_is_never_repeated() -> None:
    verdict = concluded(records=(a_record(),))

    assert "hostile" not in verdict.rests_on + verdict.follows


def test_hash_never_asked_for_is_not_checked_yet() -> None:
    assert concluded().kind is VerdictKind.NOT_CHECKED_YET


def test_hash_without_any_answer_cannot_be_checked() -> None:
    verdict = concluded(failing_since=NOW, failure=REFUSED)

    assert verdict.kind is VerdictKind.CANNOT_CHECK
    assert verdict.rests_on == (
        "The exclusion API has given no answer since 2026-11-20 12:00:00 UTC. "
        "The exclusion endpoint refuses the key."
    )


def test_failure_without_a_message_is_told_all_the_same() -> None:
    verdict = concluded(failing_since=NOW)

    assert verdict.kind is VerdictKind.CANNOT_CHECK
    assert verdict.rests_on.endswith("since 2026-11-20 12:00:00 UTC.")


def test_null_means_no_rejection_on_record_in_the_week_before() -> None:
    verdict = answered()

    assert verdict.kind is VerdictKind.NO_REJECTION_ON_RECORD
    assert verdict.rests_on == (
        "Asked 2026-11-20 12:00:00 UTC: no rejection on record dated after "
        "2026-11-13 12:00:00 UTC. An older one could not be seen."
    )


def test_null_rests_on_the_last_answer() -> None:
    verdict = answered(last_answered_at=NOW + timedelta(hours=1))

    assert verdict.rests_on.startswith("Asked 2026-11-20 13:00:00 UTC")


def test_null_before_an_outage_tells_of_the_outage() -> None:
    verdict = answered(failing_since=NOW + timedelta(hours=1), failure=REFUSED)

    assert verdict.kind is VerdictKind.NO_REJECTION_ON_RECORD
    assert verdict.rests_on.endswith("Since 2026-11-20 13:00:00 UTC the API gives no answer.")


def test_null_on_a_time_unknown_may_be_followed_by_a_late_report() -> None:
    assert "the time of the attempt is not known" in answered().follows


@pytest.mark.parametrize("delay", [timedelta(), REPORTING_DELAY - MOMENT, REPORTING_DELAY])
def test_null_within_two_hours_may_be_followed_by_a_late_report(delay: timedelta) -> None:
    verdict = answered(attempted_at=NOW - delay)

    assert verdict.kind is VerdictKind.NO_REJECTION_ON_RECORD
    assert verdict.follows.startswith("A node's report can still arrive until ")


def test_null_after_two_hours_says_that_they_had_passed() -> None:
    verdict = answered(attempted_at=NOW - REPORTING_DELAY - MOMENT)

    assert verdict.follows == "The two hours in which nodes report had passed when this was asked."


def test_first_answer_exactly_a_week_after_the_attempt_is_in_time() -> None:
    verdict = answered(attempted_at=NOW - QUERYABLE_WINDOW)

    assert verdict.kind is VerdictKind.NO_REJECTION_ON_RECORD


def test_first_answer_more_than_a_week_after_the_attempt_cannot_tell() -> None:
    verdict = answered(attempted_at=NOW - QUERYABLE_WINDOW - MOMENT)

    assert verdict.kind is VerdictKind.CANNOT_TELL
    assert verdict.follows == "An earlier rejection may have expired unseen."


def test_first_answer_in_time_counts_however_late_the_last_one_is() -> None:
    verdict = answered(attempted_at=NOW, last_answered_at=NOW + 2 * QUERYABLE_WINDOW)

    assert verdict.kind is VerdictKind.NO_REJECTION_ON_RECORD


def test_receipt_makes_it_included() -> None:
    verdict = answered(follow_up=replace(IN_BLOCK, settled_at=NOW))

    assert verdict == Verdict(
        VerdictKind.INCLUDED,
        "Its receipt names block 1,234, first seen 2026-11-20 12:00:00 UTC.",
        "Nothing is left to do.",
    )


@pytest.mark.parametrize(
    "evidence",
    [{}, {"failing_since": NOW}, {"attempted_at": NOW - 2 * QUERYABLE_WINDOW}],
    ids=["never asked", "api silent", "asked too late"],
)
def test_receipt_counts_whatever_the_exclusion_api_says(evidence: dict[str, Any]) -> None:
    assert concluded(follow_up=IN_BLOCK, **evidence).kind is VerdictKind.INCLUDED


def test_receipt_after_a_record_is_rejected_then_included() -> None:
    verdict = concluded(records=(a_record(),), follow_up=replace(IN_BLOCK, settled_at=NOW))

    assert verdict.kind is VerdictKind.REJECTED_THEN_INCLUDED
    assert verdict.rests_on == (
        "Rejected at the RPC stage, dated 2026-11-20 11:00:00 UTC. "
        "Its receipt names block 1,234, first seen 2026-11-20 12:00:00 UTC."
    )
    assert verdict.follows.startswith("The rejection did not last")


def test_receipt_without_a_first_time_is_told_without_it() -> None:
    verdict = concluded(follow_up=FollowUp(NOW, Inclusion(7, bytes(32))))

    assert verdict.rests_on == "Its receipt names block 7."


def test_receipt_of_a_reverted_execution_says_what_that_cost() -> None:
    reverted = Inclusion(7, bytes(32), is_successful=False)

    verdict = concluded(follow_up=FollowUp(NOW, reverted, NOW))

    assert verdict.kind is VerdictKind.INCLUDED
    assert verdict.follows.startswith("Its execution was reverted: the fee was paid")


@pytest.mark.parametrize("end", [IN_BLOCK, REPLACED])
def test_end_that_is_not_settled_says_that_it_can_change(end: FollowUp) -> None:
    assert "can still be replaced" in concluded(follow_up=end).follows
    settled = concluded(follow_up=replace(end, settled_at=NOW))
    assert "can still be replaced" not in settled.follows


def test_nonce_used_by_another_makes_it_replaced() -> None:
    verdict = concluded(records=(a_record(),), follow_up=REPLACED)

    assert verdict.kind is VerdictKind.REPLACED
    assert verdict.rests_on == (
        "Rejected at the RPC stage, dated 2026-11-20 11:00:00 UTC. "
        "Its sender's nonce was used by another transaction, and there was no receipt for this "
        "one 2026-11-20 12:00:00 UTC."
    )
    assert verdict.follows.startswith("This transaction can never be included any more")


def test_nonce_seen_as_used_only_once_does_not_make_it_replaced() -> None:
    verdict = concluded(records=(a_record(),), follow_up=FollowUp(NOW, replaced_since=NOW))

    assert verdict.kind is VerdictKind.REJECTED


def test_missing_receipt_is_told_with_its_time() -> None:
    said = "At 2026-11-20 12:00:00 UTC there was no receipt for it."

    assert concluded(records=(a_record(),), follow_up=NO_RECEIPT).rests_on.endswith(said)
    assert answered(follow_up=NO_RECEIPT).rests_on.endswith(said)


def test_no_verdict_claims_that_nothing_was_rejected() -> None:
    assert "not rejected" not in [kind.value for kind in VerdictKind]


def test_same_evidence_gives_the_same_verdict() -> None:
    assert answered(attempted_at=NOW) == answered(attempted_at=NOW)


def test_what_nobody_knows_comes_before_no_rejection_on_record() -> None:
    order = list(VerdictKind)

    unknown = [each for each in order if each.is_unknown]

    assert order[-1] is VerdictKind.NO_REJECTION_ON_RECORD
    assert order[-1 - len(unknown) : -1] == unknown
    assert len(unknown) == 3


def test_receipt_that_could_not_be_read_is_said_to_be_so() -> None:
    failure = (NOW, Failure(FailureKind.UNREADABLE, "devnet node: mixed up its replies"))

    found = answered(receipt_failure=failure)

    assert "The node has not answered about its receipt since " in found.rests_on
    assert found.rests_on.endswith("devnet node: mixed up its replies.")
