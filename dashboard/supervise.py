"""Run the roles of one machine: start in turn, start again what died, stop together.

systemd, if it started us, is notified of what it waits for.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from dashboard.logs import get_logger
from dashboard.wiring.roles import Role, RoleDeaths

_LOOKS: Final = (0.05, 1.0)
"""Seconds between two checks whether a role is ready: at first, and at most."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the supervisor waits, in seconds.

    A role waits for those that it comes `after` for so long, and then starts all the same.
    `back_off` are the waits before each new start of a role that died, the last one again and
    again; they begin anew once it was ready for `steady`. When all is stopped, a role that does
    not end within `grace` is killed.
    """

    after: float = 60.0
    grace: float = 8.0
    steady: float = 60.0
    back_off: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)


_log = get_logger("supervise")


async def supervise(
    roles: Sequence[Role], stop: asyncio.Event, deaths: RoleDeaths, patience: Patience = Patience()
) -> None:
    """Start each role when those that it comes after are ready, and keep all running until `stop`.

    A role that dies is started again, later each time, and touches no other. One that is slow to
    be ready is waited for: only `stop` ends anything.
    """
    keepers = {role.name: _Keeper(role, deaths, patience) for role in roles}
    working = [
        asyncio.create_task(keeper.run([keepers[name].tried for name in keeper.role.after]))
        for keeper in keepers.values()
    ]
    stopped = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([stopped, *working], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (stopped, *working):
            task.cancel()
        await asyncio.gather(stopped, *working, return_exceptions=True)
        deadline = asyncio.get_running_loop().time() + patience.grace
        await asyncio.gather(*(keeper.end(deadline) for keeper in keepers.values()))
        deaths.close()
    for task in done - {stopped}:
        task.result()


@dataclass(slots=True)
class _Keeper:
    """One role and its present process, if any; `tried` is set once it was ready or has died."""

    role: Role
    deaths: RoleDeaths
    patience: Patience
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    count: int = 0

    async def run(self, before: Sequence[asyncio.Event]) -> None:
        """Start once those `before` were tried, and start again for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience.after):
                for tried in before:
                    await tried.wait()
        while True:
            why = await self._live()
            self.tried.set()
            await asyncio.sleep(self._pause(why))

    async def _live(self) -> str:
        """Start the role's process; return why it ended when it has.

        The child's standard input is a pipe whose other end only this process holds: when
        this process dies, however it dies, the child sees the end of the pipe and stops.
        """
        try:
            self.process = await asyncio.create_subprocess_exec(
                *self.role.command, stdin=asyncio.subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            return f"cannot start: {error.strerror}"
        watching = asyncio.create_task(self._watch())
        try:
            return _ending(await self.process.wait())
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        """Wait until the role is ready, and then until it is steady."""
        pause, longest = _LOOKS
        while not await asyncio.to_thread(self.role.is_ready):
            await asyncio.sleep(pause)
            pause = min(longest, 1.5 * pause)
        _log.info("role is ready", started=self.role.name)
        self.tried.set()
        await asyncio.sleep(self.patience.steady)
        self.count = 0
        self.deaths.forget(self.role.name)

    def _pause(self, why: str) -> float:
        """Note a death; return the seconds to wait before the next start."""
        waits = self.patience.back_off
        pause = waits[min(self.count, len(waits) - 1)]
        self.count += 1
        _log.warning("role died", died=self.role.name, why=why, again_in_seconds=pause)
        self.deaths.note(self.role.name, why, self.count, pause)
        return pause

    async def end(self, deadline: float) -> None:
        """Ask the process to end, and kill it at the deadline (in the loop's time)."""
        process = self.process
        if process is None or process.returncode is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout_at(deadline):
                await process.wait()
        except TimeoutError:
            _log.warning("role was killed", killed=self.role.name)
            process.kill()
            await process.wait()


def _ending(status: int) -> str:
    """Say how a process ended; a number below zero is that of a signal."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"killed by {name}"


async def notify_systemd(
    is_ready: Callable[[], bool], is_alive: Callable[[], bool], stop: asyncio.Event
) -> None:
    """Notify systemd, if it waits for that, when we are ready, that we live on, and that we stop.

    If it watches us, it is notified three times as often as it wants, while `is_alive` says so. The
    processes that we start have no part in it.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    stopping = asyncio.create_task(stop.wait())
    pause, longest = _LOOKS
    while not stop.is_set() and not await asyncio.to_thread(is_ready):
        await asyncio.wait([stopping], timeout=pause)
        pause = min(longest, 1.5 * pause)
    if not stop.is_set():
        _notify(address, "READY=1")
    within = int(os.environ.get("WATCHDOG_USEC", "0")) / 1_000_000
    while within and not stop.is_set():
        if await asyncio.to_thread(is_alive):
            _notify(address, "WATCHDOG=1")
        await asyncio.wait([stopping], timeout=within / 3)
    await stopping
    _notify(address, "STOPPING=1")


def _notify(address: str, said: str) -> None:
    """Send systemd a datagram; `@` stands for the zero byte of an abstract address."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
            told.send(said.encode())
    except OSError as error:
        _log.warning("systemd cannot be notified", said=said, error=str(error))
