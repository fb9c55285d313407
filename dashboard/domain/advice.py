"""What the sender of a rejected transaction can do next."""

from __future__ import annotations

from typing import Final

from dashboard.domain.formatting import moment
from dashboard.domain.included_or_replaced import FollowUp
from dashboard.domain.node_rule_messages import words_of
from dashboard.domain.reason_parser import Reason, ReasonKind

_UNKNOWN: Final = (
    "Which nonce the node expects next from this sender is not known here: ask a node "
    "(eth_getTransactionCount). If it is {nonce}, the sender's later transactions wait for it: "
    "send another transaction with nonce {nonce}; a transfer of zero to the sender itself will do."
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
_REMEMBERED: Final = (
    "The node remembers this very transaction and refuses it without counting again: "
    "change it before you send it. "
)


def advise(reason: Reason, nonce: int, end: FollowUp | None = None) -> tuple[str, ...]:
    """Return the next steps in order, each one a sentence or two without foreign text.

    `end` is the last answer of the network's node, if there is one: it shows whether the nonce is
    stuck or waits behind others. Without it the steps say that this is unknown.
    """
    return (first_step(reason), _nonce_step(nonce, end), _NOT_FINAL)


def _nonce_step(nonce: int, end: FollowUp | None) -> str:
    if end is None or end.next_nonce is None:
        return _UNKNOWN.format(nonce=nonce)
    step = _STUCK if end.next_nonce == nonce else _BEHIND
    if end.next_nonce > nonce:
        step = _PASSED
    return step.format(nonce=nonce, next_nonce=end.next_nonce, at=moment(end.answered_at))


def first_step(reason: Reason) -> str:
    """Return what to do about the reason itself, without foreign text."""
    if reason.kind is ReasonKind.OVER_LIMIT:
        return _fit_the_limit(reason)
    if reason.rule is not None:
        return words_of(reason.rule).remedy
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
    remembered = _REMEMBERED if reason.is_cached else ""
    return (
        f"{remembered}Split the work: fewer items in one call, smaller inputs, or several "
        "transactions. More gas or a higher fee does not help."
    )
