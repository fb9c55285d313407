"""Why a transaction was rejected, explained in one plain sentence."""

from __future__ import annotations

from dashboard.domain.node_rule_messages import words_of
from dashboard.domain.reason_parser import Reason, ReasonKind


def overrun(reason: Reason) -> float | None:
    """Return observed count divided by limit, or None where a number is missing or zero."""
    if reason.count is None or not reason.limit:
        return None
    return reason.count / reason.limit


def explain(reason: Reason) -> str:
    """Say in one plain sentence why the transaction was rejected; never contains upstream text.

    Module names are letters, digits and underscores only, so the sentence is safe anywhere.
    """
    if reason.kind is ReasonKind.OVER_LIMIT:
        return _explain_over_limit(reason)
    if reason.kind is ReasonKind.MODULE_UNDEFINED:
        return (
            f"The node has no line limit for the prover module {reason.module}, "
            "so it could not accept the transaction."
        )
    if reason.kind is ReasonKind.INVALID_COUNT:
        return "The node could not count the proof lines of this transaction."
    if reason.rule is not None:
        return f"This is not about line limits: {words_of(reason.rule).means}."
    return "The network gave a reason that Linewatch does not know; it is shown as sent."


def _explain_over_limit(reason: Reason) -> str:
    module, count, limit = reason.module, reason.count, reason.limit
    if module is None:
        return "The transaction needs more proof lines than one block may hold."
    source = "" if reason.limit_from is None else f" ({reason.limit_from})"
    if limit == 0:
        return (
            f"The transaction uses {module}, an operation that this network cannot prove: "
            f"its limit is 0{source}."
        )
    if limit is None:
        return f"The transaction needs more lines in the prover module {module} than the limit."
    if count is None:
        return (
            f"The transaction needs more lines in the prover module {module} than the limit "
            f"of {limit:,}{source}."
        )
    return (
        f"The transaction needs {count:,} lines in the prover module {module}; "
        f"the limit is {limit:,} ({count / limit:.2f} times the limit)."
    )
