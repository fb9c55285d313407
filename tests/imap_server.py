"""A small IMAP server for tests: one mailbox over TLS, and what was asked of it."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler, ThreadingTCPServer

USERNAME = "bounces@example.org"
PASSWORD = "canary-of-imap"


@dataclass
class ImapInbox:
    """Unread mails by UID; those that are marked as read move to `read`."""

    unread: dict[int, bytes] = field(default_factory=dict)
    read: list[int] = field(default_factory=list)
    fetched: list[int] = field(default_factory=list)


def _state(command: str) -> str:
    if command.startswith("LOGIN") and PASSWORD not in command:
        return f"NO no such user with {command}"
    return "NO none" if command.startswith("SELECT") and "INBOX" not in command else "OK done"


def _answer(inbox: ImapInbox, command: str) -> bytes:
    """Do what is asked; return the lines before the last."""
    if match := re.match(r"UID FETCH (\d+)", command):
        uid = int(match[1])
        inbox.fetched.append(uid)
        content = inbox.unread[uid]
        return b"* 1 FETCH (UID %d BODY[]<0> {%d}\r\n%s)\r\n" % (uid, len(content), content)
    if match := re.match(r"UID STORE (\d+) \+FLAGS \(\\Seen\)", command):
        inbox.unread.pop(int(match[1]))
        inbox.read.append(int(match[1]))
        return b""
    unread = " ".join(map(str, inbox.unread)).encode()
    lines = {
        "CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n",
        "SELECT": b"* %d EXISTS\r\n" % len(inbox.unread),
        "UID": b"* SEARCH " + unread + b"\r\n",
        "LOGOUT": b"* BYE\r\n",
    }
    return lines.get(command.partition(" ")[0], b"")


@contextmanager
def imap_server(inbox: ImapInbox, tls: ssl.SSLContext) -> Iterator[int]:
    """Serve a mailbox on 127.0.0.1 and yield the port."""

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"* OK ready\r\n")
            for line in self.rfile:
                tag, _, command = line.decode().strip().partition(" ")
                answer = _answer(inbox, command)
                self.wfile.write(answer + f"{tag} {_state(command)}\r\n".encode())

    ThreadingTCPServer.allow_reuse_address = True
    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
