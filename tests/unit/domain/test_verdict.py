"""Verdicts: the one honest thing to say of a hash, from what is stored and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from dashboard.domain.health.observation import Failure, FailureKind
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import (
    QUERYABLE_WINDOW,
    REPORTING_DELAY,
    RejectedTransaction,
    RejectionStage,
)
from dashboard.domain.tracking.inclusion import FollowUp, Inclusion
from dashboard.domain.tracking.verdict import WATCHED_FOR, Evidence, Verdict, VerdictKind, conclude
from tests.golden_texts import GoldenTexts

HASH: Final = TxHash(bytes(32))
NOW: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
MOMENT: Final = timedelta(milliseconds=1)
REFUSED: Final = Failure(FailureKind.REFUSED, "The exclusion endpoint refuses the key.")


UNREADABLE: Final = Failure(FailureKind.UNREADABLE, "devnet node: mixed up its replies")
IN_BLOCK: Final = FollowUp(NOW, Inclusion(1234, bytes(32), is_successful=True), NOW)
REPLACED: Final = FollowUp(NOW, replaced_since=NOW - timedelta(minutes=1), next_nonce=2)
NO_RECEIPT: Final = FollowUp(NOW)


def concluded(**changes: Any) -> Verdict:  # noqa: ANN401 - any field of the evidence
    """Conclude on a hash never asked for, with some evidence added."""
    return conclude(Evidence(NetworkId(59144), HASH, **changes))


def answered(at: datetime = NOW, **changes: Any) -> Verdict:  # noqa: ANN401 - likewise
    """Conclude on a hash that was answered once, with null."""
    return concluded(**({"first_answered_at": at, "last_answered_at": at} | changes))


AN_HOUR_AGO: Final = NOW - timedelta(hours=1)


def a_record(
    stage: RejectionStage = RejectionStage.RPC, at: datetime | None = AN_HOUR_AGO
) -> RejectedTransaction:
    return RejectedTransaction(HASH, Address(bytes(20)), 1, stage, "<b>hostile</b>", at)


def test_transaction_is_watched_for_as_long_as_a_record_of_it_can_appear() -> None:
    assert timedelta(days=7, hours=2) == WATCHED_FOR


def test_record_says_what_it_does_not_hold() -> None:
    record = RejectedTransaction(HASH, None, None, RejectionStage.RPC, "no", NOW)

    assert record.in_words(None).endswith(" The sender and nonce are not known.")


def test_verdicts_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    record, hour = (a_record(),), timedelta(hours=1)
    silent: dict[str, Any] = {"failing_since": NOW, "failure": REFUSED}
    verdicts = {
        "never asked": concluded(),
        "rejected": concluded(records=record),
        "rejected at two stages": concluded(records=(a_record(RejectionStage.SEQUENCER), *record)),
        "rejected by a clock that is ahead": concluded(records=record, is_dated_ahead=True),
        **{
            f"rejected, {what}": concluded(records=(said,), record_seen_at=NOW)
            for what, said in {
                "stage and time unknown": a_record(RejectionStage.UNKNOWN, None),
                "stage unknown": a_record(RejectionStage.UNKNOWN),
                "time unknown": a_record(at=None),
            }.items()
        },
        "rejected, then null, then silence": answered(records=record, **silent),
        "silent": concluded(**silent),
        "silent without a message": concluded(failing_since=NOW),
        "null, attempt unknown": answered(),
        "null, asked again": answered(last_answered_at=NOW + hour),
        "null, then silence": answered(failing_since=NOW + hour, failure=REFUSED),
        "null at the attempt": answered(attempted_at=NOW),
        "null just within two hours": answered(attempted_at=NOW - REPORTING_DELAY + MOMENT),
        "null after two hours": answered(attempted_at=NOW - REPORTING_DELAY),
        "null after more than two hours": answered(attempted_at=NOW - REPORTING_DELAY - MOMENT),
        "first null after a week": answered(attempted_at=NOW - QUERYABLE_WINDOW),
        "first null after more than a week": answered(attempted_at=NOW - QUERYABLE_WINDOW - MOMENT),
        **last_nulls(),
        "no receipt": answered(follow_up=NO_RECEIPT),
        "rejected, no receipt": concluded(records=record, follow_up=NO_RECEIPT),
        "receipt could not be read": answered(receipt_failure=(NOW, UNREADABLE)),
        **ends(record),
        **after_limits(record),
    }

    golden.check("verdicts", verdicts)


def last_nulls() -> dict[str, Verdict]:
    """Return the verdicts where the first null says less, or more, than the last one."""
    late, later = NOW - REPORTING_DELAY - MOMENT, NOW + 2 * QUERYABLE_WINDOW
    at_the_end = NOW + WATCHED_FOR + timedelta(minutes=70)  # in a group
    return {
        "first null in time, last one late": answered(attempted_at=NOW, last_answered_at=later),
        "all nulls late, last one later": answered(attempted_at=late, last_answered_at=later),
        "first null in time, last one at the last question": answered(
            attempted_at=NOW, last_answered_at=at_the_end
        ),
    }


def ends(record: tuple[RejectedTransaction, ...]) -> dict[str, Verdict]:
    """Return the verdicts on transactions that are in a block, or can never be."""
    settled = replace(IN_BLOCK, settled_at=NOW)
    reverted = FollowUp(NOW, Inclusion(7, bytes(32), is_successful=False), NOW)
    once = FollowUp(NOW, replaced_since=NOW)
    return {
        "included": answered(follow_up=settled),
        "included, not settled": concluded(follow_up=IN_BLOCK),
        "included, exclusion API silent": concluded(follow_up=IN_BLOCK, failing_since=NOW),
        "included, asked too late": concluded(
            follow_up=IN_BLOCK, attempted_at=NOW - 2 * QUERYABLE_WINDOW
        ),
        "rejected, then included": concluded(records=record, follow_up=settled),
        "included, first seen nobody knows when": concluded(
            follow_up=FollowUp(NOW, Inclusion(7, bytes(32)))
        ),
        "included and reverted": concluded(follow_up=reverted),
        "replaced": concluded(records=record, follow_up=replace(REPLACED, settled_at=NOW)),
        "replaced, not settled": concluded(records=record, follow_up=REPLACED),
        "nonce seen as used only once": concluded(records=record, follow_up=once),
    }


def after_limits(record: tuple[RejectedTransaction, ...]) -> dict[str, Verdict]:
    """Return the verdicts on a network whose line limits ended."""
    hour = timedelta(hours=1)
    ended: dict[str, Any] = {"limits_ended_at": NOW}
    return {
        "after the end, never seen": concluded(**ended),
        "after the end, attempt known": concluded(attempted_at=NOW, tracked_at=NOW, **ended),
        "after the end, null, then silence": answered(
            failing_since=NOW + hour, failure=REFUSED, tracked_at=NOW, **ended
        ),
        "after the end, silent": concluded(failing_since=NOW, failure=REFUSED, **ended),
        "rejected in spite of the end": concluded(records=record, limits_ended_at=NOW - hour),
        "rejected before the end": concluded(records=record, **ended),
        "included after the end": concluded(follow_up=IN_BLOCK, **ended),
    }


def test_transaction_from_before_the_end_of_limits_is_judged_as_ever() -> None:
    earlier = NOW - MOMENT
    seen: tuple[dict[str, Any], ...] = (
        {"attempted_at": earlier, "tracked_at": NOW},
        {"tracked_at": earlier},
        {"first_answered_at": earlier, "last_answered_at": NOW},
        {"failing_since": earlier, "failure": REFUSED},
    )

    for each in seen:
        assert concluded(limits_ended_at=NOW, **each) == concluded(**each)


def test_rejection_dated_after_the_end_of_limits_says_so_and_no_other_does() -> None:
    record = a_record()
    ended_at = AN_HOUR_AGO

    def note(ended_at: datetime | None, *records: RejectedTransaction) -> str | None:
        ended = Evidence(NetworkId(1), HASH, records, limits_ended_at=ended_at).ended_limits
        return None if ended is None else ended.note

    assert "dated after the line limits of this network ended" in str(note(ended_at, record))
    assert note(ended_at + MOMENT, record) == ""
    assert note(ended_at) is None
    assert note(None, record) is None


def test_record_text_is_never_repeated() -> None:
    verdict = concluded(records=(a_record(),))

    assert "hostile" not in verdict.rests_on + verdict.follows


def test_no_verdict_claims_that_nothing_was_rejected() -> None:
    assert "not rejected" not in [kind.value for kind in VerdictKind]


def test_same_evidence_gives_the_same_verdict() -> None:
    assert answered(attempted_at=NOW) == answered(attempted_at=NOW)


def test_what_nobody_knows_comes_before_no_rejection_on_record() -> None:
    order = list(VerdictKind)
    assert [each.place for each in order] == [*range(len(order))]

    unknown = [each for each in order if each.is_unknown]

    assert order[-2:] == [VerdictKind.NO_REJECTION_ON_RECORD, VerdictKind.NO_LINE_LIMITS]
    assert order[-2 - len(unknown) : -2] == unknown
    assert len(unknown) == 3
