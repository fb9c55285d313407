"""Whether a tracked transaction was included, or replaced: another one used its nonce."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from dashboard.domain.health.observation import Failure
from dashboard.domain.quantity import Address, TxHash

SETTLES_AFTER: Final = timedelta(minutes=15)
"""How long after it was first seen a block counts as final; Ethereum finalises in about 13 minutes.
"""


class Inclusion(Struct, frozen=True):
    """The block that holds a transaction, according to its receipt.

    `is_successful` is false if the execution was reverted, None before EIP-658.
    """

    block_number: int
    block_hash: bytes
    is_successful: bool | None = None


class InclusionQuestion(Struct, frozen=True):
    """A hash to ask a node about; its sender and nonce are known if there is a record."""

    tx_hash: TxHash
    sender: Address | None = None
    nonce: int | None = None


class InclusionAnswer(Struct, frozen=True):
    """What a node said of one hash; `inclusion` is None if it has no receipt.

    `next_nonce` is the sender's nonce at the newest block, read before the receipt; None if the
    sender is not known.
    """

    tx_hash: TxHash
    inclusion: Inclusion | None = None
    next_nonce: int | None = None
    failure: Failure | None = None


class FollowUp(Struct, frozen=True):
    """What became of a transaction, as of the node's last answer.

    `included_since` and `replaced_since` are when the present state was first seen; at most one of
    them is set. A transaction counts as replaced only after a second answer confirms it: behind one
    address, a node may know the nonce before the receipt.
    """

    answered_at: datetime
    inclusion: Inclusion | None = None
    included_since: datetime | None = None
    replaced_since: datetime | None = None
    next_nonce: int | None = None
    settled_at: datetime | None = None

    @property
    def is_replaced(self) -> bool:
        """Whether another transaction used the nonce."""
        return self.replaced_since is not None and self.answered_at > self.replaced_since


def conclude_follow_up(
    before: FollowUp | None, answer: InclusionAnswer, nonce: int | None, at: datetime
) -> FollowUp:
    """Return the follow-up after an answer without failure.

    If the receipt is gone, or names another block, the follow-up starts again: the chain was
    reorganised. A settled receipt is kept even when it is gone: nodes prune receipts, and final
    blocks stay.
    """
    if before and before.settled_at and before.inclusion and answer.inclusion is None:
        return before
    included_since = replaced_since = None
    if answer.inclusion is not None:
        is_same = before is not None and before.inclusion == answer.inclusion
        included_since = (before.included_since if before and is_same else None) or at
    elif nonce is not None and answer.next_nonce is not None and answer.next_nonce > nonce:
        replaced_since = (before.replaced_since if before else None) or at
    since = included_since or replaced_since
    is_settled = since is not None and at - since >= SETTLES_AFTER
    return FollowUp(
        answered_at=at,
        inclusion=answer.inclusion,
        included_since=included_since,
        replaced_since=replaced_since,
        next_nonce=answer.next_nonce,
        settled_at=at if is_settled else None,
    )
