"""What several endpoints say of one transaction, in words, and the shape of each answer."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.domain.health.observation import (
    AnswerShape,
    ExclusionAnswer,
    ExclusionAnswers,
    Failure,
    FailureKind,
    not_null,
)
from dashboard.domain.rejections.exclusion import RejectionStage, StatusClaim
from dashboard.domain.tracking.statements import Said, Statement, renewed, statements_in_words
from tests.builders import A_MOMENT, a_hash, a_record, seconds

REJECTED = ExclusionAnswer(a_hash(), a_record(), endpoint="first")
NOTHING = ExclusionAnswer(a_hash(), endpoint="second")
SINCE = "since 2026-11-20 12:00:00 UTC"
NO_PROOF = "only a receipt proves an inclusion"
DISAGREE = (
    "The endpoints disagree, and the rejection takes precedence: first has reported a rejection"
)
LONG = f"SEE https://evil.example {'!' * 40}"


def claims(status: str, block_number: int | None = None) -> ExclusionAnswer:
    claim = StatusClaim(status, block_number=block_number)
    return ExclusionAnswer(a_hash(), claim=claim, endpoint="second")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], ""),
        ([NOTHING], ""),
        ([REJECTED], ""),
        ([NOTHING, NOTHING], ""),
        ([REJECTED, NOTHING], f"{DISAGREE} {SINCE}; second has reported no rejection {SINCE}."),
        (
            [REJECTED, claims("INCLUDED", 31)],
            (
                f"{DISAGREE} {SINCE}; second has reported the transaction as included in block 31 "
                f"{SINCE}; {NO_PROOF}."
            ),
        ),
        ([claims("PENDING")], f"Second has reported the status “PENDING” {SINCE}."),
        (
            [claims("INCLUDED")],
            f"Second has reported the transaction as included {SINCE}; {NO_PROOF}.",
        ),
        (
            [claims(LONG)],
            f"Second has reported the status “SEE https[:]//evil[.]example {'!' * 15}…” {SINCE}.",
        ),
        (
            [ExclusionAnswer(a_hash(), claim=StatusClaim("X"))],
            f"The exclusion API has reported the status “X” {SINCE}.",
        ),
    ],
)
def test_who_said_what_is_told_where_it_adds_something(
    answers: list[ExclusionAnswer], said: str
) -> None:
    assert statements_in_words([Statement.of(each, A_MOMENT) for each in answers]) == said


def test_receipt_leaves_nothing_to_be_said_of_what_counts() -> None:
    said = [Statement.of(each, A_MOMENT) for each in (REJECTED, claims("INCLUDED", 31))]

    assert statements_in_words(said, has_receipt=True) == (
        f"The endpoints disagree: first has reported a rejection {SINCE}; second has reported the "
        f"transaction as included in block 31 {SINCE}."
    )


def test_statement_lasts_until_its_endpoint_says_something_else() -> None:
    later, failure = A_MOMENT + seconds(9), Failure(FailureKind.UNAVAILABLE, "no answer")
    first = renewed((), replace(REJECTED, beside=(claims("PENDING"),)), A_MOMENT)
    silent = ExclusionAnswer(a_hash(), failure=failure, endpoint="second")

    same = renewed(first, replace(REJECTED, beside=(silent,)), later)
    other = renewed(first, replace(REJECTED, beside=(NOTHING,)), later)

    assert [(each.endpoint, each.said) for each in first] == [
        ("first", Said.REJECTED),
        ("second", Said.STATUS),
    ]
    assert [(each.said_at, each.last_said_at) for each in same] == [
        (A_MOMENT, later),
        (A_MOMENT, A_MOMENT),
    ]
    assert (other[1].said, other[1].said_at) == (Said.NOTHING, later)


def test_status_that_a_sentence_shortens_is_at_hand_whole() -> None:
    answers = (NOTHING, claims("PENDING"), claims(LONG))

    found = [Statement.of(each, A_MOMENT).long_status for each in answers]

    assert found == ["", "", LONG]


@pytest.mark.parametrize(
    ("answer", "shape"),
    [
        (NOTHING, None),
        (REJECTED, AnswerShape.RECORD),
        (claims("PENDING"), AnswerShape.STATUS),
        (
            ExclusionAnswer(a_hash(), a_record(tx_rejection_stage=RejectionStage.UNKNOWN)),
            AnswerShape.STATUS,
        ),
    ],
)
def test_shape_is_told_by_the_answer(answer: ExclusionAnswer, shape: AnswerShape | None) -> None:
    assert answer.shape is shape


def test_only_a_claim_of_inclusion_is_one() -> None:
    answers = (NOTHING, REJECTED, claims("PENDING"), claims("INCLUDED"))

    assert [each.is_claimed_included for each in answers] == [False, False, False, True]


def test_answers_are_null_but_for_the_others_at_their_places() -> None:
    hashes = [a_hash(number) for number in range(3)]
    rejected = ExclusionAnswer(hashes[1], a_record())
    answers = ExclusionAnswers(hashes, {1: rejected})

    whole = [ExclusionAnswer(hashes[0]), rejected, ExclusionAnswer(hashes[2])]

    assert (len(answers), list(answers)) == (3, whole)
    assert (answers[1], answers[1:]) == (rejected, whole[1:])
    assert list(ExclusionAnswers(hashes)) == [ExclusionAnswer(each) for each in hashes]
    both = ExclusionAnswer(
        hashes[0], endpoint="a", beside=(ExclusionAnswer(hashes[0], endpoint="b"),)
    )
    assert list(ExclusionAnswers(hashes[:1], endpoints=("a", "b"))) == [both]
    assert not_null(answers) == [rejected]
    assert not_null(whole) == whole


@pytest.mark.parametrize(
    ("answer", "is_claimed"),
    [(claims("INCLUDED"), True), (claims("PENDING"), False), (REJECTED, False)],
    ids=["included", "pending", "record"],
)
def test_answer_claims_an_inclusion_by_its_status_alone(
    *, answer: ExclusionAnswer, is_claimed: bool
) -> None:
    assert answer.is_claimed_included is is_claimed
