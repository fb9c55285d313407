"""The way of one process to PostgreSQL, which can be cut."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

from dashboard.store.engine.postgresql import WRITING_LOCK

_TURN: Final = f"pg_advisory_xact_lock({WRITING_LOCK})".encode()
_PREPARED: Final = re.compile(rb"P.{4}([^\0]+)\0[^\0]*" + re.escape(_TURN), re.DOTALL)
"""A turn under a name, by which the driver asks once it has asked a few times in words."""


def nothing_happens() -> None:
    """Let a moment pass."""


class DatabaseLine:
    """A TCP port that leads to a database; when it is cut nothing comes through, and both wait.

    `at_turn` is called when a process has asked for its turn to write, before it hears that it has
    it.
    """

    def __init__(self, socket: str) -> None:
        self.at_turn: Callable[[], None] = nothing_happens
        self.port = 0
        self._socket = socket
        self._goes = asyncio.Event()
        self._ends: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None] | None] = set()
        self._loop: asyncio.AbstractEventLoop

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        """Take connections."""
        self._goes.set()
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        yield self
        server.close()
        self._mend(is_new=True)
        await asyncio.gather(*filter(None, self._carrying))

    def cut(self) -> None:
        """Let nothing come through any more."""
        self._goes.clear()

    def mend(self, *, is_new: bool) -> None:
        """Let everything come through that waited; or end what waits, and begin anew."""
        self._loop.call_soon_threadsafe(self._mend, is_new)

    def _mend(self, is_new: bool) -> None:  # noqa: FBT001 - called by the loop
        if is_new:
            for each in self._ends:
                each.transport.abort()
        self._goes.set()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_unix_connection(self._socket)
        ends, task = {writer, up_writer}, asyncio.current_task()
        self._ends |= ends
        self._carrying.add(task)
        await asyncio.gather(
            self._pump(reader, up_writer, is_up=True), self._pump(up_reader, writer, is_up=False)
        )
        self._ends -= ends
        self._carrying.discard(task)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_up: bool
    ) -> None:
        turns = {_TURN} if is_up else set()
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._goes.wait()
                writer.write(data)
                await writer.drain()
                if any(turn in data for turn in turns):
                    self.at_turn()
                    turns |= {b"\0%b\0" % name for name in _PREPARED.findall(data)}
        writer.close()
