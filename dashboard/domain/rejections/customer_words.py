"""What happened to a transaction, why, and what to do next, in words for its sender."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dashboard.domain.formatting import moment
from dashboard.domain.markup import unlinked
from dashboard.domain.rejections.advice import first_step
from dashboard.domain.rejections.exclusion import REPORTING_DELAY, EndedLimits
from dashboard.domain.rejections.node_rule_messages import NodeRule, words_of
from dashboard.domain.rejections.reasons import Reason, ReasonKind, overrun
from dashboard.domain.tracking.inclusion import FollowUp
from dashboard.domain.tracking.statements import statements_in_words
from dashboard.domain.tracking.verdict import Evidence, VerdictKind

_RECENT: Final = " The newest blocks can still be replaced, so look again in 15 minutes."
_SEND_SAFELY: Final = (
    "Before you send anything again, look the transaction up in a block explorer: "
    "a rejected transaction may still be accepted later."
)
_FILL_NONCE: Final = (
    "send another transaction with nonce {nonce}, such as a zero-value transfer to that account."
)
_NONCE_UNKNOWN: Final = (
    "If later transactions of the account stay pending, they wait for this one: send another "
    "transaction with its nonce, such as a zero-value transfer to that account."
)
_IN_BLOCK: Final = (
    "Look the transaction up in a block explorer. If it is in a block there, it was accepted."
)
_NEVER_THERE: Final = (
    "If it is not in a block, it may never have reached the network. Send it again with the same "
    "nonce, so that it cannot be carried out twice."
)
_IN_SPITE: Final = " The network ended its line limits on {}, so they should not be the reason."
_WAIT: Final = (
    "Do not send it again with a new nonce before this is known: it could be carried out twice."
)


def plain_answer(kind: VerdictKind, evidence: Evidence, network: str) -> str:
    """Say in plain sentences what happened, and what endpoints report besides.

    `network` is one name, or several.
    """
    say = _ANSWERS.get(kind, _not_known)
    reported = statements_in_words(evidence.statements, has_receipt=evidence.has_receipt)
    return " ".join(filter(None, (say(evidence, network), reported)))


def _not_known(_: Evidence, network: str) -> str:
    return f"It is not known yet what happened to this transaction on {network}."


def _rejected(evidence: Evidence, network: str) -> str:
    at = evidence.records[0].timestamp
    when = "" if at is None or evidence.is_dated_ahead else f" on {moment(at)}"
    limits = evidence.ended_limits
    note = (
        "" if limits is None or not limits.is_in_spite else _IN_SPITE.format(moment(limits.since))
    )
    return f"{network} rejected this transaction{when}.{_not_in_a_block(evidence.follow_up)}{note}"


def _rejected_first(evidence: Evidence, network: str) -> str:
    return (
        f"{network} rejected this transaction at first and accepted it later: "
        f"it is in {_block(evidence)}"
    )


def _included(evidence: Evidence, network: str) -> str:
    return f"{network} accepted this transaction: it is in {_block(evidence)}"


def _replaced(evidence: Evidence, network: str) -> str:
    recent = _RECENT if _can_change(evidence.follow_up) else ""
    return (
        f"This transaction cannot be included on {network} any more: "
        f"its sender used its nonce for another transaction.{recent}"
    )


def _cannot_tell(_: Evidence, network: str) -> str:
    return (
        "It is not known whether this transaction was rejected. It was sent more than seven days "
        f"before {network} was asked about it, and rejections are kept for seven days."
    )


def _cannot_check(evidence: Evidence, network: str) -> str:
    since = evidence.failing_since
    silent = f"{network} cannot be asked at the moment"
    if since is not None:
        silent = f"no answer has come from {network} since {moment(since)}"
    return f"It is not known yet what happened to this transaction: {silent}."


def _not_in_a_block(end: FollowUp | None) -> str:
    return "" if end is None else f" At {moment(end.answered_at)} it was not in a block."


def _block(evidence: Evidence) -> str:
    """Name the block, say how the transaction ended there, and whether that can change."""
    end = evidence.follow_up
    if end is None or end.inclusion is None:
        return "a block."
    outcome = "" if _can_change(end) else " Nothing is left to do."
    if end.inclusion.is_successful is False:
        outcome = (
            " Its execution failed there (it was reverted): the fee was paid, and nothing else "
            "happened."
        )
    recent = _RECENT if _can_change(end) else ""
    return f"block {end.inclusion.block_number:,}.{outcome}{recent}"


def _can_change(end: FollowUp | None) -> bool:
    return end is not None and end.settled_at is None


def _no_record(evidence: Evidence, network: str) -> str:
    answered_at = evidence.last_answered_at
    before = "" if answered_at is None else f" in the seven days before {moment(answered_at)}"
    said = f"{network} has no rejection of this transaction on record{before}."
    since = evidence.failing_since
    silent = "" if since is None else f" No answer has come from {network} since {moment(since)}."
    not_seen = _not_in_a_block(evidence.follow_up)
    return f"{said}{silent}{not_seen} That does not prove that it was accepted{_late(evidence)}"


def _no_limits(evidence: Evidence, network: str) -> str:
    since = "" if evidence.limits_ended_at is None else f" since {moment(evidence.limits_ended_at)}"
    whose = "this transaction" if evidence.attempted_at else "a transaction sent after that"
    not_seen = _not_in_a_block(evidence.follow_up)
    return (
        f"{network} has had no line limits{since}, so {whose} is not rejected for "
        f"them.{not_seen} That does not prove that it was accepted."
    )


def _late(evidence: Evidence) -> str:
    if evidence.attempted_at is None or evidence.last_answered_at is None:
        return ", and a rejection may be reported up to two hours late."
    deadline = evidence.attempted_at + REPORTING_DELAY
    if evidence.last_answered_at <= deadline:
        return f", and a rejection can still be reported until {moment(deadline)}."
    return "."


_ANSWERS: Final[Mapping[VerdictKind, Callable[[Evidence, str], str]]] = {
    VerdictKind.REJECTED: _rejected,
    VerdictKind.REJECTED_THEN_INCLUDED: _rejected_first,
    VerdictKind.INCLUDED: _included,
    VerdictKind.REPLACED: _replaced,
    VerdictKind.NO_REJECTION_ON_RECORD: _no_record,
    VerdictKind.NO_LINE_LIMITS: _no_limits,
    VerdictKind.CANNOT_TELL: _cannot_tell,
    VerdictKind.CANNOT_CHECK: _cannot_check,
}


def plain_cause(reason: Reason) -> str:
    """Say in plain words why it was rejected; an unknown reason is quoted."""
    match reason.kind:
        case ReasonKind.OVER_LIMIT:
            return _over_limit(reason)
        case ReasonKind.MODULE_UNDEFINED | ReasonKind.INVALID_COUNT:
            return (
                "The node could not check the transaction. "
                "The fault is the node's, not the transaction's."
            )
        case _ if reason.rule is not None:
            means = words_of(reason.rule).means
            quoted = f": {_quoted(reason)}" if reason.rule is NodeRule.INVALID else "."
            return f"{means[0].upper()}{means[1:]}{quoted}"
        case _ if not reason.text:
            return "The network gave no reason."
        case _:
            return f"The network gave this reason: {_quoted(reason)}"


def _quoted(reason: Reason) -> str:
    return f"“{unlinked(reason.text)}”"


def _over_limit(reason: Reason) -> str:
    if reason.limit == 0:
        return f"It uses {reason.module}, an operation that this network cannot prove."
    too_much = "It needs more proving work than one block may hold"
    factor = overrun(reason)
    if factor is None or reason.count is None:
        part = "" if reason.module is None else f", in the module {reason.module}"
        return f"{too_much}{part}."
    return (
        f"{too_much}: {reason.count:,} lines in the module {reason.module}, with {reason.limit:,} "
        f"allowed ({factor:,.2f} times the limit)."
    )


def plain_steps(
    kind: VerdictKind,
    reason: Reason | None,
    nonce: int | None,
    end: FollowUp | None,
    limits: EndedLimits | None = None,
) -> tuple[str, ...]:
    """Return what the customer can do next, in order; empty if nothing is left to do.

    `reason` and `nonce` come from the newest record, `end` is the answer of the network's node,
    `limits` are the line limits if they have ended.
    """
    match kind:
        case VerdictKind.REJECTED if reason is not None:
            return (first_step(reason, limits), _nonce_step(nonce, end), _SEND_SAFELY)
        case (
            VerdictKind.NO_REJECTION_ON_RECORD
            | VerdictKind.NO_LINE_LIMITS
            | VerdictKind.CANNOT_TELL
        ):
            return (_IN_BLOCK, _NEVER_THERE)
        case VerdictKind.CANNOT_CHECK | VerdictKind.NOT_CHECKED_YET:
            return (_WAIT,)
        case _:
            return ()


def _nonce_step(nonce: int | None, end: FollowUp | None) -> str:
    if nonce is None:
        return _NONCE_UNKNOWN
    fill = _FILL_NONCE.format(nonce=nonce)
    if end is None or end.next_nonce is None:
        return f"If later transactions of the account stay pending, they wait for this one: {fill}"
    if end.next_nonce > nonce:
        return f"Nonce {nonce} of the account is used by now, so nothing waits for it."
    if end.next_nonce == nonce:
        return f"Later transactions of the account wait for this one: {fill}"
    return (
        f"The network waits for nonce {end.next_nonce} of the account first. "
        f"Use the nonces before {nonce}, then {fill}"
    )
