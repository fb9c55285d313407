"""What each exclusion endpoint of a network says of a transaction, and whether they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from dashboard.domain.formatting import moment
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.markup import visible
from dashboard.domain.rejections.exclusion import INCLUDED, StatusClaim

_LONGEST_WORD: Final = 40


class Said(StrEnum):
    """The kinds of statements."""

    REJECTED = "rejected"
    NOTHING = "nothing"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Statement:
    """What an endpoint said of a transaction, first at `said_at` and last at `last_said_at`.

    `claim` is its status if it neither has a record nor none. The last time is to the hour.
    """

    endpoint: str
    said: Said
    said_at: datetime
    last_said_at: datetime
    claim: StatusClaim | None = None

    @classmethod
    def of(cls, answer: ExclusionAnswer, at: datetime) -> Statement:
        """Return what an answer without failure says."""
        said = Said.NOTHING if answer.claim is None else Said.STATUS
        if answer.record is not None:
            said = Said.REJECTED
        return cls(answer.endpoint, said, at, at, answer.claim)

    def in_words(self) -> str:
        """Say it in a part of a sentence; the status, which is foreign text, is made visible."""
        who = visible(self.endpoint) or "upstream"
        if self.said is Said.REJECTED:
            said = "that it was rejected"
        elif self.claim is None:
            said = "that no rejection is on record"
        elif self.claim.status == INCLUDED:
            block = self.claim.block_number
            said = "that it is included" + (f" in block {block:,}" if block else "")
        else:
            said = f"“{visible(self.claim.status, _LONGEST_WORD)}”"
        return f"{who} has said since {moment(self.said_at)} {said}"


def are_in_dispute(statements: Sequence[Statement]) -> bool:
    """Whether some say that it was rejected, and others do not."""
    return len({each.said is Said.REJECTED for each in statements}) > 1


def statements_in_words(statements: Sequence[Statement]) -> str:
    """Say who said what and when; empty if that adds nothing to a record or its absence."""
    is_disputed = are_in_dispute(statements)
    if not is_disputed and all(each.claim is None for each in statements):
        return ""
    said = "; ".join(each.in_words() for each in statements)
    proof = ""
    if any(each.claim is not None and each.claim.status == INCLUDED for each in statements):
        proof = " An upstream's word for an inclusion proves less than a receipt does."
    dispute = "Upstreams disagree, and the rejection counts: " if is_disputed else ""
    sentence = f"{dispute}{said}.{proof}"
    return sentence[0].upper() + sentence[1:]
