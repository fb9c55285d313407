"""What must be known of a transaction after all that exclusion endpoints said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, RejectionStage
from dashboard.domain.tracking.statements import Said, Statement
from dashboard.domain.tracking.verdict import Evidence
from tests.builders import A_NETWORK
from tests.model.tracking import Check

ASKED_FOR: Final = timedelta(days=7, hours=2)
RENEWED_FOR: Final = timedelta(hours=1)
"""For so long a transaction is asked about as a new one after its age began anew."""

_MOST_RENEWALS: Final = 4


@dataclass
class ExpectedAnswers:
    """What must be known of a transaction after all that was said of it; nothing of the product."""

    tracked_at: datetime
    attempted_at: datetime | None
    born_at: datetime
    renewed_at: list[datetime] = field(default_factory=list)
    check: Check = field(default_factory=Check)
    versions: dict[RejectedTransaction, datetime] = field(default_factory=dict)
    statements: dict[str, tuple[Said, datetime]] = field(default_factory=dict)

    def track_again(self, at: datetime) -> None:
        """Take that somebody tracked it again."""
        if at - self.born_at >= ASKED_FOR:
            self.born_at = at
            self.renewed_at.clear()
        self._renew(at)

    def _renew(self, at: datetime) -> None:
        """Let its age begin anew, if it did not within an hour, nor four times."""
        is_asked = at - self.born_at < ASKED_FOR and len(self.renewed_at) < _MOST_RENEWALS
        if is_asked and at - [self.born_at, *self.renewed_at][-1] >= RENEWED_FOR:
            self.renewed_at.append(at)

    def hear(self, at: datetime, said: Sequence[tuple[str, ExclusionAnswer]]) -> None:
        """Take what endpoints answered at one moment, each by its name; a lone one has none."""
        answered = [(name, each.record) for name, each in said if each.failure is None]
        if not answered:
            assert said[0][1].failure is not None
            self.check.failed(at, said[0][1].failure)
            return
        self.check.answered(at)
        records = [record for _, record in answered if record is not None]
        whole = [each for each in records if each.timestamp is not None]
        for lead in (whole or records)[:1]:
            if not any(says_all_of(each, lead) for each in self.versions):
                self.versions[lead] = at
                self._renew(at)
        if records or self.statements:
            for name, record in answered:
                word = Said.NOTHING if record is None else Said.REJECTED
                if name and self.statements.get(name, ("",))[0] is not word:
                    self.statements[name] = (word, at)

    def evidence(self, tx_hash: TxHash) -> Evidence:
        """Return it as evidence, from which the model of tracking concludes."""
        said = (Statement(name, *each, each[1]) for name, each in self.statements.items())
        return Evidence(
            A_NETWORK,
            tx_hash,
            tuple(self.versions),
            self.attempted_at,
            self.check.first_answered_at,
            self.check.last_answered_at,
            self.check.failing_since,
            self.check.failure,
            tracked_at=self.tracked_at,
            statements=tuple(said),
        )


def says_all_of(known: RejectedTransaction, record: RejectedTransaction) -> bool:
    """Whether a version says all that a record says, which may leave something out."""
    of_record = [record.sender, record.nonce, record.reason_message, record.timestamp]
    of_known = [known.sender, known.nonce, known.reason_message, known.timestamp]
    if record.tx_rejection_stage is RejectionStage.SEQUENCER:  # which alone shows its block
        of_record.append(record.block_number)
        of_known.append(known.block_number)
    is_staged = record.tx_rejection_stage is not RejectionStage.UNKNOWN
    is_same_stage = known.tx_rejection_stage is record.tx_rejection_stage
    pairs = zip(of_known, of_record, strict=True)
    return (is_same_stage or not is_staged) and all(it in {None, each} for each, it in pairs)
