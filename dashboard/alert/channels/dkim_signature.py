"""DKIM signatures (RFC 6376) with a key of ours, for mail servers that add none themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dashboard.domain.secret import Secret
from dashboard.errors import InputError

_LEAST_BITS: Final = 1024
_SIGNED: Final = (
    "from",
    "to",
    "subject",
    "date",
    "message-id",
    "in-reply-to",
    "references",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "auto-submitted",
    "mime-version",
    "content-type",
)
"""Headers that nobody may change, and none of which may be added on the way.

RFC 8058 wants both headers of unsubscribing signed.
"""


@dataclass(frozen=True, slots=True)
class DkimSigner:
    """Signs mails for a domain; `selector` names the public key below it in DNS."""

    domain: str
    selector: str
    key: Secret

    def sign(self, content: bytes) -> bytes:
        """Return a mail with its signature in front."""
        import dkim  # noqa: PLC0415 - it brings a DNS client, for which each command would wait

        signature = dkim.DKIM(content).sign(
            self.selector.encode("ascii"),
            self.domain.encode("ascii"),
            self.key.reveal().encode("ascii"),
            canonicalize=(b"relaxed", b"relaxed"),
            include_headers=[each.encode("ascii") for each in _SIGNED],
        )
        return bytes(signature) + content


def read_dkim_key(file: str) -> Secret:
    """Read a private RSA key in PEM; InputError where the file holds none that can be used."""
    from dkim.crypto import UnparsableKeyError, parse_pem_private_key  # noqa: PLC0415 - see above

    path = Path(file).expanduser()
    try:
        pem = path.read_text(encoding="ascii")
        bits = parse_pem_private_key(pem.encode("ascii"))["modulus"].bit_length()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (UnparsableKeyError, ValueError) as error:  # the latter where it is not text at all
        raise InputError(_no_key(path)) from error
    if bits < _LEAST_BITS:
        raise InputError(f"{path} holds a key of {bits} bits: make one of 2048")
    return Secret(pem)


def _no_key(path: Path) -> str:
    return f"{path} holds no private RSA key: make one with `openssl genrsa -out FILE 2048`"
