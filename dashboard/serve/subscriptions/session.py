"""One open WebSocket as methods see it: who is at the other end, and a way to tell them more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from dashboard.serve.keys.key_ring import ApiKey


@dataclass(frozen=True, slots=True)
class Terms:
    """What a conversation is held to.

    `largest_message`: bytes of one message. `queue`: bytes of pushes that wait for the client.
    `patience`: a client that takes nothing for so long is dropped. `idle`: a client that says
    nothing for so long and subscribed to nothing is sent away.
    """

    largest_message: int
    queue: int
    patience: timedelta
    idle: timedelta


class Session(Protocol):
    """A conversation in which the server may speak unasked."""

    @property
    def caller(self) -> ApiKey:
        """Whose key opened it."""

    def push(self, text: bytes) -> bool:
        """Queue a message; False where the client's queue is full, and then nothing is queued.

        Once full, a queue takes nothing until half of it was read.
        """

    async def room(self) -> None:
        """Wait until the queue takes something."""

    def when_answered(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the answer to what is being answered now is on its way."""

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the conversation has ended, for whatever reason."""
