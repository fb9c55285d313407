"""Many small writes of one turn of the event loop leave as one: a system call for all of them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

_MOST_HELD: Final = 65_536


class Cork:
    """A transport that holds what is written until the turn ends, and reads only while it drains.

    A client that does not take its replies could else have more and more of them made, such as
    answers to pings, which wait for nothing.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        """Write to `transport`."""
        self._transport = transport
        self._held: list[bytes] = []
        self._size = 0
        self._is_full = False
        self._is_reading = True

    def write(self, data: bytes) -> None:
        """Hold some bytes, a little while."""
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > _MOST_HELD:
            self._flush()

    def close(self) -> None:
        """Close when everything was sent."""
        self._flush()
        self._transport.close()

    def pause_reading(self) -> None:
        """Read no more, as nobody takes what is read."""
        self._is_reading = False
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on, if not at once, then as soon as the client takes what waits for it."""
        self._is_reading = True
        if not self._is_full:
            self._transport.resume_reading()

    def fill(self) -> None:
        """Read no more, as the client does not take what waits for it."""
        self._is_full = True
        self._transport.pause_reading()

    def drain(self) -> None:
        """Read on, if that is wanted."""
        self._is_full = False
        if self._is_reading:
            self._transport.resume_reading()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the transport has
        return getattr(self._transport, name)

    def _flush(self) -> None:
        if self._held:
            held, self._held, self._size = self._held, [], 0
            self._transport.write(b"".join(held))
