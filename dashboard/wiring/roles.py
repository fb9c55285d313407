"""Which roles one machine runs, in their order, and which of them keep dying."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.domain.health.mail_outages_and_failing_roles import FailingRole
from dashboard.domain.quantity import Clock
from dashboard.errors import RoleError
from dashboard.logs import get_logger
from dashboard.settings import Settings
from dashboard.settings.values import authority_of

_PATIENCE: Final = 10
"""How many seconds a role has to answer whether it is ready."""

_BACKLOG: Final = 2048
"""How many clients may wait for a process to accept them."""


async def _at_once() -> bool:
    return True


class Role(Struct, frozen=True):
    """One process of Linewatch, and how to check that it is ready.

    It starts when the roles named in `after` are ready and have data. `address` is where it
    listens, if it does, and `port_variable` names the setting of that port for messages.
    """

    name: str
    is_ready: Callable[[], Awaitable[bool]]
    after: tuple[str, ...] = ()
    address: tuple[str, int] | None = None
    port_variable: str = ""
    has_data: Callable[[], Awaitable[bool]] = _at_once


def roles_of(settings: Settings, *, with_pages: bool = True) -> tuple[Role, ...]:
    """Return the roles of an installation on one machine; pages start beside the others.

    The worker waits until serve has fees to answer with, or every first start would show failures.
    """
    roles = []
    if settings.has_devnet:
        roles.append(_listening("devnet", (settings.devnet.host, settings.devnet.port), "/"))
    address = (settings.serve.host, settings.serve.port)
    serve, has_data = _listening("serve", address, "/live"), partial(_is_ok, address, "/ready")
    before = tuple(role.name for role in roles)
    roles.append(replace(serve, after=before, has_data=has_data))
    roles.append(Role("worker", _at_once, after=("serve",)))
    if with_pages:
        address = (settings.pages.host, settings.pages.port)
        roles.append(_listening("pages", address, "/live"))
    return tuple(roles)


def refuse_taken_ports(roles: Sequence[Role]) -> None:
    """Raise RoleError for the first port that something else listens on, naming the remedy."""
    for role in roles:
        if role.address is not None:
            open_listener(*role.address, role.port_variable).close()


def open_listener(host: str, port: int, port_variable: str) -> socket.socket:
    """Listen at an address; RoleError, naming the remedy, if that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise RoleError(_refused(host, port, port_variable, error)) from error


def _refused(host: str, port: int, port_variable: str, error: OSError) -> str:
    """Say why nothing can listen at an address, and the remedy."""
    number = error.errno or 0
    why = os.strerror(number) if number > 0 else str(error.strerror).partition(" (")[0]
    remedy = f"set {port_variable.removesuffix('PORT')}HOST to an address of this machine"
    if number == errno.EADDRINUSE:
        remedy = f"stop what uses it, or set {port_variable}"
    elif number == errno.EACCES:
        remedy = f"set {port_variable} to 1024 or more"
    return f"port {port} on {host} cannot be used ({why}): {remedy}"


class RunningRoles(Struct):
    """The roles of this machine, and the sockets on which they listen.

    The sockets stay open here while a process is replaced: a client that connects meanwhile waits
    for the next process instead of being refused.
    """

    with_pages: bool
    settings: Settings | None = None
    roles: Sequence[Role] = ()
    listeners: dict[str, socket.socket] = field(default_factory=dict)

    def take(self, settings: Settings) -> Sequence[Role]:
        """Listen where the settings say, and return their roles.

        RoleError if that is not possible without a restart; then everything is as before.
        """
        roles = roles_of(settings, with_pages=self.with_pages)
        if self.settings is not None:
            self._refuse_what_needs_a_restart(self.settings, settings, roles)
        before = {role.name: role.address for role in self.roles}
        opened: dict[str, socket.socket] = {}
        try:
            for role in roles:
                if role.address is not None and role.address != before.get(role.name):
                    opened[role.name] = open_listener(*role.address, role.port_variable)
        except RoleError:
            for each in opened.values():
                each.close()
            raise
        for name, listener in opened.items():
            if name in self.listeners:
                self.listeners[name].close()
            self.listeners[name] = listener
        self.settings, self.roles = settings, roles
        return roles

    def _refuse_what_needs_a_restart(
        self, before: Settings, now: Settings, roles: Sequence[Role]
    ) -> None:
        if [role.name for role in roles] != [role.name for role in self.roles]:
            raise RoleError("devnet.mode, or whether networks are configured, needs a restart")
        if now.store.url != before.store.url:
            raise RoleError("store.url, which has another address now, needs a restart")

    def listener_of(self, name: str) -> socket.socket | None:
        """Return where this role listens, if it does; close all others: this process has one role.

        A process that lingers would keep their ports from everybody else.
        """
        for other, listener in self.listeners.items():
            if other != name:
                listener.close()
        return self.listeners.get(name)


def _listening(name: str, address: tuple[str, int], path: str) -> Role:
    variable = f"LINEWATCH_{name.upper()}_PORT"
    is_ready = partial(_answers, address, path)
    return Role(name, is_ready, address=address, port_variable=variable)


async def _answers(address: tuple[str, int], path: str) -> bool:
    """Whether something answers HTTP at the address, with any status."""
    return (await _status_line(address, path)).startswith(b"HTTP/")


async def _is_ok(address: tuple[str, int], path: str) -> bool:
    """Whether something answers HTTP at the address, with status 200."""
    return (await _status_line(address, path)).split(b" ")[1:2] == [b"200"]


async def _status_line(address: tuple[str, int], path: str) -> bytes:
    """Return the first line of the answer, empty if there is none."""
    host, port = address
    try:
        async with asyncio.timeout(_PATIENCE):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(
                    f"GET {path} HTTP/1.0\r\nHost: {authority_of(*address)}\r\n\r\n".encode()
                )
                return await reader.readline()
            finally:
                writer.close()
    except (OSError, ValueError):
        return b""


_FILE: Final = "failing-roles.json"
_FEWEST: Final = 2
"""A role that died once is back in a moment, which nobody has to see."""

_log = get_logger(__name__)


class _Noted(msgspec.Struct):
    supervisor: int
    roles: Sequence[FailingRole]


def failing_roles(home: Path) -> Sequence[FailingRole]:
    """Return the roles that keep dying under the `up` of this state folder, if one runs."""
    try:
        found = msgspec.json.decode((home / _FILE).read_bytes(), type=_Noted)
    except (OSError, msgspec.MsgspecError):
        return ()
    return found.roles if _is_alive(found.supervisor) else ()


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


class RoleDeaths(Struct):
    """Notes the deaths of roles in a state folder, for as long as the process lives."""

    home: Path
    clock: Clock
    known: dict[str, FailingRole] = field(default_factory=dict)

    def note(self, name: str, why: str, deaths: int, again_in: float) -> None:
        """Record that a role died once more, and starts again in so many seconds."""
        now = self.clock()
        before = self.known.get(name)
        since = now if before is None or deaths == 1 else before.since
        again_at = now + timedelta(seconds=again_in)
        self.known[name] = FailingRole(name, deaths, since, why, again_at)
        self._write(self.known)

    def forget(self, name: str) -> None:
        """Record that a role is well."""
        if self.known.pop(name, None) is not None:
            self._write(self.known)

    def _write(self, known: Mapping[str, FailingRole]) -> None:
        """Replace the file at once, so that nobody reads half of it; roles work without it."""
        path = self.home / _FILE
        failing = [each for each in known.values() if each.deaths >= _FEWEST]
        unfinished = Path(f"{path}.{uuid4().hex[:8]}")
        try:
            if not failing:
                path.unlink(missing_ok=True)
                return
            unfinished.write_bytes(msgspec.json.encode(_Noted(os.getpid(), failing)))
            unfinished.replace(path)
        except OSError as error:
            _log.warning("which roles keep dying cannot be written down", why=str(error))
        finally:
            unfinished.unlink(missing_ok=True)

    def close(self) -> None:
        """Delete the file: no role runs any more."""
        self.known.clear()
        self._write(self.known)
