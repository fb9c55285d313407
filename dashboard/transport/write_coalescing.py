"""Small writes of one turn of the event loop, or of a moment, are sent together."""

from __future__ import annotations

import asyncio
from typing import Any, Final

_LARGEST_BUFFER: Final = 65_536


class CoalescingTransport:
    """A transport that buffers writes until the turn ends, and reads only while the client does.

    Where `moment` is not 0, it waits so many seconds for more: each write takes a system call.

    A client that does not read could otherwise make the server produce ever more replies, such as
    answers to pings, which wait for nothing.
    """

    def __init__(self, transport: asyncio.Transport, moment: float = 0) -> None:
        """Write to `transport`."""
        self._transport = transport
        self._moment = moment
        self._buffer: list[bytes] = []
        self._size = 0
        self._is_client_slow = False
        self._is_app_reading = True

    def write(self, data: bytes) -> None:
        """Buffer some bytes until the end of this turn, or of the moment."""
        if not self._buffer:
            loop = asyncio.get_running_loop()
            if self._moment:
                loop.call_later(self._moment, self._flush)
            else:
                loop.call_soon(self._flush)
        self._buffer.append(data)
        self._size += len(data)
        if self._size > _LARGEST_BUFFER:
            self._flush()

    def close(self) -> None:
        """Close after everything was sent."""
        self._flush()
        self._transport.close()

    def pause_reading(self) -> None:
        """Pause reading, as the app does not take what is read."""
        self._is_app_reading = False
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading, at once or as soon as the client reads what waits for it."""
        self._is_app_reading = True
        if not self._is_client_slow:
            self._transport.resume_reading()

    def pause_for_client(self) -> None:
        """Pause reading, as the client does not read what waits for it."""
        self._is_client_slow = True
        self._transport.pause_reading()

    def resume_for_client(self) -> None:
        """Resume reading, unless the app has paused it."""
        self._is_client_slow = False
        if self._is_app_reading:
            self._transport.resume_reading()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def _flush(self) -> None:
        if self._buffer:
            buffered, self._buffer, self._size = self._buffer, [], 0
            self._transport.write(b"".join(buffered))
