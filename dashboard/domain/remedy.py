"""What the sender of a rejected transaction can do next."""

from __future__ import annotations

from typing import Final

from dashboard.domain.reason import Reason, ReasonKind

_STUCK_NONCE: Final = (
    "Until nonce {nonce} of this sender is used, the sender's later transactions wait behind it: "
    "send another transaction with nonce {nonce}, if only a transfer of nothing to itself."
)
_NOT_FINAL: Final = (
    "A rejection is not final: the signed transaction may be sent again and be accepted. "
    "Check its receipt before you replace it."
)


def advise(reason: Reason, nonce: int) -> tuple[str, ...]:
    """Return the next steps in order, each one a sentence or two without foreign text."""
    return (_first_step(reason), _STUCK_NONCE.format(nonce=nonce), _NOT_FINAL)


def _first_step(reason: Reason) -> str:
    if reason.kind is ReasonKind.OVER_LIMIT and reason.limit == 0:
        return (
            f"Sending it again does not help: this network cannot prove {reason.module}. "
            "Change the contract or the call so that it is not used."
        )
    if reason.kind is ReasonKind.OVER_LIMIT:
        return (
            "Split the work: fewer items in one call, smaller inputs, or several transactions. "
            "More gas or a higher fee does not help."
        )
    if reason.kind is ReasonKind.UNPARSED:
        return "Read the reason as sent, below, and ask the operator of the network what it means."
    return (
        "This points at the node and not at the transaction: "
        "send it through another node, or tell the operator."
    )
