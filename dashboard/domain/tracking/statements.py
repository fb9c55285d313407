"""What each exclusion endpoint of a network says of a transaction, and whether they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.formatting import capitalized, moment
from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.markup import unlinked, visible
from dashboard.domain.rejections.exclusion import INCLUDED, StatusClaim

_LONGEST_WORD: Final = 40
"""Characters of a status that a sentence shows."""


class Said(StrEnum):
    """The kinds of statements."""

    REJECTED = "rejected"
    NOTHING = "nothing"
    STATUS = "status"


class Statement(Struct, frozen=True):
    """What an endpoint said of a transaction, first at `said_at` and last at `last_said_at`.

    `claim` is its status if it answered neither a record nor null. The last time is to the hour.
    """

    endpoint: str
    said: Said
    said_at: datetime
    last_said_at: datetime
    claim: StatusClaim | None = None

    @classmethod
    def of(cls, answer: ExclusionAnswer, at: datetime) -> Statement:
        """Return the statement of an answer without failure."""
        said = Said.NOTHING if answer.claim is None else Said.STATUS
        if answer.record is not None:
            said = Said.REJECTED
        return cls(answer.endpoint, said, at, at, answer.claim)

    @property
    def long_status(self) -> str:
        """The whole status, foreign text, if a sentence shortens it; otherwise empty."""
        status = "" if self.claim is None else self.claim.status
        return status if len(status) > _LONGEST_WORD else ""

    def in_words(self) -> str:
        """Describe it as part of a sentence, with the status shortened and unlinked."""
        who = visible(self.endpoint) or "the exclusion API"
        return f"{who} has reported {self._reported} since {moment(self.said_at)}"

    @property
    def _reported(self) -> str:
        if self.claim is None:
            return "a rejection" if self.said is Said.REJECTED else "no rejection"
        if self.claim.status != INCLUDED:
            return f"the status “{unlinked(self.claim.status, _LONGEST_WORD)}”"
        block = self.claim.block_number
        where = "" if block is None else f" in block {block:,}"
        return f"the transaction as included{where}"


def renewed(
    known: Sequence[Statement], answer: ExclusionAnswer, at: datetime
) -> tuple[Statement, ...]:
    """Return the statements after an answer and those beside it, sorted by endpoint."""
    said = {each.endpoint: each for each in known}
    for each in (answer, *answer.beside):
        if each.failure is None:
            new, before = Statement.of(each, at), said.get(each.endpoint)
            if before is not None and (before.said, before.claim) == (new.said, new.claim):
                new = replace(new, said_at=before.said_at)
            said[each.endpoint] = new
    return tuple(said[name] for name in sorted(said))


def are_in_dispute(statements: Sequence[Statement]) -> bool:
    """Whether some endpoints report a rejection and others do not."""
    return len({each.said is Said.REJECTED for each in statements}) > 1


def statements_in_words(statements: Sequence[Statement], *, has_receipt: bool = False) -> str:
    """Say in one sentence who reports what, and since when; empty if a record says all of it.

    Pages, messages, texts for customers and files use the same sentence. If a receipt is known, it
    does not say which answer counts or what would prove more.
    """
    claims = {each.claim.status for each in statements if each.claim is not None}
    is_disputed = are_in_dispute(statements)
    if not claims and not is_disputed:
        return ""
    said = "; ".join(each.in_words() for each in statements)
    if is_disputed:
        counts = "" if has_receipt else ", and the rejection takes precedence"
        said = f"the endpoints disagree{counts}: {said}"
    proof = "; only a receipt proves an inclusion" if INCLUDED in claims and not has_receipt else ""
    return f"{capitalized(said)}{proof}."
