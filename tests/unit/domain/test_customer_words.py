"""What a customer reads of a transaction: what happened, why, and what to do next."""

from __future__ import annotations

from msgspec.structs import replace

from dashboard.domain.rejections.customer_words import plain_answer, plain_cause, plain_steps
from dashboard.domain.rejections.exclusion import EndedLimits, StatusClaim
from dashboard.domain.rejections.reasons import parse_reason
from dashboard.domain.tracking.inclusion import FollowUp, Inclusion
from dashboard.domain.tracking.statements import Said, Statement
from dashboard.domain.tracking.verdict import Evidence, VerdictKind
from tests.builders import A_MOMENT, A_NETWORK, HOUR, a_hash, a_record
from tests.golden_texts import GoldenTexts

ASKED = replace(
    Evidence(A_NETWORK, a_hash()), first_answered_at=A_MOMENT, last_answered_at=A_MOMENT
)
REJECTED = replace(ASKED, records=(a_record(),))
DONE = FollowUp(A_MOMENT, Inclusion(21_044, bytes(32), is_successful=True), settled_at=A_MOMENT)
REVERTED = replace(DONE, inclusion=Inclusion(7, bytes(32), is_successful=False), settled_at=None)
OVER = "Transaction line count for module ADD=600000 is above the limit 524288"

CLAIM = StatusClaim("INCLUDED", block_number=21_044)
DISPUTED = (
    Statement("gateway", Said.STATUS, A_MOMENT, A_MOMENT, CLAIM),
    Statement("second", Said.REJECTED, A_MOMENT, A_MOMENT),
)

KINDS = VerdictKind
ANSWERS = {
    "rejected": (KINDS.REJECTED, REJECTED),
    "rejected by a clock that is ahead, and in no block yet": (
        KINDS.REJECTED,
        replace(REJECTED, is_dated_ahead=True, follow_up=FollowUp(A_MOMENT)),
    ),
    "rejected, then included": (KINDS.REJECTED_THEN_INCLUDED, replace(REJECTED, follow_up=DONE)),
    "rejected, then included, and endpoints disagree": (
        KINDS.REJECTED_THEN_INCLUDED,
        replace(REJECTED, follow_up=DONE, statements=DISPUTED),
    ),
    "included and reverted, not settled": (KINDS.INCLUDED, replace(ASKED, follow_up=REVERTED)),
    "included in a block that nobody knows": (KINDS.INCLUDED, ASKED),
    "replaced": (
        KINDS.REPLACED,
        replace(ASKED, follow_up=FollowUp(A_MOMENT, settled_at=A_MOMENT)),
    ),
    "replaced, not settled": (KINDS.REPLACED, replace(ASKED, follow_up=FollowUp(A_MOMENT))),
    "no rejection": (KINDS.NO_REJECTION_ON_RECORD, ASKED),
    "no rejection, never answered": (
        KINDS.NO_REJECTION_ON_RECORD,
        replace(ASKED, attempted_at=A_MOMENT - HOUR, last_answered_at=None),
    ),
    "no rejection within two hours": (
        KINDS.NO_REJECTION_ON_RECORD,
        replace(ASKED, attempted_at=A_MOMENT - HOUR),
    ),
    "no rejection, and an endpoint reports an inclusion": (
        KINDS.NO_REJECTION_ON_RECORD,
        replace(ASKED, statements=DISPUTED[:1]),
    ),
    "no rejection after two hours": (
        KINDS.NO_REJECTION_ON_RECORD,
        replace(ASKED, attempted_at=A_MOMENT - 3 * HOUR),
    ),
    "no rejection, and silent since": (
        KINDS.NO_REJECTION_ON_RECORD,
        replace(ASKED, failing_since=A_MOMENT),
    ),
    "rejected in spite of the end of line limits": (
        KINDS.REJECTED,
        replace(REJECTED, limits_ended_at=A_MOMENT - HOUR),
    ),
    "after line limits": (KINDS.NO_LINE_LIMITS, replace(ASKED, limits_ended_at=A_MOMENT)),
    "sent after line limits": (
        KINDS.NO_LINE_LIMITS,
        replace(ASKED, limits_ended_at=A_MOMENT, attempted_at=A_MOMENT),
    ),
    "asked too late": (KINDS.CANNOT_TELL, ASKED),
    "cannot be asked": (KINDS.CANNOT_CHECK, ASKED),
    "cannot be asked since": (KINDS.CANNOT_CHECK, replace(ASKED, failing_since=A_MOMENT)),
    "not asked yet": (KINDS.NOT_CHECKED_YET, ASKED),
}
CAUSES = (
    OVER,
    "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)",
    "TX_MODULE_LINE_COUNT_OVERFLOW",
    "Transaction line count for module BLAKE=1 is above the limit 0",
    "Module XYZ does not exist in the limits file.",
    "Gas price too low",
    "Invalid transaction: \u202enonce",
    "<b>who",
    "",
)


def test_customer_reads_what_was_reviewed(golden: GoldenTexts) -> None:
    golden.check(
        "customer_answers",
        {title: plain_answer(*case, "Linea") for title, case in ANSWERS.items()},
    )


def test_rejection_may_still_be_reported_at_the_very_end_of_two_hours() -> None:
    asked = replace(ASKED, attempted_at=A_MOMENT - 2 * HOUR)

    said = plain_answer(KINDS.NO_REJECTION_ON_RECORD, asked, "Linea")

    assert "a rejection can still be reported until 2026-11-20 12:00:00 UTC." in said


def test_customer_reads_why(golden: GoldenTexts) -> None:
    golden.check(
        "customer_causes", {ascii(each): plain_cause(parse_reason(each)) for each in CAUSES}
    )


def test_customer_reads_what_to_do(golden: GoldenTexts) -> None:
    ends = {"": None, "at an unknown nonce": FollowUp(A_MOMENT)} | {
        f"while nonce {nonce} is next": FollowUp(A_MOMENT, next_nonce=nonce) for nonce in (5, 7, 8)
    }
    steps = {
        **{
            f"rejected with nonce 7 {title}": plain_steps(
                VerdictKind.REJECTED, parse_reason(OVER), 7, end
            )
            for title, end in ends.items()
        },
        "rejected with an unknown nonce for no reason": plain_steps(
            VerdictKind.REJECTED, parse_reason(""), None, None
        ),
        "rejected before line limits ended": plain_steps(
            VerdictKind.REJECTED,
            parse_reason(OVER),
            7,
            None,
            EndedLimits(A_MOMENT, is_in_spite=False),
        ),
        **{f"{kind}, no record": plain_steps(kind, None, 0, None) for kind in VerdictKind},
    }

    golden.check("customer_steps", steps)
