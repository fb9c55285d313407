"""A look-up as a file, JSON or CSV: alike on the page and by command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from dashboard.domain.answer_template import Voice
from dashboard.domain.exclusion import CLOCK_IS_WRONG
from dashboard.domain.included_or_replaced import FollowUp
from dashboard.domain.spreadsheet import write_csv
from dashboard.show.queries.customer_answer import (
    AnswerContext,
    FindingGroup,
    answer_text,
    finding_groups,
    leading_verdict,
)
from dashboard.show.queries.rejection_form import instant, rejection_form
from dashboard.show.queries.transaction_summary import NetworkFinding, TransactionSummary

CSV_COLUMNS: Final = (
    "case_id",
    "tx_hash",
    "verdict",
    "network",
    "answer",
    "cause",
    "module",
    "stage",
    "rejected_at",
    "remark",
    "sender",
    "nonce",
    "reason",
    "customer_text",
)
_NOTHING_KNOWN: Final = (None,) * (len(CSV_COLUMNS) - 3)


def lookup_form(summaries: Sequence[TransactionSummary], context: AnswerContext) -> dict[str, Any]:
    """Return all that is known of the transactions, with both texts, as plain values."""
    forms = [_form(each, context) for each in summaries]
    return {"asOf": instant(context.now), "transactions": forms}


def lookup_json(summaries: Sequence[TransactionSummary], context: AnswerContext) -> str:
    """Write the same as indented ASCII, which holds neither control nor direction codes."""
    return json.dumps(lookup_form(summaries, context), indent=2, ensure_ascii=True)


def lookup_csv(summaries: Sequence[TransactionSummary], context: AnswerContext) -> str:
    """Write one line for each transaction, with the text for its customer on one line."""
    return write_csv(CSV_COLUMNS, [_row(each, context) for each in summaries])


def _row(summary: TransactionSummary, context: AnswerContext) -> tuple[str | int | None, ...]:
    groups = finding_groups(summary)
    text = " ".join(answer_text(summary, Voice.CUSTOMER, context).split())
    if not groups:
        return (context.case_id_of(summary), str(summary.tx_hash), *_NOTHING_KNOWN, text)
    main = groups[0]
    return (
        context.case_id_of(summary),
        str(summary.tx_hash),
        main.kind.value,
        "; ".join(each.networks for each in groups),
        " ".join(each.plain() for each in groups),
        main.cause(),
        *_record_cells(main),
        text,
    )


def _record_cells(group: FindingGroup) -> tuple[str | int | None, ...]:
    newest, reason = group.newest, group.reason
    if newest is None or reason is None:
        return (None,) * 7
    record = newest.record
    return (
        reason.module,
        record.tx_rejection_stage.value,
        instant(record.timestamp),
        CLOCK_IS_WRONG if newest.is_dated_ahead else None,
        str(record.sender),
        record.nonce,
        reason.text,
    )


def _form(summary: TransactionSummary, context: AnswerContext) -> dict[str, Any]:
    return {
        "txHash": str(summary.tx_hash),
        "caseId": context.case_id_of(summary) or None,
        "isTracked": summary.is_tracked,
        "verdict": leading_verdict(summary),
        "texts": {voice.value: answer_text(summary, voice, context) for voice in Voice},
        "networks": [_finding_form(finding) for finding in summary.findings],
    }


def _finding_form(finding: NetworkFinding) -> dict[str, Any]:
    evidence = finding.evidence
    return {
        "networkId": finding.profile.network_id,
        "network": finding.profile.name,
        "isSimulated": finding.profile.is_simulated,
        "verdict": str(finding.verdict.kind),
        "restsOn": finding.verdict.rests_on,
        "follows": finding.verdict.follows,
        "attemptedAt": instant(evidence.attempted_at),
        "firstAnsweredAt": instant(evidence.first_answered_at),
        "lastAnsweredAt": instant(evidence.last_answered_at),
        "failingSince": instant(evidence.failing_since),
        "failure": None if evidence.failure is None else evidence.failure.message,
        "records": [
            rejection_form(version, finding.reason_of(version)) for version in finding.versions
        ],
        "nextSteps": list(finding.next_steps()),
        "inclusion": _inclusion_form(evidence.follow_up),
        "replacedSince": None
        if evidence.follow_up is None
        else instant(evidence.follow_up.replaced_since),
    }


def _inclusion_form(end: FollowUp | None) -> dict[str, Any] | None:
    if end is None or end.inclusion is None:
        return None
    return {
        "blockNumber": hex(end.inclusion.block_number),
        "blockHash": f"0x{end.inclusion.block_hash.hex()}",
        "isSuccessful": end.inclusion.is_successful,
        "firstSeenAt": instant(end.included_since),
    }
