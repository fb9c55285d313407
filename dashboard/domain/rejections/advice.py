"""What the sender of a rejected transaction can do."""

from __future__ import annotations

from typing import Final

from dashboard.domain.formatting import moment
from dashboard.domain.rejections.exclusion import EndedLimits
from dashboard.domain.rejections.node_rule_messages import words_of
from dashboard.domain.rejections.reasons import Reason, ReasonKind
from dashboard.domain.tracking.verdict import FollowUp

_UNKNOWN: Final = (
    "Which nonce the node expects next from this sender is not known here: ask a node "
    "(eth_getTransactionCount). If it is {nonce}, the sender's later transactions wait for it: "
    "send another transaction with nonce {nonce}; a transfer of zero to the sender itself will do."
)
_NO_NONCE: Final = (
    "The nonce of this transaction is not known here. If later transactions of the sender stay "
    "pending, look the nonce up where this one was sent, and send another transaction with it; a "
    "transfer of zero to the sender itself will do."
)
_STUCK: Final = (
    "At {at} the node expected nonce {nonce} next from this sender, which is the nonce of this "
    "transaction. The sender's later transactions wait for it: send another transaction with nonce "
    "{nonce}; a transfer of zero to the sender itself will do."
)
_BEHIND: Final = (
    "At {at} the node expected nonce {next_nonce} next from this sender, so an earlier nonce than "
    "{nonce} is missing. Use the nonces before {nonce} first, then send another transaction with "
    "nonce {nonce}; a transfer of zero to the sender itself will do."
)
_PASSED: Final = "Nonce {nonce} of this sender is used by now, so nothing waits behind it."
_NOT_FINAL: Final = (
    "A rejection is not final: the signed transaction may be sent again and be accepted. "
    "Check its receipt before you replace it."
)
_REMEMBERED_REASONS: Final = (
    "The node remembers this very transaction and refuses it without counting again: "
    "change it before you send it. "
)
_AFTER_END: Final = (
    "Line limits of this network ended on {}: if nothing was sent with this nonce since, send the "
    "same signed transaction again."
)
_AGAINST_END: Final = (
    "This network should have no line limits any more, so this points at the node: send the "
    "transaction through another node, or tell the operator."
)


def advise(
    reason: Reason,
    nonce: int | None,
    end: FollowUp | None = None,
    limits: EndedLimits | None = None,
) -> tuple[str, ...]:
    """Return the next steps in order, each one a sentence or two without foreign text.

    `end` is the last answer of the network's node, if there is one: it shows whether the nonce is
    stuck or waits behind others. Without it the steps say that this is unknown. `limits` are those
    that ended since, or had ended before.
    """
    return (first_step(reason, limits), _nonce_step(nonce, end), _NOT_FINAL)


def _nonce_step(nonce: int | None, end: FollowUp | None) -> str:
    if nonce is None:
        return _NO_NONCE
    if end is None or end.next_nonce is None:
        return _UNKNOWN.format(nonce=nonce)
    step = _STUCK if end.next_nonce == nonce else _BEHIND
    if end.next_nonce > nonce:
        step = _PASSED
    return step.format(nonce=nonce, next_nonce=end.next_nonce, at=moment(end.answered_at))


def first_step(reason: Reason, limits: EndedLimits | None = None) -> str:
    """Return what to do about the reason itself, without foreign text."""
    if limits is not None and reason.is_of_line_limit:
        return _AGAINST_END if limits.is_in_spite else _AFTER_END.format(moment(limits.since))
    if reason.kind is ReasonKind.OVER_LIMIT:
        return _fit_the_limit(reason)
    if reason.rule is not None:
        return words_of(reason.rule).remedy
    if not reason.text:
        return "Ask the operator of the network why it was rejected."
    if reason.kind is ReasonKind.UNPARSED:
        return "Read the reason as sent, and ask the operator of the network what it means."
    return (
        "This points at the node and not at the transaction: "
        "send it through another node, or tell the operator."
    )


def _fit_the_limit(reason: Reason) -> str:
    if reason.limit == 0:
        return (
            f"Sending it again does not help: this network cannot prove {reason.module}. "
            "Change the contract or the call so that it is not used."
        )
    remembered = _REMEMBERED_REASONS if reason.is_cached else ""
    return (
        f"{remembered}Split the work: fewer items in one call, smaller inputs, or several "
        "transactions. More gas or a higher fee does not help."
    )
