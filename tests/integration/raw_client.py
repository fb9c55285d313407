"""A client that speaks HTTP byte by byte, or stops speaking where others would go on."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
from collections.abc import Iterator

from tests.waiting import PATIENCE


@contextlib.contextmanager
def raw_client(address: str, receive_buffer: int | None = None) -> Iterator[socket.socket]:
    """Connect to ``host:port``; a small receive buffer makes for a client that reads slowly."""
    host, _, port = address.partition(":")
    with socket.socket() as client:
        if receive_buffer is not None:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(PATIENCE)
        client.connect((host, int(port)))
        yield client


def read_to_end(client: socket.socket) -> bytes:
    """Read until the server closes, however it does."""
    read = b""
    with contextlib.suppress(ConnectionError):
        while piece := client.recv(65_536):
            read += piece
    return read


def read_reply(client: socket.socket) -> bytes:
    """Read one reply whose length is told."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = client.recv(65_536)
        if not piece:
            return read
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
    while len(body) < length and (piece := client.recv(65_536)):
        body += piece
    return head + b"\r\n\r\n" + body


def status_of(reply: bytes) -> int | None:
    """Return the status that a reply begins with."""
    return int(reply.split(b" ", 2)[1]) if reply.startswith(b"HTTP/1.1 ") else None


def post_head(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def upgrade_head(path: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
    ).encode()


MUCH = 40_000_000
"""Bytes, more than the buffers of the system between a client and the server."""


def taken(client: socket.socket, piece: bytes) -> int:
    """Send until nothing more is taken; return how many bytes were."""
    sent = 0
    client.settimeout(1)
    with contextlib.suppress(ConnectionError, TimeoutError):
        while sent < MUCH:
            sent += client.send(piece)
    return sent


def open_websocket(client: socket.socket, path: str) -> None:
    """Turn a connection into a WebSocket."""
    client.sendall(upgrade_head(path))
    assert status_of(read_reply(client)) == 101
