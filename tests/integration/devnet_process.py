"""A devnet as a process of its own, which prints its port; its argument is a folder."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from dashboard.devnet.chain import Chain
from dashboard.devnet.genesis import open_genesis
from dashboard.devnet.methods import build_app
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


def utc_now() -> datetime:
    return datetime.now(UTC)


def run(folder: Path) -> None:
    """Serve until the process is killed."""
    chain = Chain(open_genesis(folder, 7, utc_now))
    app = build_app(chain, utc_now)
    chain.block(chain.head(utc_now()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sys.stdout.write(f"{listener.getsockname()[1]}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_config=None, log_level="warning", lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


@dataclass
class DevnetProcess:
    """A running devnet."""

    url: str
    client: httpx.Client

    def reply(self, method: str, *params: object) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = self.client.post(self.url, json=call).json()
        return answer

    def ask(self, method: str, *params: object) -> Any:  # noqa: ANN401 - whatever it says
        reply = self.reply(method, *params)
        assert "error" not in reply, reply
        return reply["result"]

    def block(self, tag: str) -> Any:  # noqa: ANN401 - whatever it says
        return self.ask("eth_getBlockByNumber", tag, False)  # noqa: FBT003 - JSON-RPC has no names


@contextmanager
def running_devnet(folder: Path) -> Iterator[DevnetProcess]:
    """Yield a devnet on a free port; at the end it is killed, without a chance to tidy up."""
    command = [sys.executable, "-m", "tests.integration.devnet_process", str(folder)]
    with (
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process,
        httpx.Client(trust_env=False, timeout=PATIENCE) as client,
    ):
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield DevnetProcess(f"http://127.0.0.1:{port}", client)
        finally:
            process.kill()


if __name__ == "__main__":
    run(Path(sys.argv[1]))
