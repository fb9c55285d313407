"""Who comes in: a caller by the key that is presented, or a stranger, who may have to wait."""

from __future__ import annotations

from typing import NamedTuple

from starlette.types import Scope

from dashboard.serve.keys.authentication_throttle import Strangers
from dashboard.serve.keys.key_ring import ApiKey, KeyRing, basic_credentials
from dashboard.serve.monitoring import access_log


class Stranger(NamedTuple):
    """Somebody without a right key; `wait`: seconds until the address may try again, 0 for now."""

    wait: int = 0


class Doors:
    """Finds callers, and bounds how often an address may present wrong keys."""

    def __init__(self, keys: KeyRing, strangers: Strangers) -> None:
        """Let in whoever has one of these keys."""
        self._keys = keys
        self._strangers = strangers

    def by_key(self, key: str, scope: Scope) -> ApiKey | Stranger:
        """Find the caller of a request with a key in its path."""
        return self._judged(self._keys.find(key), scope)

    def by_basic(self, header: str | None, scope: Scope) -> ApiKey | Stranger:
        """Find the caller by the header Authorization; without one, nothing was tried."""
        if header is None:
            return Stranger()
        credentials = basic_credentials(header)
        found = self._keys.find_with_secret(*credentials) if credentials else None
        return self._judged(found, scope)

    def _judged(self, caller: ApiKey | None, scope: Scope) -> ApiKey | Stranger:
        """Hold the address to its bound, and leave the caller's name for the log."""
        client = scope.get("client")
        wait = self._strangers.wait(client[0] if client else None, caller)
        if wait or caller is None:
            return Stranger(wait)
        scope[access_log.CALLER] = caller.name
        return caller
