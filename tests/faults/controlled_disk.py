"""A disk that fails when it is told: the kernel asks us about every call that writes to it.

A process that was started with `let_kernel_ask` is stopped by the kernel at each such call, and
the `ControlledDisk` of the test says whether it goes on or gets an error (seccomp's user
notification). So real programs meet a full, a broken and a read-only disk without a device, a mount
or a right.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import tempfile
import threading
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final, Self

_X86: Final = platform.machine() in ("x86_64", "AMD64")
_SECCOMP: Final = 317 if _X86 else 277
_OPENAT: Final = 257 if _X86 else 56
_BY_DESCRIPTOR: Final = (
    {"write": 1, "pwrite64": 18, "fsync": 74, "fdatasync": 75, "ftruncate": 77, "fallocate": 285}
    if _X86
    else {"write": 64, "pwrite64": 68, "fsync": 82, "fdatasync": 83, "ftruncate": 46}
    | {"fallocate": 47}
)
_NAMES: Final = {number: name for name, number in _BY_DESCRIPTOR.items()} | {_OPENAT: "openat"}

_ROOM: Final = frozenset({"write", "pwrite64", "ftruncate", "fallocate"})
FAILING: Final = {
    errno.ENOSPC: _ROOM,
    errno.EIO: _ROOM | {"fsync", "fdatasync"},
    errno.EROFS: _ROOM | {"openat"},
}
"""The calls that each error belongs to; a read-only file system has nothing to sync."""

_NEW_LISTENER: Final = 8
_GO_ON: Final = 1
_RECEIVE: Final = 0xC0502100
_SEND: Final = 0xC0182101
_NOTICE: Final = struct.Struct("QIIiIQ6Q")
_REPLY: Final = struct.Struct("QqiI")
_LONGEST_PATH: Final = 4096


def let_kernel_ask(address: str) -> None:
    """Have the kernel ask whoever listens at the address, from now on and in all children."""
    numbers = list(_NAMES)
    jumps = [(0x15, len(numbers) - i, 0, number) for i, number in enumerate(numbers)]
    code = [(0x20, 0, 0, 0), *jumps, (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x7FC00000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in code))
    filter_ = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))
    system = ctypes.CDLL(None, use_errno=True)
    system.prctl(38, 1, 0, 0, 0)  # no new privileges, so that everybody may
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        listener = system.syscall(_SECCOMP, 1, _NEW_LISTENER, ctypes.create_string_buffer(filter_))
        if listener < 0:
            raise OSError(ctypes.get_errno(), "the kernel lets nobody ask")
        socket.send_fds(line, [b"x"], [listener])
        os.close(listener)


class ControlledDisk:
    """The disk below one folder, as the processes see it that were started with its address."""

    def __init__(self, folder: Path) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="disk-")  # an address has 100 signs
        Path(self._place.name).chmod(0o755)
        self.address = f"{self._place.name}/asked"
        self.refused: Counter[str] = Counter()
        self._folder = f"{folder.resolve()}/"
        self._failing = self._folder
        self._error = 0
        self._share = 1.0
        self._chance = Random(1)  # noqa: S311 - no secret
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(self.address)
        Path(self.address).chmod(0o777)
        self._door.listen()
        threading.Thread(target=self._admit, daemon=True).start()

    def fail(self, error: int, share: float, chance: Random, below: str = "") -> None:
        """Answer with this error from now on, all calls or by chance a share of them.

        With `below`, only what lies there fails.
        """
        self._chance = chance
        self._share = share
        self._failing = f"{self._folder}{below}"
        self.refused.clear()
        self._error = error

    def recover(self) -> None:
        self._error = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let no further process in; those that were are to have ended."""
        self.recover()
        self._door.close()
        self._place.cleanup()

    def _admit(self) -> None:
        while True:
            try:
                line, _ = self._door.accept()
            except OSError:
                return
            with line:
                _, [listener], _, _ = socket.recv_fds(line, 1, 1)
            threading.Thread(target=self._answer, args=(listener,), daemon=True).start()

    def _answer(self, listener: int) -> None:
        """Answer for one process and all that it forks, until the last has ended."""
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        while not any(mask & select.POLLHUP for _, mask in poll.poll()):
            notice = bytearray(_NOTICE.size)
            try:
                fcntl.ioctl(listener, _RECEIVE, notice)
                error = self._error_for(notice)
                reply = (0, -error, 0) if error else (0, 0, _GO_ON)
                number = struct.unpack_from("Q", notice)[0]
                fcntl.ioctl(listener, _SEND, bytearray(_REPLY.pack(number, *reply)))
            except OSError:
                continue  # it was killed meanwhile
        os.close(listener)

    def _error_for(self, notice: bytearray) -> int:
        error = self._error
        if not error:
            return 0
        _, task, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        name = _NAMES[number]
        if name not in FAILING[error] or self._chance.random() >= self._share:
            return 0
        if not _path(task, name, arguments).startswith(self._failing):
            return 0
        self.refused[name] += 1
        return error


def _path(task: int, name: str, arguments: list[int]) -> str:
    """Return what file the call is about; none where it opens one for reading only."""
    if name != "openat":
        return str(Path(f"/proc/{task}/fd/{arguments[0]}").readlink())
    if not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        return ""
    with Path(f"/proc/{task}/mem").open("rb", buffering=0) as memory:
        memory.seek(arguments[1])
        return os.fsdecode(memory.read(_LONGEST_PATH).split(b"\0")[0])
