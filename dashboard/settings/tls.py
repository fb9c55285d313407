"""[tls]: which certificates are trusted: those of the system, and an authority of your own."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

from dashboard.errors import SettingsError
from dashboard.settings.layers import Remark
from dashboard.settings.mistakes import as_far_as_readable
from dashboard.settings.schema import TlsSettings


def tls_context(tls: TlsSettings) -> ssl.SSLContext:
    """Return a context of the caller's own for TLS to others; SettingsError where it cannot be.

    Each protocol needs one of its own, since clients of HTTP write into theirs what they speak
    (ALPN), and mail servers may refuse to be spoken to so.
    """
    context = ssl.create_default_context()
    _load_authority(context, tls.ca_file)
    return context


@as_far_as_readable
def check_tls(tls: TlsSettings) -> Iterator[Remark]:
    """Find a file that holds no certificate."""
    try:
        _load_authority(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls.ca_file)
    except SettingsError as error:
        yield ("tls", "ca_file"), f"cannot be used: {error}"


def _load_authority(context: ssl.SSLContext, file: str) -> None:
    if not file:
        return
    path = Path(file).expanduser()
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise SettingsError(
            f"{path} holds no certificate: write them as PEM, one below the other"
        ) from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
