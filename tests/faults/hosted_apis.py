"""The hosted APIs of one network, as a worker asks them on loopback: gas and exclusion."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Final

from dashboard.domain.quantity import Wei
from dashboard.domain.rejections.exclusion import RejectedTransaction
from dashboard.wire.exclusion import encode_record
from dashboard.wire.gas import (
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
    encode_suggested_gas_fees,
)
from tests.builders import GWEI, suggested_gas_fees

_FEES: Final = {
    "baseFeeHistory": encode_base_fee_history([Wei(7 * GWEI), Wei(8 * GWEI)]),
    "baseFeePercentile": encode_base_fee_percentile(Wei(8 * GWEI)),
    "busyThreshold": encode_busy_threshold(Wei(30 * GWEI)),
}
_TOO_FAST: Final = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


def nothing(_moment: str) -> None:
    """Let a moment pass."""


class HostedApis:
    """What the APIs answer: null, but for the transactions that were rejected."""

    def __init__(self) -> None:
        """Know no rejection; `reached` is told when a question comes and when it was answered."""
        self.port = 0
        self.asked = threading.Event()
        self.reached: Callable[[str], None] = nothing
        self.base_fee = 10 * GWEI
        self._turns = count()
        self._records: dict[str, RejectedTransaction] = {}

    def reject(self, record: RejectedTransaction) -> None:
        """Show this record of its transaction from now on."""
        self._records[str(record.tx_hash)] = record

    def is_too_fast(self) -> bool:
        """Whether a question comes too soon after those before it."""
        return False

    def fees(self) -> bytes:
        """Suggest fees on a base fee that is hardly the same twice; from 30 gwei on it is busy."""
        fee = Wei(self.base_fee + next(self._turns) % 977)
        return encode_suggested_gas_fees(suggested_gas_fees(estimated_base_fee=fee))

    def replies(self, message: Any) -> Any:  # noqa: ANN401 - any JSON
        """Answer a JSON-RPC message, a single one or a batch."""
        if isinstance(message, list):
            return [self.replies(each) for each in message]
        record = encode_record(self._records.get(message["params"][0]))
        return {"jsonrpc": "2.0", "id": message["id"], "result": json.loads(record)}


@contextmanager
def hosted_apis(given: HostedApis | None = None) -> Iterator[HostedApis]:
    """Serve the APIs on a free port of loopback, those that are given or new ones."""
    hosted = given or HostedApis()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hosted.asked.set()
            hosted.reached("question")
            if hosted.is_too_fast():
                self.wfile.write(_TOO_FAST)
                return
            self._reply(json.dumps(hosted.replies(message)).encode())
            hosted.reached("answer")

        def do_GET(self) -> None:
            operation = self.path.rpartition("/")[2]
            self._reply(_FEES.get(operation) or hosted.fees())

        def log_message(self, *_: object) -> None:
            pass

        def _reply(self, body: bytes) -> None:
            head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{head}".encode() + body)

    server = _Server(("127.0.0.1", 0), Handler)
    hosted.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield hosted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Take it as it is that who asked was killed."""
