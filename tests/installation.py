"""A Linewatch installation for tests: real processes, free ports, a state folder of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import httpx

from tests import plain_http
from tests.processes import PROJECT, Process, ProcessOptions, finished, shared_launcher
from tests.waiting import PATIENCE, eventually


def free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens, none of which this process was given lately.

    They lie below the ports that the system hands to outgoing connections, and each worker of the
    tests has a range of its own, so nobody else takes a port before its server listens.
    """
    return list(islice(filter(_is_free, _UNUSED_PORTS), count))


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _ports_of_worker() -> Iterator[int]:
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw7").removeprefix("gw")) % 8
    ports = range(16_000 + worker * 2_000, 18_000 + worker * 2_000)
    start = os.getpid() * 131 % len(ports)  # processes of one run have numbers in a row
    return cycle((*ports[start:], *ports[:start]))


_UNUSED_PORTS: Final = _ports_of_worker()


def listens(port: int) -> bool:
    """Whether a server takes connections on a port of this machine."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def answers(address: str) -> bool:
    """Whether somebody answers HTTP there, and well."""
    try:
        return plain_http.get(address).is_success
    except httpx.HTTPError:
        return False


@dataclass(frozen=True, slots=True)
class Installation:
    """Where an installation lives: its state folder, its ports and its variables."""

    home: Path
    pages_port: int
    serve_port: int
    devnet_port: int
    variables: Mapping[str, str]

    @property
    def pages(self) -> str:
        """The address of the pages."""
        return f"http://127.0.0.1:{self.pages_port}"

    @property
    def serve(self) -> str:
        """The address of both APIs."""
        return f"http://127.0.0.1:{self.serve_port}"

    @property
    def devnet(self) -> str:
        """The address of the simulated chain."""
        return f"http://127.0.0.1:{self.devnet_port}"

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes: ours without Linewatch's own variables."""
        own = {name: text for name, text in os.environ.items() if not name.startswith("LINEWATCH_")}
        return {**own, **self.variables}

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run one `linewatch` command to its end, with `given` on its standard input."""
        return finished(
            [shared_launcher().client, *arguments],
            env=self.environment(),
            input=given,
        )

    @contextmanager
    def role(self, name: str, log: Path) -> Iterator[Process]:
        """Run one role, forked from a process that has imported it, until the end of the block."""
        options = ProcessOptions(self.environment(), log)
        process = shared_launcher().linewatch([name], options)
        try:
            yield process
        finally:
            process.terminate()

    @contextmanager
    def start(self, arguments: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Start a command in the background; afterwards end it and everything that it started."""
        with log.open("ab") as output:
            process = subprocess.Popen(
                arguments,
                env=self.environment(),
                cwd=PROJECT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
            eventually(lambda: not self.processes(), what=f"the end of {self.processes()}")

    def processes(self) -> list[int]:
        """Return the processes that run with this installation's state folder, but for our own."""
        mark = f"LINEWATCH_HOME={self.home}".encode()
        return [
            int(folder.name)
            for folder in Path("/proc").iterdir()
            if folder.name.isdigit()
            and int(folder.name) != os.getpid()
            and mark in _environment_of(folder)
        ]


def new_installation(home: Path, **variables: str) -> Installation:
    """Plan an installation in `home` on free ports; nothing is started yet."""
    pages, serve, devnet = free_ports(3)
    return Installation(
        home=home,
        pages_port=pages,
        serve_port=serve,
        devnet_port=devnet,
        variables={
            "LINEWATCH_HOME": str(home),
            "LINEWATCH_PAGES_PORT": str(pages),
            "LINEWATCH_SERVE_PORT": str(serve),
            "LINEWATCH_DEVNET_PORT": str(devnet),
            **variables,
        },
    )


@contextmanager
def running_pages(folder: Path, **variables: str) -> Iterator[Installation]:
    """Run the pages of a new installation in a folder, which gets their log."""
    installation = new_installation(folder / "home", **variables)
    installation.run("migrate")
    with installation.role("pages", folder / "log"):
        eventually(lambda: answers(f"{installation.pages}/live"), what="the start of the pages")
        yield installation


def command(*arguments: str) -> list[str]:
    """Return the command line of `linewatch` with these arguments."""
    return [sys.executable, "-m", "dashboard.cli.main", *arguments]


def _environment_of(folder: Path) -> list[bytes]:
    """Return the variables of a process, none where it has ended."""
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
