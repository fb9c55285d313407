"""Authentication: who calls, by the key that a request presents."""

from __future__ import annotations

from typing import NamedTuple

from starlette.types import Scope

from dashboard.serve.keys.authentication_throttle import AuthenticationThrottle
from dashboard.serve.keys.key_ring import ApiKey, KeyRing, basic_credentials
from dashboard.serve.routes import SCOPE_CALLER


class Unauthenticated(NamedTuple):
    """A client without a valid key; `wait`: seconds until its address may try again, or 0."""

    wait: int = 0


class Authenticator:
    """Finds the caller of a request by the key that it presents."""

    def __init__(self, keys: KeyRing, authentication_throttle: AuthenticationThrottle) -> None:
        """Accept these keys."""
        self._keys = keys
        self._throttle = authentication_throttle

    def by_key(self, key: str, scope: Scope) -> ApiKey | Unauthenticated:
        """Find the caller of a request with a key in its path."""
        return self._authenticated(self._keys.find(key), scope)

    def by_basic(self, header: str | None, scope: Scope) -> ApiKey | Unauthenticated:
        """Find the caller by the header Authorization; a missing header is no attempt."""
        if header is None:
            return Unauthenticated()
        credentials = basic_credentials(header)
        found = self._keys.find_with_secret(*credentials) if credentials else None
        return self._authenticated(found, scope)

    def _authenticated(self, caller: ApiKey | None, scope: Scope) -> ApiKey | Unauthenticated:
        """Throttle the address, and put the caller's name into the scope for the access log."""
        client = scope.get("client")
        wait = self._throttle.wait(client[0] if client else None, caller)
        if wait or caller is None:
            return Unauthenticated(wait)
        scope[SCOPE_CALLER] = caller.name
        return caller
