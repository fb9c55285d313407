"""The scene of a benchmark: the archive, the cores, how long, and each server that takes part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tests.bench.archive import Archive
from tests.bench.processes import Server, cores, free_port, started
from tests.bench.truth import NETWORK

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

[networks.benchmarked]
network_id = {NETWORK}
title = "Benchmarked"
"""
_NODE: Final = 'node = {{ url = "{}" }}\n'


@dataclass(frozen=True, slots=True)
class Scene:
    """What every case needs to know; `rounds` of `seconds` for each contender."""

    archive: Archive
    rounds: int
    seconds: float

    @contextmanager
    def ours(self, node: str = "") -> Iterator[Server]:
        """Run ``linewatch serve`` as operators do, reading fees from `node` where one is given."""
        with self._configured("linewatch serve", "dashboard.cli.main", "serve", node=node) as it:
            yield it

    @contextmanager
    def hello(self, node: str = "") -> Iterator[Server]:
        """Run the same with an answer that never changes."""
        with self._configured("hello world", "tests.bench.peers.hello", "serve", node=node) as it:
            yield it

    @contextmanager
    def peer(self, name: str, module: str, *arguments: str) -> Iterator[Server]:
        """Run a server of `tests.bench.peers` on the archive's file."""
        port = free_port()
        command = [f"tests.bench.peers.{module}", str(port), str(self.archive.file), KEY]
        with started(name, [*command, *arguments], cores()[0], {}, port) as server:
            yield server

    @contextmanager
    def node(self) -> Iterator[Server]:
        """Run the node of the gas benchmark, where it is in nobody's way."""
        port = free_port()
        with started("node", ["tests.bench.peers.node", str(port)], cores()[1], {}, port) as server:
            yield server

    @contextmanager
    def _configured(self, name: str, *module: str, node: str) -> Iterator[Server]:
        settings = _SETTINGS + (_NODE.format(node) if node else "")
        (self.archive.home / "linewatch.toml").write_text(settings, encoding="utf-8")
        port = free_port()
        variables = {"LINEWATCH_HOME": str(self.archive.home), "LINEWATCH_SERVE_PORT": str(port)}
        with started(name, module, cores()[0], variables, port) as server:
            yield server
