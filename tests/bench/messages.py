"""Bytes on a connection: requests written ahead, and the replies found in what comes back."""

from __future__ import annotations

import base64
import re
import socket
from collections.abc import Callable
from typing import Final, TypeAlias

Split: TypeAlias = Callable[[bytes], tuple[list[bytes], bytes]]
"""Takes what was received; returns the bodies of whole replies, and the beginning of the next."""

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_END: Final = b"\r\n\r\n"
_TWO_BYTES: Final = 126
_EIGHT_BYTES: Final = 127


def post(path: str, body: bytes) -> bytes:
    """Write a POST of JSON as a keep-alive client does."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()


def split_http(received: bytes) -> tuple[list[bytes], bytes]:
    """Find replies with a status of 200; any other one raises ValueError."""
    bodies: list[bytes] = []
    start = 0
    while (end := received.find(_END, start)) >= 0:
        if not received.startswith(b"HTTP/1.1 200 ", start):
            msg = f"not the answer that a benchmark may count: {received[start : start + 400]!r}"
            raise ValueError(msg)
        length = _LENGTH.search(received, start, end)
        body_end = end + len(_END) + (int(length[1]) if length else 0)
        if body_end > len(received):
            break
        bodies.append(received[end + len(_END) : body_end])
        start = body_end
    return bodies, received[start:]


def frame(text: bytes) -> bytes:
    """Write a WebSocket text message, masked with zeros: legal, and no work for us.

    Whoever reads it unmasks it all the same (RFC 6455 section 5.3).
    """
    length = len(text)
    if length < _TWO_BYTES:
        head = bytes((0x81, 0x80 | length))
    elif length < 1 << 16:
        head = bytes((0x81, 0x80 | _TWO_BYTES)) + length.to_bytes(2, "big")
    else:
        head = bytes((0x81, 0x80 | _EIGHT_BYTES)) + length.to_bytes(8, "big")
    return head + bytes(4) + text


def split_frames(received: bytes) -> tuple[list[bytes], bytes]:
    """Find whole text messages; a frame of another kind raises ValueError."""
    bodies: list[bytes] = []
    start, whole = 0, len(received)
    while start + 2 <= whole:
        if received[start] != 0x81:
            msg = f"not a text message: {received[start : start + 80]!r}"
            raise ValueError(msg)
        length, body = received[start + 1], start + 2
        if length >= _TWO_BYTES:
            body += 2 if length == _TWO_BYTES else 8
            length = int.from_bytes(received[start + 2 : body], "big")
        if body + length > whole:
            break
        bodies.append(received[body : body + length])
        start = body + length
    return bodies, received[start:]


def upgraded(connection: socket.socket, path: str) -> None:
    """Turn a connection into a WebSocket; ValueError where the server refuses."""
    key = base64.b64encode(b"sixteen bytes...").decode()
    head = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    connection.sendall(head.encode())
    answer = b""
    while _END not in answer and (some := connection.recv(1 << 16)):
        answer += some
    if not answer.startswith(b"HTTP/1.1 101 ") or not answer.endswith(_END):
        msg = f"no WebSocket at {path.partition('?')[0]}: {answer[:200]!r}"
        raise ValueError(msg)
