"""How an endpoint is asked: over which transport, and how many hashes at once, as found out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Transport(StrEnum):
    """What carries questions to an exclusion endpoint."""

    WEBSOCKET = "WebSocket"
    HTTP = "HTTP"


@dataclass(frozen=True, slots=True)
class TransportState:
    """What an endpoint takes over one transport.

    It answered `accepted` hashes at once, 0 while that is not known, and not `refused` of them, 0
    where it never refused any. `trouble` says why it takes no more, or is not used; it is safe to
    show. `is_used`: the last questions went this way.
    """

    transport: Transport
    accepted: int = 0
    refused: int = 0
    is_used: bool = False
    trouble: str = ""

    def in_words(self) -> str:
        """Say how it is asked now, and why not better."""
        why = f" ({self.trouble})" if self.trouble else ""
        if not self.is_used:
            return f"{self.transport}: not used now{why}"
        if self.accepted <= 1:
            return f"{self.transport}: one hash in each request{why}"
        return f"{self.transport}: up to {self.accepted:,} hashes in each request{why}"
