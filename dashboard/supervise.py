"""Run the roles of one machine: start in turn, wait until ready, restart, stop together."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from dashboard.errors import RoleError
from dashboard.logs import get_logger
from dashboard.wiring.roles import Role


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the supervisor waits, in seconds.

    `back_off` are the waits before each new start of a role that was not ready for `steady`
    before it died; when they are used up, it gives up. A role that does not end within `grace`
    is killed.
    """

    ready_within: float = 60.0
    grace: float = 8.0
    steady: float = 60.0
    back_off: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)


_log = get_logger("supervise")


class _KilledWhileStarting(RoleError):
    """A signal ended a role before it was ready, which says nothing of whether it can start."""

    def __init__(self, message: str, status: int) -> None:
        """Remember the status: the number of the signal, below zero."""
        super().__init__(message)
        self.status = status


async def supervise(
    roles: Sequence[Role], stop: asyncio.Event, patience: Patience = Patience()
) -> None:
    """Start each role when those that it comes after are ready, and keep all running until `stop`.

    A role that dies is started again, later each time, and so is one that is killed while it
    starts. One that ends by itself at its first start, or that keeps dying before it was steady,
    raises RoleError after everything else was stopped.
    """
    keepers = {role.name: _Keeper(role, patience) for role in roles}
    working = [
        asyncio.create_task(keeper.run([keepers[name].ready for name in keeper.role.after]))
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
    for task in done - {stopped}:
        task.result()


@dataclass(slots=True)
class _Keeper:
    """One role and its present process, if any."""

    role: Role
    patience: Patience
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    process: asyncio.subprocess.Process | None = None
    deaths: int = 0
    ready_since: float | None = None

    async def run(self, before: Sequence[asyncio.Event]) -> None:
        """Start once those `before` are ready, then keep the process alive."""
        for ready in before:
            await ready.wait()
        await self._start_first()
        _log.info("role is ready", started=self.role.name)
        self.ready.set()
        await self.keep()

    async def _start_first(self) -> None:
        """Start, again where somebody kills it meanwhile; one that ends by itself cannot start."""
        while self.ready_since is None:
            try:
                await self.start()
            except _KilledWhileStarting as killed:
                await asyncio.sleep(self._delay(killed.status))

    async def start(self) -> None:
        """Start the role's process and wait until it is ready; RoleError if it never is.

        The child's standard input is a pipe whose other end only this process holds: when
        this process dies, however it dies, the child sees the end of the pipe and stops.
        """
        self.ready_since = None
        self.process = await asyncio.create_subprocess_exec(
            *self.role.command, stdin=asyncio.subprocess.PIPE, start_new_session=True
        )
        try:
            async with asyncio.timeout(self.patience.ready_within):
                await self._become_ready(self.process)
        except TimeoutError as error:
            await self.end(asyncio.get_running_loop().time() + self.patience.grace)
            waited = f"{self.patience.ready_within:g} s"
            msg = f"{self.role.name} was not ready within {waited}; its lines above say why"
            raise RoleError(msg) from error
        self.ready_since = asyncio.get_running_loop().time()

    async def _become_ready(self, process: asyncio.subprocess.Process) -> None:
        while process.returncode is None:
            if await asyncio.to_thread(self.role.is_ready):
                return
            await asyncio.sleep(0.05)
        status = process.returncode
        msg = f"{self.role.name} ended with status {status} while starting; its lines above say why"
        raise _KilledWhileStarting(msg, status) if status < 0 else RoleError(msg)

    async def keep(self) -> None:
        """Start the role again whenever it dies, until it dies too often: then RoleError."""
        while self.process is not None:
            status = await self.process.wait()
            await asyncio.sleep(self._delay(status))
            try:
                await self.start()
            except RoleError as error:
                _log.warning("role could not start again", why=str(error))

    def _delay(self, status: int) -> float:
        """Return the seconds to wait before the next start."""
        if self._was_steady():
            self.deaths = 0
        if self.deaths == len(self.patience.back_off):
            msg = (
                f"{self.role.name} keeps dying (last status {status}); "
                "its last lines above say why, everything else was stopped"
            )
            raise RoleError(msg)
        delay = self.patience.back_off[self.deaths]
        self.deaths += 1
        _log.warning("role died", died=self.role.name, status=status, again_in_seconds=delay)
        return delay

    def _was_steady(self) -> bool:
        if self.ready_since is None:
            return False
        return asyncio.get_running_loop().time() - self.ready_since > self.patience.steady

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
