"""Real `linewatch serve` processes on a prepared store, to be killed, stopped and started again."""

from __future__ import annotations

import http.client
import json
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from dashboard.store.migrate import migrate
from tests.installation import PROJECT, command, free_ports, new_installation
from tests.waiting import eventually

KEY: Final = "dev"
"""The development key, which a serve without configuration takes."""
GET: Final = "chain_getTransactionExclusionStatusV1"
SAVE: Final = "chain_saveRejectedTransactionV1"
_LARGEST_BATCH: Final = 1000


class House:
    """One store and the serve processes on it."""

    def __init__(self, home: Path, doors: int = 1) -> None:
        """Make the store; each of the `doors` is a port at which a process may serve it."""
        home.mkdir(parents=True)
        self.store = home / "linewatch.sqlite"
        migrate(f"sqlite:///{self.store}")
        self._environment = new_installation(home).environment()
        self.servers = [Server(port, self._environment, home) for port in free_ports(doors)]

    def close(self) -> None:
        """End every process at once."""
        for server in self.servers:
            server.kill()


class Server:
    """A serve process that is started again and again on one port."""

    def __init__(self, port: int, environment: dict[str, str], home: Path) -> None:
        """Start nothing yet."""
        self.port = port
        self._environment = environment | {"LINEWATCH_SERVE_PORT": str(port)}
        self._log = home / f"serve-{port}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process that serves now."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start without waiting; it ends with us, since it reads the pipe that we hold."""
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                command("serve", "--until-stdin-closes"),
                env=self._environment,
                cwd=PROJECT,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )

    def wait_until_ready(self) -> None:
        """Wait until it accepts connections."""
        eventually(self._accepts, within=60, what=f"the start of serve ({self.last_lines()})")

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._reap(10)

    def terminate(self, within: float) -> int:
        """Ask it to stop, and return its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._reap(within)

    def call(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Make calls in one batch over a connection of their own."""
        with connected(self.port) as connection:
            replies: list[dict[str, Any]] = post(connection, list(calls))
            return replies

    def last_lines(self) -> str:
        """Return the end of its log, for messages."""
        with suppress(OSError):
            return self._log.read_text(encoding="utf-8", errors="replace")[-500:]
        return ""

    def _accepts(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"serve ended by itself: {self.last_lines()}"
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def _reap(self, within: float) -> int:
        assert self._process is not None
        code = self._process.wait(within)
        pipe: IO[bytes] | None = self._process.stdin
        if pipe is not None:
            pipe.close()
        self._process = None
        return code


@contextmanager
def open_house(home: Path, doors: int = 1) -> Iterator[House]:
    """Yield a new store with a process serving it at each of the doors; end them all."""
    house = House(home, doors)
    try:
        for server in house.servers:
            server.start()
        for server in house.servers:
            server.wait_until_ready()
        yield house
    finally:
        house.close()


@contextmanager
def connected(port: int) -> Iterator[http.client.HTTPConnection]:
    """Yield a connection over which calls are posted."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
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
    """Return one call."""
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
