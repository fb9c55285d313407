"""One HTTP request to a public address, resolved once: one deadline, no redirect, no proxy."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from dashboard.alert.channels.deadline import Deadline, SocketAddress, open_socket, resolve
from dashboard.alert.message import MaySend, Stage, Watch, ignore
from dashboard.domain.ip_addresses import ip_address_of, is_public
from dashboard.domain.markup import visible
from dashboard.domain.secret import Secret, quotes
from dashboard.errors import (
    DeliveryBlocked,
    DeliveryDeferred,
    DeliveryRefused,
    DeliveryWithheld,
    InputError,
)
from dashboard.wire.decoding import parse_retry_after

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})"
    r"(?::(?P<port>\d{1,5}))?(?P<path>/[!-\"$-~]*|\?[!-\"$-~]*)?",
    re.ASCII,
)
"""Without a login and without a fragment, in printable ASCII."""

_ENDS_IN_A_NUMBER: Final = re.compile(r"(?:^|\.)(?:\d+|0[xX][0-9A-Fa-f]*)$", re.ASCII)
"""Old resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as 127.0.0.1; real names never end so."""

_PORTS: Final = {"https": 443, "http": 80}
_LARGEST_PORT: Final = 65535
_QUOTED: Final = 200
"""How many characters of an answer are shown."""

_READ: Final = 2000
"""How many bytes of an answer are read."""

_BODY_TIMEOUT: Final = 2.0
"""Seconds that the body of a refusal may take: it is only shown."""

_ABOUT_THE_MESSAGE: Final = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""Statuses after which another message may be accepted."""

_REMEDIES: Final = {
    HTTPStatus.UNAUTHORIZED: "check its keys in [channels]",
    HTTPStatus.FORBIDDEN: "check its keys in [channels]",
    HTTPStatus.NOT_FOUND: "check its url in [channels]",
}


class HttpTarget(Struct, frozen=True):
    """Where requests go. `url` may contain keys, so it is never shown."""

    url: Secret
    is_tls: bool
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The host as requests name it, with its port unless that is the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_usual = self.port == _PORTS["https" if self.is_tls else "http"]
        return host if is_usual else f"{host}:{self.port}"

    def hides(self, text: str) -> bool:
        """Whether a text quotes a part of the address that may be a key."""
        address = urlsplit(self.url.reveal())
        query = address.query.replace("=", "&").split("&")
        return quotes(text, (*address.path.split("/"), *query))


class HttpAnswer(Struct, frozen=True):
    """What the other side answered: `text` is one line that is safe to show."""

    status: int
    text: str
    retry_after: timedelta | None = None


class HttpRequest(Struct, frozen=True):
    """A request, whose `content` (body and headers) is made at the last moment.

    An answer that quotes one of its `secrets` is not shown.
    """

    content: Callable[[], tuple[bytes, Mapping[str, str]]]
    method: str = "POST"
    secrets: tuple[Secret, ...] = ()


class HttpRules(Struct, frozen=True):
    """How a target may be contacted: `timeout`, `trust`, and whether at private addresses."""

    timeout: timedelta = timedelta(seconds=10)
    trust: ssl.SSLContext = field(default_factory=ssl.create_default_context)
    allow_private: bool = False
    watch: Watch = ignore


def parse_target(url: Secret) -> HttpTarget:
    """Parse an address; InputError, which does not show it, if nothing can be sent there."""
    match = _URL.fullmatch(url.reveal())
    if match is None:
        raise InputError(
            "cannot be used: write https://host/path in ASCII, without a login and without #"
        )
    host = match["host"].removeprefix("[").removesuffix("]").removesuffix(".")
    if _ENDS_IN_A_NUMBER.search(host) and ip_address_of(host) is None:
        raise InputError("names no host: write an IPv4 address as four decimal numbers")
    port = int(match["port"] or _PORTS[match["scheme"]])
    if not 0 < port <= _LARGEST_PORT:
        raise InputError(f"names port {port}: ports go from 1 to {_LARGEST_PORT}")
    path = match["path"] or "/"
    return HttpTarget(
        url,
        match["scheme"] == "https",
        host,
        port,
        path if path.startswith("/") else f"/{path}",
    )


def exchange(
    target: HttpTarget, request: HttpRequest, rules: HttpRules, may_send: MaySend
) -> HttpAnswer:
    """Send a request and return the answer, whatever its status.

    The name is resolved once, its addresses are checked, and one of these is connected to; the
    certificate must match the name. DeliveryBlocked if no answer came; DeliveryWithheld.
    """
    with _errors_named(), Deadline(rules.timeout.total_seconds()) as deadline:
        with _connected(target, rules, deadline) as line:
            if not may_send():
                raise DeliveryWithheld("the lease of this worker expired")
            with _in_time(deadline):
                answer = _converse(target, request, line)
        rules.watch(Stage("answer", answer.text))
        return answer


@contextmanager
def _connected(target: HttpTarget, rules: HttpRules, deadline: Deadline) -> Iterator[socket.socket]:
    found = resolve(target.host, target.port, deadline)
    allowed = [each for each in found if rules.allow_private or is_public(_text(each))]
    if found and not allowed:
        raise DeliveryBlocked(
            f"its address {_text(found[0])} is private: only public ones are asked, unless "
            "allow_private = true is set for it"
        )
    rules.watch(Stage("resolve", ", ".join(dict.fromkeys(map(_text, allowed)))))
    line = open_socket(allowed, deadline)
    try:
        rules.watch(Stage("connect", _text((0, line.getpeername()))))
        if target.is_tls:
            with _in_time(deadline):
                line = rules.trust.wrap_socket(line, server_hostname=target.host)
            rules.watch(Stage("TLS", f"{line.version()}, certificate for {target.host}"))
        yield line
    finally:
        line.close()


def _converse(target: HttpTarget, request: HttpRequest, line: socket.socket) -> HttpAnswer:
    body, headers = request.content()
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.auto_open = 0  # never to an address of its own choice
    connection.sock = line
    common = {"Host": target.authority, "Connection": "close", "User-Agent": "Linewatch"}
    sent = {**common, **headers, "Accept-Encoding": "identity"}
    connection.request(request.method, target.path, body or None, sent)
    with connection.getresponse() as response:
        line.settimeout(_BODY_TIMEOUT)
        text = "" if _is_taken(response.status) else _body_of(response)
        is_quoting = target.hides(text) or quotes(text, (s.reveal() for s in request.secrets))
        return HttpAnswer(
            response.status,
            _shown(response.status, "" if is_quoting else visible(text, _QUOTED)),
            parse_retry_after(
                response.getheader("Retry-After", ""), response.getheader("Date", "")
            ),
        )


def _is_taken(status: int) -> bool:
    return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES


def _body_of(response: http.client.HTTPResponse) -> str:
    """Return the beginning of the body; it does not matter if it never comes."""
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        return response.read1(_READ).decode("utf-8", "replace").strip()
    return ""


def _shown(status: int, text: str) -> str:
    """Return status and text on one line."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return " ".join(part for part in (str(status), phrase, text) if part)


def _text(address: SocketAddress) -> str:
    """Return the IP address of a socket address."""
    return str(address[1][0])


@contextmanager
def _in_time(deadline: Deadline) -> Iterator[None]:
    """Raise TimeoutError if time was up: what was cut off may look like a complete answer."""
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError):
        if not deadline.has_passed:
            raise
    if deadline.has_passed:
        raise TimeoutError


@contextmanager
def _errors_named() -> Iterator[None]:
    """Turn what a connection raises into DeliveryBlocked, without the address that was asked."""
    try:
        yield
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DeliveryBlocked(_reason(error)) from error


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, socket.gaierror):
        return f"its name cannot be resolved ({error.strerror})"
    if isinstance(error, ssl.SSLError):
        return _tls_reason(error)
    if isinstance(error, http.client.HTTPException | ConnectionResetError | BrokenPipeError):
        return "it closed the connection, or did not answer in HTTP"
    if isinstance(error, OSError):
        return f"it cannot be reached ({error.strerror or 'no connection'})"
    return "it did not answer in HTTP"


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"it has no certificate that can be trusted ({error.verify_message}; tls.ca_file is "
            "for an authority of your own)"
        )
    cause = (error.reason or "no reason given").replace("_", " ").lower()
    return f"it offers no TLS version that we accept ({cause})"


def judge(answer: HttpAnswer) -> str:
    """Return the answer if the message was accepted.

    DeliveryRefused if the receiver is permanently gone, DeliveryDeferred if it refuses this
    message, DeliveryBlocked for everything else, with the wait that it asks for.
    """
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return answer.text
    if status == HTTPStatus.GONE:
        raise DeliveryRefused(f"it is permanently gone: {answer.text}")
    if status in _ABOUT_THE_MESSAGE:
        raise DeliveryDeferred(f"it refused the message: {answer.text}")
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise DeliveryBlocked(
            f"it redirects, which is not followed: {answer.text}; "
            "write the new address in [channels]"
        )
    remedy = _REMEDIES.get(HTTPStatus(status)) if status in set(HTTPStatus) else None
    text = f"it answered {answer.text}" + (f"; {remedy}" if remedy else "")
    raise DeliveryBlocked(text, answer.retry_after)
