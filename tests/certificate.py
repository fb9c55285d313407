"""A throw-away certificate for servers of tests on 127.0.0.1, signed by itself."""

from __future__ import annotations

import ssl
from base64 import encodebytes
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from Crypto.Hash import SHA256
from Crypto.PublicKey import ECC
from Crypto.Signature import DSS
from Crypto.Util.asn1 import DerInteger, DerObjectId

_COMMON_NAME: Final = "2.5.4.3"
_ECDSA_WITH_SHA256: Final = "1.2.840.10045.4.3.2"
_SUBJECT_ALTERNATIVE_NAME: Final = "2.5.29.17"
_BASIC_CONSTRAINTS: Final = "2.5.29.19"
_DNS_NAME: Final = 0x82
_IP_ADDRESS: Final = 0x87
_GENERALIZED_TIME: Final = 0x18
_UTF8_STRING: Final = 0x0C
_BIT_STRING: Final = 0x03
_OCTET_STRING: Final = 0x04
_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_TRUE: Final = b"\x01\x01\xff"
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_LONG_LENGTH: Final = 0x80


@dataclass(frozen=True, slots=True)
class Certificate:
    """Where the certificate and its key stand, as PEM in one file."""

    path: Path

    def for_server(self) -> ssl.SSLContext:
        """Return what a server presents."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path)
        return context

    def for_client(self) -> ssl.SSLContext:
        """Return the trust of a client that believes this certificate only."""
        return ssl.create_default_context(cafile=str(self.path))


def make_certificate(folder: Path, host: str = "localhost", days: int = 1) -> Certificate:
    """Write a certificate for `host` and 127.0.0.1, valid from yesterday and for some days more."""
    key = ECC.generate(curve="P-256")
    to_sign = _to_be_signed(key, host, timedelta(days=days))
    signature = DSS.new(key, "fips-186-3", encoding="der").sign(SHA256.new(to_sign))
    whole = _sequence(to_sign, _algorithm(), _tagged(_BIT_STRING, b"\0" + signature))
    path = folder / f"{host}.pem"
    path.write_text(_pem("CERTIFICATE", whole) + key.export_key(format="PEM"), encoding="ascii")
    path.chmod(0o600)
    return Certificate(path)


def _to_be_signed(key: ECC.EccKey, host: str, left: timedelta) -> bytes:
    now, day = datetime.now(UTC), timedelta(days=1)
    common_name = _sequence(_object_id(_COMMON_NAME), _tagged(_UTF8_STRING, host.encode()))
    name = _sequence(_tagged(_SET, common_name))
    names = _tagged(_DNS_NAME, host.encode()) + _tagged(_IP_ADDRESS, bytes([127, 0, 0, 1]))
    return _sequence(
        _tagged(_VERSION, DerInteger(2).encode()),
        DerInteger(1).encode(),
        _algorithm(),
        name,
        _sequence(_moment(now - day), _moment(now + left)),
        name,
        key.public_key().export_key(format="DER"),
        _tagged(
            _EXTENSIONS,
            _sequence(
                _extension(_SUBJECT_ALTERNATIVE_NAME, _sequence(names)),
                _extension(_BASIC_CONSTRAINTS, _sequence(_TRUE)),
            ),
        ),
    )


def _algorithm() -> bytes:
    return _sequence(_object_id(_ECDSA_WITH_SHA256))


def _extension(object_id: str, value: bytes) -> bytes:
    return _sequence(_object_id(object_id), _tagged(_OCTET_STRING, value))


def _object_id(text: str) -> bytes:
    return DerObjectId(text).encode()


def _moment(at: datetime) -> bytes:
    return _tagged(_GENERALIZED_TIME, f"{at:%Y%m%d%H%M%S}Z".encode())


def _sequence(*parts: bytes) -> bytes:
    return _tagged(_SEQUENCE, b"".join(parts))


def _tagged(tag: int, content: bytes) -> bytes:
    """Encode one element of DER: tag, length, content."""
    length = len(content)
    if length < _LONG_LENGTH:
        return bytes([tag, length]) + content
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, _LONG_LENGTH | len(digits)]) + digits + content


def _pem(label: str, content: bytes) -> str:
    return f"-----BEGIN {label}-----\n{encodebytes(content).decode()}-----END {label}-----\n"
