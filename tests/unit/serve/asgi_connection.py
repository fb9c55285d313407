"""A connection played by a test in place of an ASGI server."""

from __future__ import annotations

from starlette.types import Message


class Connection:
    """Hands the app these messages in turn, and keeps what the app sends."""

    def __init__(self, *messages: Message) -> None:
        self.sent: list[Message] = []
        self._messages = list(messages)

    async def receive(self) -> Message:
        return self._messages.pop(0)

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def unread(self) -> int:
        """How many messages the app did not ask for."""
        return len(self._messages)
