"""HTTP receivers for tests: a real server that answers as it is told, and keeps what it got."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it arrived."""

    method: str
    path: str
    headers: Headers
    body: bytes


@dataclass
class Receiver:
    """Answers every request with `status`, `headers` and `body`, and keeps the request."""

    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    requests: list[ReceivedRequest] = field(default_factory=list)


@contextmanager
def http_receiver(receiver: Receiver, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Run a receiver on 127.0.0.1 and yield its port."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            receiver.requests.append(ReceivedRequest(self.command, self.path, self.headers, body))
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(receiver.body)))
            self.end_headers()
            self.wfile.write(receiver.body)

        do_POST = do_GET = answer  # noqa: N815 - the names that the library looks for

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with answering(server) as port:
        yield port


@contextmanager
def answering(server: ThreadingHTTPServer) -> Iterator[int]:
    """Let a server answer in a thread of its own; yield its port."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
