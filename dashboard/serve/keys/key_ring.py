"""The API keys that are accepted: names and digests, never the keys themselves."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

from dashboard.domain.api_key import KeyLimits
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import InputError

_NOTHING = hashlib.sha256(b"").digest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key of one caller; `name` is what logs call the caller.

    `network_ids` are the networks that the key opens; None opens all of them.
    `methods` are those that it may call, without their prefix, and the gas operations; None is
    all of them. `may_report`: whether it may save rejections. `requests_per_second` and `burst`
    bound how often; None is as often as it likes.
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
        """Digest a key and its secret, if any; InputError where no client could send the key.

        Keys are random and long, so one round of SHA-256 is enough.
        """
        text = key.reveal()
        if not text or set("/:") & set(text):
            msg = f"the API key {name!r} is empty or holds / or :, so no client could present it"
            raise InputError(msg)
        return cls(
            name=name,
            key_digest=digest(text),
            secret_digest=digest(secret.reveal()) if secret else None,
            network_ids=None if network_ids is None else frozenset(network_ids),
        )

    def limited(self, limits: KeyLimits, default_rate: float) -> Self:
        """Return the key with these limits; `default_rate` is for those without a rate."""
        rate, burst = limits.rate_in_force(default_rate)
        return replace(
            self,
            network_ids=limits.network_ids,
            methods=limits.methods,
            may_report=limits.may_report,
            requests_per_second=rate,
            burst=burst,
        )

    def opens(self, network_id: NetworkId) -> bool:
        return self.network_ids is None or network_id in self.network_ids


class KeyRing:
    """The keys that are accepted, found by what a caller presents; they may change at any time.

    Keys are found by the digest of the presented text, so the duration reveals something of the
    digest only, which nobody can steer towards a key. Only the event loop's thread changes keys.
    """

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        """Raise InputError for two entries with the same key: logs could not name the caller."""
        self._by_digest = _by_digest(keys)
        self._listeners: set[Callable[[], None]] = set()

    def __len__(self) -> int:
        """Count the keys."""
        return len(self._by_digest)

    def find(self, key: str) -> ApiKey | None:
        """Return the entry of a key from a path."""
        presented = digest(key)
        found = self._by_digest.get(presented)
        if found is None or not hmac.compare_digest(found.key_digest, presented):
            return None
        return found

    def find_with_secret(self, key: str, secret: str) -> ApiKey | None:
        """Return the entry of a key that comes with its secret; None when either is wrong.

        A key without a secret is never found this way, not even by an empty one.
        """
        found = self.find(key)
        wanted = found.secret_digest if found else None
        matches = hmac.compare_digest(wanted or _NOTHING, digest(secret))
        return found if wanted and matches else None

    def current(self, caller: ApiKey) -> ApiKey | None:
        """Return the present entry of a caller, None where the key is no longer accepted."""
        return self._by_digest.get(caller.key_digest)

    def replace(self, keys: Iterable[ApiKey]) -> None:
        """Accept these keys from now on and call all listeners; InputError as at the start."""
        self._by_digest = _by_digest(keys)
        for listener in tuple(self._listeners):
            listener()

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each change of keys; return a function that ends this."""
        self._listeners.add(listener)
        return lambda: self._listeners.discard(listener)


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


def digest(text: str) -> bytes:
    """Return the digest of a key or secret."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _by_digest(keys: Iterable[ApiKey]) -> dict[bytes, ApiKey]:
    found: dict[bytes, ApiKey] = {}
    for key in keys:
        other = found.setdefault(key.key_digest, key)
        if other is not key:
            msg = f"{other.name!r} and {key.name!r} have the same API key; give each its own"
            raise InputError(msg)
    return found
