"""Keeps tests on this machine, in every Python process that they start: nothing leaves unseen.

Python imports a module of this name by itself at its start, where its folder is on PYTHONPATH.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Final

LOG: Final = "LEFT_THE_MACHINE"
"""The variable that names the file where attempts are noted."""

_TO_ADDRESS: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKUPS: Final = frozenset(
    {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
)


class Guard:
    """An audit hook that refuses and notes whatever would leave this machine."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._own_name = socket.gethostname()

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Look at one event; its arguments are those of the call."""
        if event in _TO_ADDRESS:
            place = arguments[1]
            if not isinstance(place, tuple) or not isinstance(place[0], str):
                return  # a socket in the file system, or of the kernel
            if self._is_near(place[0]):
                return
        elif event not in _LOOKUPS or self._is_found_here(arguments[0]):
            return
        else:
            place = arguments[0]
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"{event} {place!r} in {sys.argv}\n")
        raise OSError(errno.ENETUNREACH, f"tests stay on this machine: {event} {place!r}")

    def _is_near(self, host: str) -> bool:
        """Whether a packet for a host stays here; one for no address at all does."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return host in {"", "localhost"}
        return address.is_loopback or address.is_unspecified

    def _is_found_here(self, host: object) -> bool:
        """Whether a name is known without asking anybody: an address needs no look-up."""
        if isinstance(host, tuple):
            return True  # of getnameinfo, with whose numbers servers name their clients
        if not isinstance(host, str | bytes):
            return host is None
        name = host.decode() if isinstance(host, bytes) else host
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            return name in {"", "localhost", self._own_name}
        return True


if LOG in os.environ:
    sys.addaudithook(Guard(Path(os.environ[LOG])))
