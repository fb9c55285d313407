"""A passkey without a device: makes a key and signs as a browser with an authenticator would."""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from Crypto.Hash import SHA256
from Crypto.PublicKey import ECC
from Crypto.Signature import DSS

ORIGIN: Final = "https://watch.example"
HOST: Final = "watch.example"
_PRESENT: Final = 0x01
_VERIFIED: Final = 0x04
_NEW: Final = 0x40


@dataclass(frozen=True)
class Authenticator:
    """One passkey; `uses` is what it counts, 0 if it does not count."""

    key: ECC.EccKey = field(default_factory=lambda: ECC.generate(curve="P-256"))
    credential_id: bytes = b"credential of a test"
    origin: str = ORIGIN
    host: str = HOST
    is_verified: bool = True
    uses: int = 0

    def but(self, **changes: Any) -> Authenticator:  # noqa: ANN401 - fields of this class
        """Return the same key that behaves otherwise."""
        return replace(self, **changes)

    def create(self, options: str) -> str:
        """Answer to what a browser needs to make a passkey."""
        point = self.key.public_key().pointQ
        x, y = (int(each).to_bytes(32, "big") for each in (point.x, point.y))
        cose = _cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        identity = bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id
        signed = self._authenticator_data(_NEW) + identity + cose
        attestation = _cbor({"fmt": "none", "attStmt": {}, "authData": signed})
        client = self._client_data("webauthn.create", options)
        return self._answer({"clientDataJSON": client, "attestationObject": attestation})

    def get(self, options: str) -> str:
        """Answer to what a browser needs to use a passkey."""
        client, data = self._client_data("webauthn.get", options), self._authenticator_data(0)
        message = SHA256.new(data + hashlib.sha256(client).digest())
        signature = DSS.new(self.key, "fips-186-3", encoding="der").sign(message)
        return self._answer(
            {"clientDataJSON": client, "authenticatorData": data, "signature": signature}
        )

    def _client_data(self, kind: str, options: str) -> bytes:
        challenge = json.loads(options)["challenge"]
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _authenticator_data(self, flags: int) -> bytes:
        flags |= _PRESENT | (_VERIFIED if self.is_verified else 0)
        return (
            hashlib.sha256(self.host.encode()).digest()
            + bytes([flags])
            + self.uses.to_bytes(4, "big")
        )

    def _answer(self, response: Mapping[str, bytes]) -> str:
        own = _base64url(self.credential_id)
        written = {name: _base64url(value) for name, value in response.items()}
        return json.dumps({"id": own, "rawId": own, "type": "public-key", "response": written})


def _base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).decode().rstrip("=")


def _cbor(value: object) -> bytes:
    """Encode what an authenticator sends: numbers, texts, octets and maps of them (RFC 8949)."""
    match value:
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            return _head(3, len(value)) + value.encode()
        case dict():
            pairs = b"".join(_cbor(key) + _cbor(each) for key, each in value.items())
            return _head(5, len(value)) + pairs
        case _:
            raise NotImplementedError(value)


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    if number < 256:
        return bytes([major << 5 | 24, number])
    return bytes([major << 5 | 25]) + number.to_bytes(2, "big")
