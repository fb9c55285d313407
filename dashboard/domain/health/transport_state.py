"""How an endpoint is asked: over which transport, and with how many hashes at once."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Transport(StrEnum):
    """What carries questions to an exclusion endpoint."""

    WEBSOCKET = "WebSocket"
    HTTP = "HTTP"


class TransportState(Struct, frozen=True):
    """What an endpoint accepts over one transport.

    It has answered `accepted` hashes at once, 0 if that is unknown, and has refused `refused`
    hashes at once, 0 if it never refused. `trouble` says why it accepts no more, or is not used; it
    is safe to show. `is_used`: the last questions were sent over this transport.
    """

    transport: Transport
    accepted: int = 0
    refused: int = 0
    is_used: bool = False
    trouble: str = ""

    def in_words(self) -> str:
        """Say how the endpoint is asked now, and why not in a better way."""
        why = f" ({self.trouble})" if self.trouble else ""
        if not self.is_used:
            return f"{self.transport}: not used now{why}"
        if self.accepted <= 1:
            return f"{self.transport}: one hash in each request{why}"
        return f"{self.transport}: up to {self.accepted:,} hashes in each request{why}"
