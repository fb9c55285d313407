"""Real processes that start in an instant, forked by a launcher; to be killed again and again."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import IO, Any

from tests.canaries import canaries_in
from tests.launcher import CLIENT
from tests.waiting import PATIENCE

PROJECT = Path(__file__).parents[1]


def finished(arguments: Sequence[str | Path], **more: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - what subprocess.run takes
    """Run a program to its end, and return what it printed."""
    return subprocess.run(
        arguments, capture_output=True, text=True, timeout=PATIENCE, check=False, **more
    )


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """What a process is started with; `extra` orders traps and disks of the launcher."""

    variables: Mapping[str, str]
    log: Path
    extra: Mapping[str, str] = field(default_factory=dict)


class Process:
    """One process that the launcher started."""

    def __init__(self, launcher: Launcher, pid: int, log: Path) -> None:
        self.pid = pid
        self.ended = threading.Event()
        self.code = 0
        self._launcher = launcher
        self._log = log

    def kill(self) -> None:
        """End it as a power cut of its own would; it has ended when this returns."""
        self.signal(signal.SIGKILL)
        assert self.ended.wait(PATIENCE), f"process {self.pid} survives a kill"
        self._check_log()

    def terminate(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.signal(signal.SIGTERM)
        assert self.ended.wait(PATIENCE), f"it does not stop: {self.last_lines()}"
        self._check_log()
        return self.code

    def _check_log(self) -> None:
        """Fail where a process wrote a secret of the tests into its log."""
        with suppress(OSError):
            assert canaries_in(self._log.read_bytes()) == []

    def signal(self, number: int) -> None:
        """Send a signal, which reaches nobody else where it has ended."""
        self._launcher.order({"kill": self.pid, "signal": int(number)})

    def last_lines(self) -> str:
        """Return the end of its log, for messages."""
        return last_lines(self._log)


class Launcher:
    """Starts processes one after the other; used by many threads."""

    def __init__(self, given: IO[bytes], told: IO[bytes], client: Path) -> None:
        """Talk over these pipes; `client` is a program that is `linewatch` for everybody else."""
        self.client = client
        self._given = given
        self._told = told
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._started: SimpleQueue[Process] = SimpleQueue()
        self._processes: dict[int, Process] = {}
        self._logs: SimpleQueue[Path] = SimpleQueue()
        self._is_ready = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        assert self._is_ready.wait(PATIENCE), "the launcher does not start"

    def linewatch(self, arguments: Sequence[str], process_options: ProcessOptions) -> Process:
        """Start `linewatch` with these arguments."""
        return self._start({"arguments": list(arguments)}, process_options)

    def program(self, command: Sequence[str], process_options: ProcessOptions) -> Process:
        """Start another program, named by its whole path."""
        return self._start({"program": command[0], "arguments": list(command)}, process_options)

    def module(
        self, name: str, arguments: Sequence[str], process_options: ProcessOptions
    ) -> Process:
        """Call `main` of a module of the tests, which the launcher imports once."""
        return self._start({"module": name, "arguments": list(arguments)}, process_options)

    def order(self, order: Mapping[str, Any]) -> None:
        """Write one order down for the launcher."""
        with self._lock:
            self._given.write(json.dumps(order).encode() + b"\n")
            self._given.flush()

    def close(self) -> None:
        """End everything that was started."""
        self._given.close()
        self._listener.join()

    def running(self) -> list[Process]:
        """Return what was started and has not ended."""
        return list(self._processes.values())

    def _start(self, what: dict[str, Any], process_options: ProcessOptions) -> Process:
        how = {"variables": dict(process_options.variables), "log": str(process_options.log)}
        with self._starting:
            self._logs.put(process_options.log)
            self.order(what | how | dict(process_options.extra))
            return self._started.get(timeout=PATIENCE)

    def _listen(self) -> None:
        for line in self._told:
            news = json.loads(line)
            if "ready" in news:
                self._is_ready.set()
            elif "started" in news:
                process = Process(self, news["started"], self._logs.get())
                self._processes[process.pid] = process
                self._started.put(process)
            else:
                process = self._processes.pop(news["ended"])
                process.code = news["code"]
                process.ended.set()


@cache
def shared_launcher() -> Launcher:
    """Return the launcher of this process, which imports Linewatch once for all its tests."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(_launcher_of(PROJECT))


@contextmanager
def launching(project: Path = PROJECT) -> Iterator[Launcher]:
    """Yield a launcher of the code in a folder; what it started meanwhile is killed at the end."""
    if project != PROJECT:
        with _launcher_of(project) as launcher:
            yield launcher
        return
    launcher = shared_launcher()
    before = launcher.running()
    try:
        yield launcher
    finally:
        for process in launcher.running():
            if process not in before:
                process.kill()


@contextmanager
def _launcher_of(project: Path) -> Iterator[Launcher]:
    with (
        TemporaryDirectory(prefix="launcher-") as folder,
        subprocess.Popen(
            [sys.executable, "-m", "tests.launcher", f"{folder}/door"],
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        client = Path(folder, "linewatch")
        # Neither site-packages nor the guard: the launcher has them.
        client.write_text(f"#!{sys.executable} -IS\nDOOR = {folder + '/door'!r}\n{CLIENT}")
        client.chmod(0o755)
        launcher = Launcher(process.stdin, process.stdout, client)
        try:
            yield launcher
        finally:
            launcher.close()


def last_lines(log: Path) -> str:
    """Return the end of a log, if there is one."""
    with suppress(OSError):
        return log.read_text(encoding="utf-8", errors="replace")[-1500:]
    return ""
