"""Run the roles of one machine: start in order, wait until ready, restart, stop together."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field

from dashboard.errors import RoleError
from dashboard.logs import get_logger
from dashboard.wiring.roles import Role


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the supervisor waits, in seconds.

    `back_off` are the waits before each new start of a role that dies again within `steady`;
    when they are used up, it gives up. A role that does not end within `grace` is killed.
    """

    ready_within: float = 60.0
    grace: float = 8.0
    steady: float = 60.0
    back_off: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)


_log = get_logger("supervise")


def refuse_taken_ports(roles: Sequence[Role]) -> None:
    """Raise RoleError for the first port that something else listens on, naming the remedy."""
    for role in roles:
        if role.address is None:
            continue
        family = socket.AF_INET6 if ":" in role.address[0] else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(role.address)
            except OSError as error:
                msg = (
                    f"port {role.address[1]} on {role.address[0]} cannot be used for {role.name} "
                    f"({error.strerror}): stop what uses it, or set {role.port_variable}"
                )
                raise RoleError(msg) from error


async def supervise(
    roles: Sequence[Role], stop: asyncio.Event, patience: Patience = Patience()
) -> None:
    """Start the roles in order and keep them running until `stop`; then end them in reverse.

    A role that dies is started again, later each time. One that dies on every attempt within
    a minute raises RoleError after everything else was stopped.
    """
    running: list[_Running] = []
    try:
        for role in roles:
            keeper = _Running(role, patience)
            running.append(keeper)
            await _until(keeper.start(), stop)
            if stop.is_set():
                return
            _log.info("role is ready", started=role.name)
        await _watch(running, stop)
    finally:
        await _end_all(running, patience)


async def _end_all(running: Sequence[_Running], patience: Patience) -> None:
    """End the processes in reverse order; all of them share one time of grace."""
    deadline = asyncio.get_running_loop().time() + patience.grace
    for keeper in reversed(running):
        await keeper.end(deadline)


async def _watch(running: Sequence[_Running], stop: asyncio.Event) -> None:
    """Keep every role alive until `stop`, or until one of them cannot be kept alive."""
    keepers = [asyncio.create_task(keeper.keep()) for keeper in running]
    stopped = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([stopped, *keepers], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (stopped, *keepers):
            task.cancel()
        await asyncio.gather(stopped, *keepers, return_exceptions=True)
    for task in done - {stopped}:
        task.result()


async def _until(work: Coroutine[None, None, None], stop: asyncio.Event) -> None:
    """Await `work` unless `stop` comes first, which cancels it."""
    task = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([task, stopped], return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if task.done():
        task.result()
    else:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@dataclass(slots=True)
class _Running:
    """One role and its present process, if any."""

    role: Role
    patience: Patience
    process: asyncio.subprocess.Process | None = None
    deaths: deque[float] = field(default_factory=deque)

    async def start(self) -> None:
        """Start the role's process and wait until it is ready; RoleError if it never is.

        The child's standard input is a pipe whose other end only this process holds: when
        this process dies, however it dies, the child sees the end of the pipe and stops.
        """
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

    async def _become_ready(self, process: asyncio.subprocess.Process) -> None:
        while process.returncode is None:
            if await asyncio.to_thread(self.role.is_ready):
                return
            await asyncio.sleep(0.05)
        msg = (
            f"{self.role.name} ended with status {process.returncode} while starting; "
            "its lines above say why"
        )
        raise RoleError(msg)

    async def keep(self) -> None:
        """Start the role again whenever it dies, until it dies too often: then RoleError."""
        while self.process is not None:
            status = await self.process.wait()
            await asyncio.sleep(self._delay(status))
            with contextlib.suppress(RoleError):
                await self.start()

    def _delay(self, status: int) -> float:
        """Return the seconds to wait before the next start."""
        now = asyncio.get_running_loop().time()
        while self.deaths and now - self.deaths[0] > self.patience.steady:
            self.deaths.popleft()
        if len(self.deaths) == len(self.patience.back_off):
            msg = (
                f"{self.role.name} keeps dying (last status {status}); "
                "its last lines above say why, everything else was stopped"
            )
            raise RoleError(msg)
        delay = self.patience.back_off[len(self.deaths)]
        self.deaths.append(now)
        _log.warning("role died", died=self.role.name, status=status, again_in_seconds=delay)
        return delay

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
