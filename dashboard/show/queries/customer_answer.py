"""The answer for a customer: plain text that a support agent can pass on."""

from __future__ import annotations

from datetime import datetime

from dashboard.domain.foreign_text import visible
from dashboard.domain.reason_explanation import explain
from dashboard.domain.reason_parser import Reason, ReasonKind
from dashboard.show.queries.transaction_summary import NetworkFinding, TransactionSummary
from dashboard.show.text import moment


def customer_answer(summary: TransactionSummary, now: datetime) -> str:
    """Write what a support agent can paste to a customer: plain text, no jargon of ours.

    It may quote a reason as the network sent it, so it is foreign text.
    """
    lines = [f"Transaction {summary.tx_hash}"]
    for finding in summary.conclusive_findings():
        lines += ["", *_paragraph(finding)]
    return "\n".join([*lines, "", f"As of {moment(now)}."])


def _paragraph(finding: NetworkFinding) -> list[str]:
    simulated = " (simulated network)" if finding.profile.is_simulated else ""
    lines = [
        f"{finding.profile.name}{simulated}: {finding.verdict.kind}.",
        finding.verdict.rests_on,
    ]
    if finding.versions:
        lines += _reason_lines(finding, finding.reason_of(finding.versions[0]))
    return lines if finding.next_steps() else [*lines, finding.verdict.follows]


def _reason_lines(finding: NetworkFinding, reason: Reason) -> list[str]:
    lines = [explain(reason)]
    steps = [f"{number}. {step}" for number, step in enumerate(finding.next_steps(), 1)]
    if steps:
        lines += ["", "What to do next:", *steps]
    if reason.kind is ReasonKind.UNPARSED:
        lines += ["", f"The reason as the network sent it: {visible(reason.text)}"]
    return lines
