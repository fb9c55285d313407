"""Starts commands in an instant: forked from this process, which has imported Linewatch already.

Run as `python -m tests.launcher DOOR`. `tests.processes` writes orders to its standard input and
reads what became of them, each a line of JSON. What `CLIENT` says is the command `linewatch` for
everybody else: it hands its arguments, its variables and its standard streams to the launcher over
the socket DOOR, and ends as the command does. The launcher ends with its standard input, and
whatever it started ends with it.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import os
import pwd
import random
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from dashboard.cli.main import linewatch
from dashboard.cli.main import main as run_linewatch
from tests.faults.controlled_disk import let_kernel_ask
from tests.faults.kill_points import die_at

_MODULES: Final = (
    "dashboard.wiring.serve",
    "dashboard.wiring.worker",
    "dashboard.store.maintenance.migrate",
)
_LATER: Final = "dashboard.wiring.pages"
"""What takes seconds and much memory, hence is imported once a test serves pages."""

_PR_SET_PDEATHSIG: Final = 1
_BEYOND_STREAMS: Final = 64
_UNWRITTEN: Final = 120
"""As Python ends where its last output cannot be written."""


CLIENT: Final = """\
import json, os, resource, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(DOOR)
order = {
    "arguments": sys.argv[1:],
    "variables": dict(os.environ),
    "folder": os.getcwd(),
    "largest_file": resource.getrlimit(resource.RLIMIT_FSIZE),
}
socket.send_fds(line, [b"x"], [0, 1, 2])
line.sendall(json.dumps(order).encode() + b"\\n")
code = line.recv(1)
sys.exit(code[0] if code else 1)
"""


def main(door: str) -> None:
    """Obey until standard input ends."""
    for module in (*_MODULES, *_modules_of_commands()):
        import_module(module)
    gc.freeze()  # else a collection in each fork would copy what they share
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    running: set[int] = set()
    with socket.socket(socket.AF_UNIX) as clients:
        clients.bind(door)
        clients.listen(64)
        _tell({"ready": 1})
        try:
            for order in _orders(wake, clients, running):
                if "kill" in order:
                    if order["kill"] in running:
                        os.kill(order["kill"], order["signal"])
                else:
                    running.add(_start(order))
        finally:
            for pid in running:
                os.kill(pid, signal.SIGKILL)


def _modules_of_commands() -> set[str]:
    return {f"dashboard.cli.{linewatch.module_of(each)}" for each in linewatch.lazy}


def _orders(wake: int, clients: socket.socket, running: set[int]) -> Iterator[dict[str, Any]]:
    """Yield what is ordered, and tell meanwhile which processes have ended."""
    rest = b""
    while True:
        ready, _, _ = select.select([0, wake, clients.fileno()], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _tell_ended(running)
        if clients.fileno() in ready:
            _serve_client(clients)
        if 0 in ready:
            text = os.read(0, 65536)
            if not text:
                return
            *lines, rest = (rest + text).split(b"\n")
            yield from map(json.loads, lines)


def _serve_client(clients: socket.socket) -> None:
    """Fork what runs a client's command and tells it the exit code; nobody else waits for it."""
    line, _ = clients.accept()
    with line:
        if os.fork() == 0:
            _, streams, _, _ = socket.recv_fds(line, 1, 3)
            with line.makefile("rb") as written:
                order = json.loads(written.readline())
            answer = fcntl.fcntl(line, fcntl.F_DUPFD_CLOEXEC, _BEYOND_STREAMS)
            code = _code_of(order | {"streams": streams})
            os.write(answer, bytes([code]))
            os._exit(code)


def _tell_ended(running: set[int]) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in running:
                running.discard(pid)
                _tell({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def _start(order: dict[str, Any]) -> int:
    if module := order.get("module") or (order["arguments"] == ["pages"] and _LATER):
        import_module(module)
        gc.freeze()
    pid = os.fork()
    if pid == 0:
        os._exit(_code_of(order))
    _tell({"started": pid})
    return pid


def _code_of(order: dict[str, Any]) -> int:
    """Be the ordered command to its end; nothing of it may return into the launcher's loop."""
    code = 1
    try:
        code = _become(order)
    except BaseException:  # noqa: BLE001 - it is the last thing that this process does
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or _UNWRITTEN
    return code


def _become(order: dict[str, Any]) -> int:
    """Be the ordered command; return its exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _redirect(order.get("streams") or _files(order["log"]))
    os.environ.clear()
    os.environ.update(order["variables"])
    random.seed()
    if folder := order.get("folder"):
        os.chdir(folder)
    if largest := order.get("largest_file"):
        resource.setrlimit(resource.RLIMIT_FSIZE, largest)
    if user := order.get("user"):
        _be(user)
    if disk := order.get("disk"):
        let_kernel_ask(disk)
    if program := order.get("program"):
        os.execve(program, order["arguments"], order["variables"])  # noqa: S606 - that is its task
    if trap := order.get("trap"):
        die_at(trap)
    if module := order.get("module"):
        import_module(module).main(*order["arguments"])
        return 0
    return _run(order["arguments"])


def _files(log: str) -> tuple[int, int, int]:
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return os.open(os.devnull, os.O_RDONLY), output, output


def _redirect(streams: Sequence[int]) -> None:
    """Take these for standard input, output and errors, and close all else."""
    for target, source in enumerate(streams):
        os.dup2(source, target)
    os.closerange(3, _BEYOND_STREAMS)
    # Anew, since those of the launcher remember what kind of file they had.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(
        2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def _be(user: str) -> None:
    """Be another user, as servers want it that refuse to be root."""
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def _run(arguments: list[str]) -> int:
    sys.argv = ["linewatch", *arguments]
    try:
        run_linewatch()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _tell(news: dict[str, int]) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
