"""Starts commands in an instant: forked from this process, which has imported Linewatch already.

Run as `python -m tests.faults.launcher`; `tests.faults.processes` writes orders to its standard
input and reads what became of them, each a line of JSON. It ends with that pipe, and whatever it
started ends with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import pwd
import random
import select
import signal
import sys
import traceback
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from tests.faults.controlled_disk import let_kernel_ask
from tests.faults.kill_points import die_at

_MODULES: Final = (
    "dashboard.wiring.serve",
    "dashboard.wiring.worker",
    "dashboard.cli.run",
    "dashboard.cli.main",
)
_PR_SET_PDEATHSIG: Final = 1


def main() -> None:
    """Obey until standard input ends."""
    for module in _MODULES:
        import_module(module)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    running: set[int] = set()
    try:
        for order in _orders(wake, running):
            if "kill" in order:
                if order["kill"] in running:
                    os.kill(order["kill"], order["signal"])
            else:
                running.add(_start(order))
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


def _orders(wake: int, running: set[int]) -> Iterator[dict[str, Any]]:
    """Yield what is ordered, and tell meanwhile which processes have ended."""
    rest = b""
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _tell_ended(running)
        if 0 in ready:
            text = os.read(0, 65536)
            if not text:
                return
            *lines, rest = (rest + text).split(b"\n")
            yield from map(json.loads, lines)


def _tell_ended(running: set[int]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        running.discard(pid)
        _tell({"ended": pid, "code": os.waitstatus_to_exitcode(status)})


def _start(order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = _become(order)
        except BaseException:  # noqa: BLE001 - nothing of the child may return into the parent's loop
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    _tell({"started": pid})
    return pid


def _become(order: dict[str, Any]) -> int:
    """Be the ordered command; return its exit code."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _redirect(order["log"])
    os.environ.clear()
    os.environ.update(order["variables"])
    random.seed()
    if user := order.get("user"):
        _be(user)
    if disk := order.get("disk"):
        let_kernel_ask(disk)
    if program := order.get("program"):
        os.execve(program, order["arguments"], order["variables"])  # noqa: S606 - that is its task
    if trap := order.get("trap"):
        die_at(trap)
    return _run(order["arguments"])


def _redirect(log: str) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.closerange(3, 64)


def _be(user: str) -> None:
    """Be another user, as servers want it that refuse to be root."""
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)


def _run(arguments: list[str]) -> int:
    from dashboard.cli.main import main as linewatch  # noqa: PLC0415 - imported already

    sys.argv = ["linewatch", *arguments]
    try:
        linewatch()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _tell(news: dict[str, int]) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


if __name__ == "__main__":
    main()
