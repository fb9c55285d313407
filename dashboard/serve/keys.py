"""Who may call: named API keys, of which only digests are held."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import InputError

_NOTHING = hashlib.sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key of one caller; `name` is what logs call the caller.

    `network_ids` are the networks that the key opens; None opens all of them.
    `methods` are those that it may call, without their prefix, and the gas operations; None is
    all of them. `requests_per_second` and `burst` bound how often; None is as often as it likes.
    """

    name: str
    key_digest: bytes
    secret_digest: bytes | None = None
    network_ids: frozenset[NetworkId] | None = None
    methods: frozenset[str] | None = None
    may_report: bool = True
    requests_per_second: float | None = None
    burst: int | None = None

    @classmethod
    def of(
        cls,
        name: str,
        key: Secret,
        secret: Secret | None = None,
        network_ids: Iterable[NetworkId] | None = None,
    ) -> Self:
        """Digest a key, and its secret where it has one; InputError when it cannot be sent.

        Keys are random and long, so one round of SHA-256 keeps them.
        """
        text = key.reveal()
        if not text or set("/:") & set(text):
            msg = f"the API key {name!r} is empty or holds / or :, so no client could present it"
            raise InputError(msg)
        return cls(
            name=name,
            key_digest=_digest(text),
            secret_digest=_digest(secret.reveal()) if secret else None,
            network_ids=None if network_ids is None else frozenset(network_ids),
        )

    def opens(self, network_id: NetworkId) -> bool:
        return self.network_ids is None or network_id in self.network_ids


class KeyRing:
    """The keys that are accepted, found by what a caller presents.

    A lookup goes by the digest of the presented text: what its duration tells is about the
    digest, which nobody can steer towards a key.
    """

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        """Refuse two entries with the same key: a log could not say who called."""
        self._by_digest: dict[bytes, ApiKey] = {}
        for key in keys:
            other = self._by_digest.setdefault(key.key_digest, key)
            if other is not key:
                msg = f"{other.name!r} and {key.name!r} have the same API key; give each its own"
                raise InputError(msg)

    def find(self, key: str) -> ApiKey | None:
        """Return the entry of a key that stands in a path."""
        digest = _digest(key)
        found = self._by_digest.get(digest)
        if found is None or not hmac.compare_digest(found.key_digest, digest):
            return None
        return found

    def find_with_secret(self, key: str, secret: str) -> ApiKey | None:
        """Return the entry of a key that comes with its secret; None when either is wrong.

        A key without a secret is never found this way, not even by an empty one.
        """
        found = self.find(key)
        wanted = found.secret_digest if found else None
        matches = hmac.compare_digest(wanted or _NOTHING, _digest(secret))
        return found if wanted and matches else None


def basic_credentials(header: str | None) -> tuple[str, str] | None:
    """Read user and password of an ``Authorization: Basic`` header; None when it is no such."""
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
