"""Servers under a benchmark: a process each, pinned to a core, with its time and its memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from tests.installation import free_ports, listens
from tests.waiting import eventually

PROJECT: Final = Path(__file__).parents[2]

_LOOKS: Final = 10
"""How often in a row, 20 ms apart, a server is seen idle before it counts as settled."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server; `started_in` are seconds from its spawn until it took a connection."""

    name: str
    port: int
    pid: int
    started_in: float

    def cpu_seconds(self) -> float:
        """Return how long its threads have run, in the kernel too."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        spent = (int((task / "schedstat").read_text().split()[0]) for task in tasks)
        return sum(spent) / 1e9

    def process_seconds(self) -> float:
        """Return the same with the threads that have ended, in steps of a clock tick."""
        text = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        user, system = text.rpartition(") ")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def is_working(self) -> bool:
        """Whether any of its threads runs, waits for a core, or waits for the disk."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        states = ((task / "stat").read_text().rpartition(") ")[2][0] for task in tasks)
        return any(state in "RD" for state in states)

    def memory(self) -> Memory:
        """Return how much memory it has now, and had at most."""
        rollup, status = (_sizes(self.pid, name) for name in ("smaps_rollup", "status"))
        return Memory(rollup["Rss"], rollup["Pss"], status["VmHWM"])

    def forget_peak(self) -> None:
        """Let the most that it had count from now on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")


class Memory(NamedTuple):
    """Bytes of a process: in memory now, with what it shares divided among the sharers, at most."""

    resident: int
    proportional: int
    peak: int


def _sizes(pid: int, file: str) -> dict[str, int]:
    text = Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")
    found = re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    return {name: int(kilobytes) * 1024 for name, kilobytes in found}


def cores() -> tuple[int, int]:
    """Return the core of the server under test and that of everything else; one may be both."""
    usable = sorted(os.sched_getaffinity(0) | _pinned_away)
    return usable[0], usable[-1]


_pinned_away: Final[set[int]] = set()


def pin_to(core: int) -> None:
    """Keep this process on one core."""
    _pinned_away.update(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})


def unpin() -> None:
    """Let this process, and those that it starts, run on every core again."""
    os.sched_setaffinity(0, os.sched_getaffinity(0) | _pinned_away)


@contextmanager
def started(
    name: str, module: Sequence[str], core: int, variables: Mapping[str, str], port: int
) -> Iterator[Server]:
    """Run ``python -m`` on one core and go on when it listens on `port`; end it afterwards."""
    begun = time.perf_counter()
    with running(module, core, variables) as process:
        eventually(lambda: _listens(process, port), what=f"the start of {name}")
        yield Server(name, port, process.pid, time.perf_counter() - begun)


@contextmanager
def running(
    module: Sequence[str], core: int, variables: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``python -m`` on one core; end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", *module],
        cwd=PROJECT,
        env={**_environment(), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        os.sched_setaffinity(process.pid, {core})
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def settle(server: Server) -> None:
    """Wait until a server has done what it does at its start, such as reading what is on record."""
    quiet = 0

    def is_idle() -> bool:
        nonlocal quiet
        quiet = 0 if server.is_working() else quiet + 1
        return quiet == _LOOKS

    eventually(is_idle, what=f"the rest of {server.name} after its start")


def free_port() -> int:
    """Return a port on which nothing listened a moment ago."""
    return free_ports(1)[0]


def _environment() -> dict[str, str]:
    return {name: text for name, text in os.environ.items() if not name.startswith("LINEWATCH_")}


def _listens(process: subprocess.Popen[bytes], port: int) -> bool:
    if process.poll() is not None:
        msg = f"{process.args!r} ended with status {process.returncode}"
        raise RuntimeError(msg)
    return listens(port)
