"""The scene of a benchmark: the archive, the cores, how long, and each server that takes part."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.bench.archive import Archive, made_archive
from tests.bench.expected_replies import NETWORK
from tests.bench.processes import Server, cores, free_port, started

KEY: Final = "the-key-of-the-benchmarks"
SECRET: Final = "the-secret-of-the-benchmarks"
RPC: Final = f"/v3/{KEY}"
WEBSOCKET: Final = f"/ws/v3/{KEY}"
GAS: Final = f"{RPC}/networks/{NETWORK}"

# All clients of a benchmark come from one address; every limit stays on, but out of their way.
_SETTINGS: Final = f"""\
[serve]
largest_connections = 5000
largest_connections_per_address = 5000

[serve.keys.benchmarks]
key = "{KEY}"
secret = "{SECRET}"
rate = "10000000/s"

[networks.benchmarked]
network_id = {NETWORK}
title = "Benchmarked"
"""


@dataclass(frozen=True)  # without slots: the archive is kept beside the fields
class Scene:
    """What every case needs to know; `rounds` of `seconds` for each contender.

    Archives lie in `folder` and hold `stored` rejections; histories of fees are `days` long.
    """

    folder: Path
    stored: int
    day: datetime
    rounds: int
    seconds: float
    days: int

    @cached_property
    def archive(self) -> Archive:
        """The archive of the day, made when the first case needs it."""
        return made_archive(self.folder, self.stored, self.day)

    @contextmanager
    def ours(self, more: str = "", core: int | None = None) -> Iterator[Server]:
        """Run ``linewatch serve`` as operators do, with `more` settings of its network."""
        command = ("dashboard.cli.main", "serve")
        with self._configured("linewatch serve", command, more, core) as server:
            yield server

    @contextmanager
    def hello(self, more: str = "") -> Iterator[Server]:
        """Run the same with an answer that never changes."""
        command = ("tests.bench.peers.hello", "serve")
        with self._configured("hello world", command, more, None) as server:
            yield server

    @contextmanager
    def peer(
        self, name: str, module: str, core: int | None = None, file: Path | None = None
    ) -> Iterator[Server]:
        """Run a program of `tests.bench.peers` on the archive's file, on the servers' core."""
        port = free_port()
        command = [f"tests.bench.peers.{module}", str(port), str(file or self.archive.file), KEY]
        with started(name, command, cores()[0] if core is None else core, {}, port) as server:
            yield server

    @contextmanager
    def _configured(
        self, name: str, command: Sequence[str], more: str, core: int | None
    ) -> Iterator[Server]:
        port = free_port()
        chosen = cores()[0] if core is None else core
        with TemporaryDirectory() as home:
            (Path(home) / "linewatch.toml").write_text(_SETTINGS + more, encoding="utf-8")
            variables = {
                "LINEWATCH_HOME": home,
                "LINEWATCH_STORE_URL": f"sqlite:///{self.archive.file}",
                "LINEWATCH_SERVE_PORT": str(port),
            }
            _join(variables)
            with started(name, command, chosen, variables, port) as server:
                yield server


def _join(variables: Mapping[str, str]) -> None:
    """Let a new state folder work on the archive, which lies outside of it."""
    join = [sys.executable, "-m", "dashboard.cli.main", "join"]
    subprocess.run(join, env={**os.environ, **variables}, check=True, stdout=subprocess.DEVNULL)
