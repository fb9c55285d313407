"""Real `linewatch serve` processes on a prepared store, to be killed, stopped and started again."""

from __future__ import annotations

import http.client
import json
import resource
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dashboard.store.maintenance.migrate import migrate
from tests.installation import free_ports, listens, new_installation
from tests.processes import Launcher, Process, ProcessOptions, last_lines, launching
from tests.waiting import PATIENCE, eventually

KEY: Final = "dev"
"""The development key, which a serve without configuration takes."""
GET: Final = "chain_getTransactionExclusionStatusV1"
SAVE: Final = "chain_saveRejectedTransactionV1"
_LARGEST_BATCH: Final = 1000


class ServeHome:
    """One store and the serve processes on it."""

    def __init__(self, home: Path, launcher: Launcher, doors: int = 1, **variables: str) -> None:
        """Make the store; each of the `doors` is a port at which a process may serve it.

        `variables` are settings of those processes.
        """
        home.mkdir(parents=True)
        self.store = home / "linewatch.sqlite"
        self.url = variables.get("LINEWATCH_STORE_URL", f"sqlite:///{self.store}")
        migrate(self.url)
        environment = new_installation(home, **variables).environment()
        self.servers = [Server(port, environment, home, launcher) for port in free_ports(doors)]

    def close(self) -> None:
        """End every process at once."""
        for server in self.servers:
            server.kill()


class Server:
    """A serve process that is started again and again on one port."""

    def __init__(
        self, port: int, variables: dict[str, str], home: Path, launcher: Launcher
    ) -> None:
        self.port = port
        self._variables = variables | {"LINEWATCH_SERVE_PORT": str(port)}
        self.log = home / f"serve-{port}.log"
        self._launcher = launcher
        self._process: Process | None = None

    @property
    def runs(self) -> bool:
        """Whether a process was started that nobody ended."""
        return self._process is not None

    @property
    def process(self) -> Process:
        """The process that serves now."""
        assert self._process is not None
        return self._process

    def start(self, **extra: str) -> None:
        """Start without waiting; `extra` orders traps and disks of the launcher."""
        process_options = ProcessOptions(self._variables, self.log, extra)
        self._process = self._launcher.linewatch(["serve"], process_options)

    def wait_until_ready(self) -> None:
        """Wait until it accepts connections."""
        eventually(self._accepts, what=f"the start of serve ({self.last_lines()})")

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def terminate(self) -> int:
        """Ask it to stop, and return its exit code."""
        code = self.process.terminate()
        self._process = None
        return code

    def call(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Make calls in one batch over a connection of their own."""
        with connected(self.port) as connection:
            replies: list[dict[str, Any]] = post(connection, list(calls))
            return replies

    def last_lines(self) -> str:
        """Return the end of its log, for messages."""
        return last_lines(self.log)

    def _accepts(self) -> bool:
        assert not self.process.ended.is_set(), f"serve ended by itself: {self.last_lines()}"
        return listens(self.port)


@contextmanager
def open_serve_home(home: Path, doors: int = 1, **variables: str) -> Iterator[ServeHome]:
    """Yield a new store with a process serving it at each of the doors; end them all."""
    with launching() as launcher:
        serve_home = ServeHome(home, launcher, doors, **variables)
        for server in serve_home.servers:
            server.start()
        for server in serve_home.servers:
            server.wait_until_ready()
        yield serve_home


@contextmanager
def connected(port: int) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection over which calls are posted."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection
    finally:
        connection.close()


def post(connection: http.client.HTTPConnection, message: Any) -> Any:  # noqa: ANN401 - any JSON
    """Post one message and return the answer."""
    headers = {"Content-Type": "application/json"}
    connection.request("POST", f"/v3/{KEY}", json.dumps(message), headers)
    return json.loads(connection.getresponse().read())


def a_call(method: str, params: object, request_id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def records_of(server: Server, hashes: Sequence[str]) -> dict[str, Any]:
    """Ask for all these hashes; return what is answered of each."""
    answers: dict[str, Any] = {}
    for start in range(0, len(hashes), _LARGEST_BATCH):
        asked = hashes[start : start + _LARGEST_BATCH]
        replies = server.call([a_call(GET, [each], i) for i, each in enumerate(asked)])
        answers |= {asked[reply["id"]]: reply["result"] for reply in replies}
    return answers


def limit_files(pid: int, size: int) -> None:
    """Let a process write no file beyond this size, as on a disk that is full."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
