"""Addresses that are off: nothing is sent there, since a person or the mail server said so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dashboard.domain.formatting import moment
from dashboard.domain.notification import Recipient


class OffCause(StrEnum):
    """Why an address is off. BOUNCED: messages came back."""

    UNSUBSCRIBED = "unsubscribed"
    BOUNCED = "bounced"


@dataclass(frozen=True, slots=True)
class AddressOff:
    """A recipient to whom nothing is sent; `by` is who said so, `note` what they said: foreign."""

    recipient: Recipient
    cause: OffCause
    since: datetime
    by: str
    note: str = ""

    @property
    def reason(self) -> str:
        """Say why nothing is sent there."""
        return f"this address is off since {moment(self.since)}: {self.cause}"
