"""What the sender of a rejected transaction can do."""

from __future__ import annotations

from typing import Final

from dashboard.domain.formatting import moment
from dashboard.domain.rejections.exclusion import EndedLimits
from dashboard.domain.rejections.node_rule_messages import FAULT_OF_NODE, words_of
from dashboard.domain.rejections.reasons import Reason, ReasonKind
from dashboard.domain.tracking.inclusion import FollowUp

_FILL: Final = (
    "send another transaction with nonce {nonce}, such as a zero-value transfer to the sender."
)
_UNKNOWN: Final = (
    "Ask a node which nonce it expects next from this sender (eth_getTransactionCount). If that is "
    f"{{nonce}}, the sender's later transactions are stuck behind this one: {_FILL}"
)
_NO_NONCE: Final = (
    "The nonce of this transaction is not known. If later transactions of the sender stay pending, "
    "ask the sender's wallet for the nonce, and send another transaction with it, such as a "
    "zero-value transfer to the sender."
)
_STUCK: Final = (
    "At {at} the node expected nonce {nonce} next from this sender. Later transactions are stuck "
    f"behind this one: {_FILL}"
)
_BEHIND: Final = (
    "At {at} the node expected nonce {next_nonce} next from this sender, so earlier transactions "
    f"are missing. Use the nonces before {{nonce}} first. Then {_FILL}"
)
_PASSED: Final = "The sender has used nonce {nonce} since, so nothing is stuck behind it."
_NOT_FINAL: Final = (
    "A rejection is not final: the same signed transaction may be accepted if it is sent again. "
    "Check its receipt before you replace it."
)
_REMEMBERED_REASONS: Final = (
    "The node remembers this transaction and refuses it without counting again: "
    "change the transaction before you send it. "
)
_AFTER_END: Final = (
    "The line limits of this network ended on {}. If nothing has used this nonce since, send "
    "the same signed transaction again."
)
_AGAINST_END: Final = f"This network has ended its line limits. {FAULT_OF_NODE}"


def advise(
    reason: Reason,
    nonce: int | None,
    end: FollowUp | None = None,
    limits: EndedLimits | None = None,
) -> tuple[str, ...]:
    """Return the next steps in order, each a sentence or two without foreign text.

    `end` is the last answer of the network's node, if there is one: it shows whether the nonce is
    stuck or waits behind others. Without it the steps say that this is unknown. `limits` are the
    line limits if they have ended.
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
        return "Ask the operator of the network why the transaction was rejected."
    if reason.kind is ReasonKind.UNPARSED:
        return "Read the reason as sent, and ask the operator of the network what it means."
    return FAULT_OF_NODE


def _fit_the_limit(reason: Reason) -> str:
    if reason.limit == 0:
        return (
            "Sending the transaction again does not help: this network cannot prove "
            f"{reason.module}. Change the contract or the call to avoid it."
        )
    remembered = _REMEMBERED_REASONS if reason.is_cached else ""
    return (
        f"{remembered}Split the work: fewer items in one call, smaller inputs, or several "
        "transactions. More gas or a higher fee does not help."
    )
