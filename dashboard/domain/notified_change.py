"""One change that a message is about, with all that is known of what changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dashboard.domain.condition import Transition
from dashboard.domain.exclusion import StoredRejection


@dataclass(frozen=True, slots=True)
class NotifiedChange:
    """A transition with what stands behind it.

    `opened_at` is when the condition began that this changes or ends, None where it begins one.
    `previous` is the record that was known before, where a record changed and that is still kept.
    `label` and `attempted_at` are as the transaction is tracked: foreign text, and None where
    nobody knows when it was sent.
    `ended` is what ended the condition of a network that this opened, None while it lasts.
    """

    transition: Transition
    rejection: StoredRejection | None = None
    opened_at: datetime | None = None
    previous: StoredRejection | None = None
    label: str = ""
    attempted_at: datetime | None = None
    ended: Transition | None = None

    @property
    def is_changed_record(self) -> bool:
        """Whether a rejection has another record than before: it is no new rejection."""
        return self.transition.before is self.transition.after
