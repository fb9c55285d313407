"""[tls]: which certificates are trusted: those of the system, and an authority of your own."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

from dashboard.errors import SettingsError
from dashboard.settings.layers import Remark
from dashboard.store.engine.disk import path_of


class TlsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[tls]: which certificates are trusted."""

    ca_file: str


def tls_context(tls: TlsSettings) -> ssl.SSLContext:
    """Return a context of the caller's own for TLS to others; SettingsError if it cannot be made.

    Each protocol needs its own, since HTTP clients write their protocols (ALPN) into theirs, and
    mail servers may refuse these.
    """
    context = ssl.create_default_context()
    _load_authority(context, tls.ca_file)
    context.sslobject_class, context.sslsocket_class = _NotedObject, _NotedSocket
    return context


def take_seen_certificates() -> dict[str, datetime]:
    """Return when the certificate of each host contacted since the last call ends."""
    found: dict[str, datetime] = {}
    while _seen:
        host, ends_at = _seen.popitem()
        found[host] = ends_at
    return found


class _NotedObject(ssl.SSLObject):
    """TLS as event loops speak it, which notes when the other side's certificate ends."""

    def do_handshake(self) -> None:
        super().do_handshake()
        _note(self)


class _NotedSocket(ssl.SSLSocket):
    """The same over a socket."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - as the library has it
        super().do_handshake(block)
        _note(self)


_seen: Final[dict[str, datetime]] = {}
"""What this process saw and nobody took yet, by host."""


def _note(line: ssl.SSLObject | ssl.SSLSocket) -> None:
    """Note a certificate that was verified."""
    found = line.getpeercert() or {}
    if line.server_hostname and "notAfter" in found:
        _seen[line.server_hostname.lower()] = _end_of(found)


def _end_of(certificate: Mapping[str, Any]) -> datetime:
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)


def own_authorities(tls: TlsSettings) -> list[tuple[str, datetime]]:
    """Return each certificate of the authority of your own, and when it ends.

    SettingsError if the file cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _load_authority(context, tls.ca_file)
    return [(_name_of(each), _end_of(each)) for each in context.get_ca_certs()]


def _name_of(certificate: Mapping[str, Any]) -> str:
    """Return the name of a certificate, else its number."""
    names = {key: value for part in certificate.get("subject", ()) for key, value in part}
    return str(names.get("commonName") or certificate.get("serialNumber", "without a name"))


def check_tls(tls: TlsSettings) -> Iterator[Remark]:
    """Find a file that holds no certificate."""
    try:
        _load_authority(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls.ca_file)
    except SettingsError as error:
        yield ("tls", "ca_file"), f"cannot be used: {error}"


def _load_authority(context: ssl.SSLContext, file: str) -> None:
    if not file:
        return
    path = path_of(file)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise SettingsError(
            f"{path} holds no certificate: write them as PEM, one below the other"
        ) from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
