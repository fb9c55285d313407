"""Addresses that are off, since a person or the mail server said so, and those that may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dashboard.domain.formatting import moment
from dashboard.domain.notification import Recipient


class OffCause(StrEnum):
    """Why an address is off.

    UNSUBSCRIBED: by the link in a message to it. TURNED_OFF: by a person, on the page or by
    command. BOUNCED: messages came back.
    """

    UNSUBSCRIBED = "unsubscribed"
    TURNED_OFF = "turned off"
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


@dataclass(frozen=True, slots=True)
class SuspectAddress:
    """A recipient from whom one message came back: messages still go there.

    A bounce of another message turns it off. `note` is what the server said: foreign.
    """

    recipient: Recipient
    since: datetime
    message_id: str
    note: str = ""
