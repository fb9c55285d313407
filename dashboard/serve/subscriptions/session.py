"""One open WebSocket as methods see it: who is at the other end, and a way to tell them more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dashboard.serve.keys.key_ring import ApiKey


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
