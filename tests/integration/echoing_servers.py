"""Servers that take what they are asked with for a text to answer: addresses, logins, headers."""

from __future__ import annotations

import json
import socket
import struct
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from joserfc.jwk import ECKey

from tests.mail_server import Rudeness
from tests.webhook_server import answering

_STATUSES: Final = {"refuse": 401, "fail": 500, "moved": 302, "half": 403, "rpc": 200, "long": 200}
_CUT: Final = 66
"""Letters before what is echoed: messages show some sixty of a value, and so half of a key."""


@dataclass
class Heard:
    """What the servers were asked: paths, and whole mails by their recipients."""

    paths: list[str] = field(default_factory=list)
    mails: list[tuple[str, bytes]] = field(default_factory=list)
    refuses_logins: bool = False


@contextmanager
def echoing_http(heard: Heard) -> Iterator[int]:
    """Answer as the first word of the path says, and quote address and headers; yield the port."""

    class Handler(_Echo):
        paths = heard.paths

    with answering(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


class _Echo(BaseHTTPRequestHandler):
    """Answers one request, and notes its path."""

    paths: list[str]

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.paths.append(self.path)
        how = self.path.split("/")[1]
        said = f"{self.path} {' '.join(self.headers.values())}"
        is_known = self.path in {"/issuer/.well-known/openid-configuration", "/issuer/keys"}
        self.send_response(200 if is_known else _STATUSES.get(how, 404))
        address = f"http://{self.headers['Host']}{self.path}"
        if how == "moved":
            self.send_header("Location", address)
        content = json.dumps(self.content(how, body, f"{address} {said}")).encode()
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if how == "half":
            self.wfile.write(content[: content.index(b"c4nary") + 18])
            self.wfile.flush()
            threading.Event().wait(0.05)  # so that what was sent is all that is read
        self.wfile.write(content)

    def content(self, how: str, body: bytes, said: str) -> Any:  # noqa: ANN401 - any JSON
        if self.path.startswith("/issuer/"):
            return self.of_issuer(f"http://{self.headers['Host']}/issuer", said)
        said = "x" * _CUT + self.path[self.path.find("c4nary") :] if how == "long" else said
        with suppress(ValueError):
            asked = json.loads(body)
            many = [asked] if isinstance(asked, dict) else asked
            answers = [_rpc_answer(how, each, said) for each in many]
            return answers if isinstance(asked, list) else answers[0]
        return dict.fromkeys(("busyThreshold", "baseFeePercentile", "error", "message"), said)

    def of_issuer(self, issuer: str, said: str) -> Any:  # noqa: ANN401 - any JSON
        if self.path.endswith("/keys"):
            return {"keys": [ECKey.generate_key("P-256").as_dict(private=False)]}
        if self.path.endswith("/token"):
            return {"error": said, "error_description": said}
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
        }

    do_GET = do_POST = do_HEAD = answer  # noqa: N815 - the names that the library looks for

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def _rpc_answer(how: str, asked: Any, said: str) -> Any:  # noqa: ANN401 - any JSON
    number = asked.get("id", 1) if isinstance(asked, dict) else 1
    if how == "long":
        return {"jsonrpc": "2.0", "id": number, "result": said}
    error = {"code": -32000, "message": said, "data": said}
    return {"jsonrpc": "2.0", "id": number, "error": error}


def echoing_smtp(heard: Heard) -> Rudeness:
    """Take or refuse each login, and quote the login in every answer after it."""

    def behave(line: socket.socket, _over: threading.Event) -> None:
        line.sendall(b"220 localhost\r\n")
        login, to = b"", ""
        with line.makefile("rb") as lines:
            for each in lines:
                verb = each[:4].upper()
                if verb == b"EHLO":
                    line.sendall(b"250-localhost\r\n250 AUTH PLAIN\r\n")
                elif verb == b"AUTH":
                    given = each.split()[-1]
                    login = each.strip() + b" " + b64decode(given).replace(b"\0", b" ")
                    code = b"535 5.7.8 " if heard.refuses_logins else b"235 2.7.0 "
                    line.sendall(code + login + b"\r\n")
                elif verb == b"RCPT":
                    to = each.decode().partition("<")[2].partition(">")[0]
                    code = b"450 4.2.0 " if to.startswith("refused") else b"250 2.1.5 "
                    line.sendall(code + login + b"\r\n")
                elif verb == b"DATA":
                    line.sendall(b"354 go on\r\n")
                    mail = b"".join(iter(lines.readline, b".\r\n"))
                    heard.mails.append((to, mail))
                    line.sendall(b"250 2.0.0 " + login + b"\r\n")
                else:
                    line.sendall(b"250 2.0.0 " + login + b"\r\n")

    return behave


def echoing_imap(line: socket.socket, _over: threading.Event) -> None:
    """Refuse each login, and quote it."""
    line.sendall(b"* OK ready\r\n")
    with line.makefile("rb") as lines:
        for each in lines:
            tag, verb, *_ = each.split()
            if verb.upper() == b"CAPABILITY":
                line.sendall(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")
            else:
                line.sendall(tag + b" NO [AUTHENTICATIONFAILED] " + each)


def echoing_postgresql(line: socket.socket, _over: threading.Event) -> None:
    """Ask for the password in clear text, refuse it, and quote it, as no PostgreSQL does."""
    while True:
        size, code = struct.unpack("!II", line.recv(8, socket.MSG_WAITALL))
        line.recv(size - 8, socket.MSG_WAITALL)
        if code >> 16 == 3:
            break
        line.sendall(b"N")
    line.sendall(b"R" + struct.pack("!II", 8, 3))
    kind, size = struct.unpack("!cI", line.recv(5, socket.MSG_WAITALL))
    assert kind == b"p"
    password = line.recv(size - 4, socket.MSG_WAITALL).rstrip(b"\0")
    fields = b"SFATAL\0C28P01\0Mpassword authentication failed: " + password + b"\0\0"
    line.sendall(b"E" + struct.pack("!I", 4 + len(fields)) + fields)
