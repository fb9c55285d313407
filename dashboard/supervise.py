"""Run the roles of one machine: start in turn, start again what died, reload, stop together.

Each role is a process forked from this one, which has imported what roles share: they start at
once, and share its memory. systemd, if it started us, is notified of what it waits for.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct, field

from dashboard.logs import get_logger
from dashboard.wiring.reloads import Reload, replace_when_asked
from dashboard.wiring.roles import Role, RoleDeaths

_PAUSES: Final = (0.05, 1.0)
"""Seconds between two checks whether something is ready: at first, and at most."""

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

_MORE_TIME: Final = "EXTEND_TIMEOUT_USEC=120000000"
"""From now on, the same time as the unit allows for a start."""

RunRole: TypeAlias = Callable[[str], None]
"""Does the work of the role of this name until it is asked to end."""


class Patience(Struct, frozen=True):
    """How long the supervisor waits, in seconds.

    A role waits this long for those that it comes `after`, and then starts all the same. `back_off`
    are the waits before each new start of a role that died, the last one again and again; they
    start over once it was ready for `steady`. When everything is stopped, a role that does not end
    within `grace` is killed.
    """

    after: float = 60.0
    grace: float = 8.0
    steady: float = 60.0
    back_off: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0)


_USUAL: Final = Patience()

_log = get_logger("supervise")


async def supervise(
    roles: Sequence[Role],
    run: RunRole,
    stop: asyncio.Event,
    deaths: RoleDeaths,
    patience: Patience = _USUAL,
    reload: Reload | None = None,
) -> None:
    """Start each role when those that it comes after have data, and keep all running until `stop`.

    A role that dies is started again, later each time, and touches no other. One that is slow to
    be ready is waited for: only `stop` and `reload` end anything. `run` does the work of a role in
    its own process, whose standard input ends when this process does, however it dies.
    """
    ends, held = os.pipe()
    keepers = {role.name: _Keeper(role, run, (ends, held), deaths, patience) for role in roles}
    tasks = [
        asyncio.create_task(keeper.run([keepers[name] for name in keeper.role.after]))
        for keeper in keepers.values()
    ]
    if reload is not None:

        async def replace(role: Role) -> bool:
            return await keepers[role.name].replace(role)

        tasks.append(asyncio.create_task(replace_when_asked(reload, replace)))
    stopped = asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (stopped, *tasks):
            task.cancel()
        await asyncio.gather(stopped, *tasks, return_exceptions=True)
        deadline = asyncio.get_running_loop().time() + patience.grace
        await asyncio.gather(*(keeper.end(deadline) for keeper in keepers.values()))
        deaths.close()
        os.close(ends)
        os.close(held)
    for task in done - {stopped}:
        task.result()


class _Keeper(Struct):
    """One role and its present process, if any.

    `tried` is set once it was ready or has died, `wanted` when it is to start again at once.
    """

    role: Role
    run_role: RunRole
    parent: tuple[int, int]
    deaths: RoleDeaths
    patience: Patience
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    process: ForkedProcess | None = None
    count: int = 0

    async def run(self, before: Sequence[_Keeper]) -> None:
        """Start once the roles `before` let others follow, and restart for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience.after):
                for keeper in before:
                    await keeper.lets_others_follow()
        self.wanted.clear()  # its first start brings the settings of a reload meanwhile
        while True:
            why = await self._live()
            if not self.wanted.is_set():
                self.tried.set()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause(why)):
                        await self.wanted.wait()
            if self.wanted.is_set():
                self.wanted.clear()
                self.count = 0
                self.deaths.forget(self.role.name)

    async def replace(self, role: Role) -> bool:
        """End the process and start another; return whether that one came up."""
        self.role = role
        self.tried.clear()
        self.wanted.set()
        if (process := self.process) is not None:
            os.kill(process.pid, signal.SIGTERM)
            loop = asyncio.get_running_loop()
            loop.call_later(self.patience.grace, self._kill, process)
        with suppress(TimeoutError):
            async with asyncio.timeout(self.patience.grace + self.patience.after):
                await self.tried.wait()
        return self.tried.is_set() and not self.count

    def _kill(self, process: ForkedProcess) -> None:
        """Kill a process that was asked to end, unless it has."""
        if self.process is process:
            _log.warning("role was killed", supervised=self.role.name)
            os.kill(process.pid, signal.SIGKILL)

    async def lets_others_follow(self) -> None:
        """Return once the role has data, or has died."""
        await self.tried.wait()
        for pause in _pauses():
            if self.count or await self.role.has_data():
                return
            await asyncio.sleep(pause)

    async def _live(self) -> str:
        """Start the role's process; return why it ended when it has."""
        try:
            self.process = fork(self.role.name, self.run_role, self.parent)
        except OSError as error:
            return f"cannot start: {error.strerror}"
        watching = asyncio.create_task(self._watch())
        try:
            status = await self.process.wait()
        finally:
            watching.cancel()
        self.process = None
        return _ending(status)

    async def _watch(self) -> None:
        """Wait until the role is ready, and then until it is steady."""
        for pause in _pauses():
            if await self.role.is_ready() and not self.wanted.is_set():  # else its successor's turn
                break
            await asyncio.sleep(pause)
        _log.info("role is ready", supervised=self.role.name)
        self.tried.set()
        await asyncio.sleep(self.patience.steady)
        self.count = 0
        self.deaths.forget(self.role.name)

    def _pause(self, why: str) -> float:
        """Record a death; return the seconds to wait before the next start."""
        waits = self.patience.back_off
        pause = waits[min(self.count, len(waits) - 1)]
        self.count += 1
        _log.warning("role died", supervised=self.role.name, why=why, again_in_seconds=pause)
        self.deaths.note(self.role.name, why, self.count, pause)
        return pause

    async def end(self, deadline: float) -> None:
        """Ask the process to end, and kill it at the deadline (in the loop's time)."""
        if self.process is None:
            return
        os.kill(self.process.pid, signal.SIGTERM)
        try:
            async with asyncio.timeout_at(deadline):
                await self.process.wait()
        except TimeoutError:
            self._kill(self.process)
            await self.process.wait()


def _pauses() -> Iterator[float]:
    """Yield the seconds to wait between two checks, each time longer, without end."""
    pause, longest = _PAUSES
    while True:
        yield pause
        pause = min(longest, 1.5 * pause)


class ForkedProcess(Struct, frozen=True):
    """A child; the pipe `life`, whose other end it alone holds, ends when the child does."""

    pid: int
    life: int

    async def wait(self) -> int:
        """Return the status once it has ended; a number below zero is that of a signal."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.life, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self.life)
        return self.join()

    def join(self) -> int:
        """Do as `wait` does, and let nothing else happen meanwhile."""
        os.close(self.life)
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def fork(name: str, run: RunRole, parent: tuple[int, int] | None = None) -> ForkedProcess:
    """Start a process that does the work of this name and then ends.

    Its standard input is the one end of `parent`, whose other end this process alone holds. Signals
    wait meanwhile: until the child has its own handlers, it would pass them on to our event loop.
    """
    life, alive = os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            _become(name, run, parent)
    except OSError:
        os.close(life)
        raise
    finally:
        os.close(alive)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ForkedProcess(pid, life)


def run_beside(
    name: str, work: Callable[[], None], meanwhile: Callable[[], None], every: float = 10.0
) -> int:
    """Do `work` in a process of its own and `meanwhile` in this one; return the former's status.

    The process does not outlive this call: if we are interrupted, it is asked to end and waited
    for. If we are killed, it ends by itself. `every` so many seconds systemd gives us more time.
    """
    parent = os.pipe()
    child = fork(name, lambda _: _until_parent_ends(work), parent)
    try:
        meanwhile()
        while not select.select([child.life], [], [], every)[0]:  # readable when it has ended
            if address := os.environ.get("NOTIFY_SOCKET"):
                _notify(address, _MORE_TIME)
    finally:
        for end in parent:
            os.close(end)
        status = child.join()
    return status


def _until_parent_ends(work: Callable[[], None]) -> None:
    """Do the work; the end of standard input interrupts it as SIGTERM does."""

    def watch() -> None:
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
    work()


def _become(name: str, run: RunRole, parent: tuple[int, int] | None) -> NoReturn:
    """Do the work in a child, and end it; nothing of it may return into the parent's loop."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, _end)  # until the event loop of the role takes them
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.setsid()
        if parent is not None:
            ends, held = parent
            os.dup2(ends, 0)
            os.close(held)
        with suppress(OSError):
            Path("/proc/self/comm").write_text(f"lw-{name}", encoding="ascii")  # for top and pgrep
        run(name)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - it is the last thing that this process does
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(status)


def _end(*_: object) -> NoReturn:
    sys.exit(0)


def _ending(status: int) -> str:
    """Say how a process ended."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"killed by {name}"


async def notify_systemd(
    is_ready: Callable[[], Awaitable[bool]],
    is_alive: Callable[[], Awaitable[bool]],
    stop: asyncio.Event,
) -> None:
    """Notify systemd, if it waits for that, when we are ready, that we live on, and that we stop.

    If it watches us, it is notified three times as often as it wants, while `is_alive` says so. The
    processes that we start have no part in it.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    if not address:
        return
    stopping = asyncio.create_task(stop.wait())
    for pause in _pauses():
        if stop.is_set() or await is_ready():
            break
        await asyncio.wait([stopping], timeout=pause)
    if not stop.is_set():
        _notify(address, "READY=1")
    within = int(os.environ.get("WATCHDOG_USEC", "0")) / 1_000_000
    while within and not stop.is_set():
        if await is_alive():
            _notify(address, "WATCHDOG=1")
        await asyncio.wait([stopping], timeout=within / 3)
    await stopping
    _notify(address, "STOPPING=1")


def _notify(address: str, state: str) -> None:
    """Send systemd a datagram; `@` stands for the zero byte of an abstract address."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
            line.settimeout(0)  # it is not worth a wait
            line.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
            line.send(state.encode())
    except OSError as error:
        _log.warning("systemd cannot be notified", state=state, why=str(error))
