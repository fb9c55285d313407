"""What a customer reads of a transaction: what happened, why, and what to do next."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dashboard.domain.rejections.customer_words import plain_answer, plain_cause, plain_steps
from dashboard.domain.rejections.reasons import parse_reason
from dashboard.domain.tracking.verdict import Evidence, FollowUp, Inclusion, VerdictKind
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record

HOUR = timedelta(hours=1)
ASKED = replace(
    Evidence(A_NETWORK, a_hash()), first_answered_at=A_MOMENT, last_answered_at=A_MOMENT
)
REJECTED = replace(ASKED, records=(a_record(),))
DONE = FollowUp(A_MOMENT, Inclusion(21_044, bytes(32), is_successful=True), settled_at=A_MOMENT)
REVERTED = replace(DONE, inclusion=Inclusion(7, bytes(32), is_successful=False), settled_at=None)
OVER = "Transaction line count for module ADD=600000 is above the limit 524288"


@pytest.mark.parametrize(
    ("kind", "evidence", "said"),
    [
        (
            VerdictKind.REJECTED,
            REJECTED,
            "Linea rejected this transaction on 2026-11-20 12:00:00 UTC.",
        ),
        (
            VerdictKind.REJECTED,
            replace(REJECTED, is_dated_ahead=True, follow_up=FollowUp(A_MOMENT)),
            "Linea rejected this transaction. At 2026-11-20 12:00:00 UTC it was not in a block.",
        ),
        (
            VerdictKind.REJECTED_THEN_INCLUDED,
            replace(REJECTED, follow_up=DONE),
            (
                "Linea rejected this transaction at first and accepted it later: it is in block "
                "21,044. Nothing is left to do."
            ),
        ),
        (
            VerdictKind.INCLUDED,
            replace(ASKED, follow_up=REVERTED),
            (
                "Linea accepted this transaction: it is in block 7. But it failed when "
                "it was carried "
                "out (it was reverted): the fee was paid, and nothing else happened. "
                "The newest blocks can still be replaced, so look again in 15 minutes."
            ),
        ),
        (
            VerdictKind.INCLUDED,
            ASKED,
            "Linea accepted this transaction: it is in a block.",
        ),
        (
            VerdictKind.REPLACED,
            replace(ASKED, follow_up=FollowUp(A_MOMENT, settled_at=A_MOMENT)),
            (
                "This transaction cannot be included on Linea any more: its sender "
                "used its nonce for "
                "another transaction."
            ),
        ),
        (
            VerdictKind.REPLACED,
            replace(ASKED, follow_up=FollowUp(A_MOMENT)),
            (
                "This transaction cannot be included on Linea any more: its sender "
                "used its nonce for "
                "another transaction. The newest blocks can still be replaced, so look again in 15 "
                "minutes."
            ),
        ),
        (
            VerdictKind.NO_REJECTION_ON_RECORD,
            ASKED,
            (
                "No rejection of this transaction by Linea is on record in the seven days before "
                "2026-11-20 12:00:00 UTC. That does not prove that it was accepted, "
                "and a rejection "
                "may be reported up to two hours late."
            ),
        ),
        (
            VerdictKind.NO_REJECTION_ON_RECORD,
            replace(ASKED, attempted_at=A_MOMENT - HOUR, last_answered_at=None),
            (
                "No rejection of this transaction by Linea is on record. That does not "
                "prove that it "
                "was accepted, and a rejection may be reported up to two hours late."
            ),
        ),
        (
            VerdictKind.NO_REJECTION_ON_RECORD,
            replace(ASKED, attempted_at=A_MOMENT - HOUR),
            (
                "No rejection of this transaction by Linea is on record in the seven days before "
                "2026-11-20 12:00:00 UTC. That does not prove that it was accepted, "
                "and a rejection "
                "can still be reported until 2026-11-20 13:00:00 UTC."
            ),
        ),
        (
            VerdictKind.NO_REJECTION_ON_RECORD,
            replace(ASKED, attempted_at=A_MOMENT - 3 * HOUR),
            (
                "No rejection of this transaction by Linea is on record in the seven days before "
                "2026-11-20 12:00:00 UTC. That does not prove that it was accepted."
            ),
        ),
        (
            VerdictKind.CANNOT_TELL,
            ASKED,
            (
                "It is not known whether this transaction was rejected: it was sent more than "
                "seven days before Linea was asked about it, and rejections are kept for seven "
                "days."
            ),
        ),
        (
            VerdictKind.CANNOT_CHECK,
            ASKED,
            (
                "It is not known yet what happened to this transaction: Linea cannot "
                "be asked at the "
                "moment."
            ),
        ),
        (
            VerdictKind.NOT_CHECKED_YET,
            ASKED,
            "It is not known yet what happened to this transaction on Linea.",
        ),
    ],
)
def test_customer_reads_what_happened(kind: VerdictKind, evidence: Evidence, said: str) -> None:
    assert plain_answer(kind, evidence, "Linea") == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OVER,
            (
                "It needs more proving work than one block may hold: 600,000 lines in "
                "the module ADD, "
                "where 524,288 are allowed (1.14 times the limit)."
            ),
        ),
        (
            "TX_MODULE_LINE_COUNT_OVERFLOW(ADD)",
            "It needs more proving work than one block may hold, in the module ADD.",
        ),
        (
            "TX_MODULE_LINE_COUNT_OVERFLOW",
            "It needs more proving work than one block may hold.",
        ),
        (
            "Transaction line count for module BLAKE=1 is above the limit 0",
            "It uses BLAKE, an operation that this network cannot prove.",
        ),
        (
            "Module XYZ does not exist in the limits file.",
            (
                "The node that got it could not check it. The fault is the node's and not the "
                "transaction's."
            ),
        ),
        ("Gas price too low", "It offers a lower fee than the network asks for."),
        (
            "Invalid transaction: \u202enonce",
            "The node found the transaction itself invalid: “Invalid transaction: \\u202enonce”",
        ),
        ("<b>who", "The network gave this reason: “<b>who”"),
    ],
)
def test_customer_reads_why(text: str, said: str) -> None:
    assert plain_cause(parse_reason(text)) == said


@pytest.mark.parametrize(
    ("end", "step"),
    [
        (None, "If later transactions of the account stay pending, they wait for this one: send"),
        (FollowUp(A_MOMENT), "If later transactions of the account stay pending"),
        (FollowUp(A_MOMENT, next_nonce=7), "Later transactions of the account wait for this one"),
        (FollowUp(A_MOMENT, next_nonce=8), "Nonce 7 of the account is used by now"),
        (FollowUp(A_MOMENT, next_nonce=5), "The network waits for nonce 5 of the account first"),
    ],
)
def test_customer_reads_what_the_nonce_needs(end: FollowUp | None, step: str) -> None:
    steps = plain_steps(VerdictKind.REJECTED, parse_reason(OVER), 7, end)

    assert steps[0].startswith("Split the work")
    assert steps[1].startswith(step)
    assert "may still be accepted later" in steps[2]


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        (VerdictKind.NO_REJECTION_ON_RECORD, ["Look the transaction up", "If it does not"]),
        (VerdictKind.CANNOT_TELL, ["Look the transaction up", "If it does not"]),
        (VerdictKind.CANNOT_CHECK, ["Do not send it again with a new nonce"]),
        (VerdictKind.NOT_CHECKED_YET, ["Do not send it again with a new nonce"]),
        (VerdictKind.INCLUDED, []),
        (VerdictKind.REJECTED, []),
    ],
)
def test_customer_without_a_record_reads_what_is_safe(kind: VerdictKind, begins: list[str]) -> None:
    steps = plain_steps(kind, None, 0, None)

    assert [step.startswith(begin) for step, begin in zip(steps, begins, strict=True)] == [
        True
    ] * len(begins)


def test_customer_is_told_since_when_the_network_has_not_answered() -> None:
    silent = replace(ASKED, failing_since=A_MOMENT)

    assert plain_answer(VerdictKind.CANNOT_CHECK, silent, "Linea").endswith(
        "Linea has not answered since 2026-11-20 12:00:00 UTC."
    )
    assert "Since 2026-11-20 12:00:00 UTC Linea has not answered." in plain_answer(
        VerdictKind.NO_REJECTION_ON_RECORD, silent, "Linea"
    )
