"""How the roles of `linewatch up` get new settings, and how whoever asks learns the result."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct, field

from dashboard.errors import LinewatchError, RoleError
from dashboard.logs import get_logger
from dashboard.wiring.roles import Role

_SOCKET: Final = "reload"
"""Its name in the state folder, where `linewatch reload` asks."""

_log = get_logger(__name__)
_supervise_log = get_logger("supervise")

Replace: TypeAlias = Callable[[Role], Awaitable[bool]]
"""Ends the process of a role and starts another; says whether that one came up."""


class Reload(Struct):
    """How settings are reloaded, and who waits for that.

    `roles` returns the same roles as before, by name, or raises a LinewatchError that says why
    everything stays as it was.
    """

    roles: Callable[[], Sequence[Role]]
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: list[asyncio.Future[str]] = field(default_factory=list)

    async def ask(self) -> str:
        """Return why not all roles have the new settings; empty if they have."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.waiting.append(answer)
        self.asked.set()
        return await answer

    async def next(self) -> list[asyncio.Future[str]]:
        """Wait until somebody asks; return who waits for the answer."""
        await self.asked.wait()
        self.asked.clear()
        waiting, self.waiting = self.waiting, []
        return waiting


async def replace_when_asked(reload: Reload, replace: Replace) -> None:
    """Replace the processes one after the other, as long as each comes up with the settings."""
    while True:
        waiting = await reload.next()
        why = await _replace_all(reload, replace)
        for each in waiting:
            if not each.done():  # who asked may be gone
                each.set_result(why)


async def _replace_all(reload: Reload, replace: Replace) -> str:
    """Return why not all have the settings; empty if they have."""
    try:
        roles = reload.roles()
    except LinewatchError as error:
        _supervise_log.error(
            "settings are not reloaded: the former ones stay in force", why=str(error)
        )
        return f"nothing is reloaded: {error}"
    for role in roles:
        if not await replace(role):
            _supervise_log.error("reload ends early: a role does not come up", supervised=role.name)
            return f"{role.name} does not come up: only roles before it have the new settings"
    _supervise_log.info("settings are reloaded")
    return ""


@asynccontextmanager
async def answering_reloads(home: Path, reload: Reload) -> AsyncIterator[None]:
    """Answer `linewatch reload` on a socket in the state folder; SIGHUP works without it."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        why = await reload.ask()
        with suppress(OSError):
            writer.write(f"{' '.join(why.split())}\n".encode())
            await writer.drain()
        writer.close()

    path, server = home / _SOCKET, None
    try:
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(answer, path)
    except OSError as error:
        _log.warning("`linewatch reload` cannot be answered", why=str(error))
    try:
        yield
    finally:
        if server is not None:
            server.close()
            path.unlink(missing_ok=True)


def ask_for_reload(home: Path) -> None:
    """Make the `linewatch up` of a state folder reload its settings; RoleError if it does not."""
    with socket.socket(socket.AF_UNIX) as line:
        try:
            line.connect(str(home / _SOCKET))
        except (FileNotFoundError, ConnectionRefusedError):
            raise RoleError(
                f"no `linewatch up` runs with the state folder {home}: start it, or set "
                "LINEWATCH_HOME to the state folder of the one that runs"
            ) from None
        except OSError as error:  # of another user, or a path that is too long for a socket
            raise RoleError(
                f"the `linewatch up` of {home} cannot be asked ({error.strerror or error}): run "
                "this as its user, or send it SIGHUP"
            ) from None
        with line.makefile(encoding="utf-8") as answer:
            said = answer.readline()
    if said != "\n":
        raise RoleError(said.strip() or "Linewatch ended before all roles had the new settings")
