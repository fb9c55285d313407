"""Authentication: who calls, by the key that a request presents."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from starlette.types import Scope

from dashboard.domain.addresses import client_prefix
from dashboard.domain.people.access import ApiKey
from dashboard.logs import get_logger
from dashboard.serve.keys.key_ring import KeyRing, basic_credentials
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


_MINUTE: Final = 60.0
_MOST_ADDRESSES: Final = 10_000
_ROUNDING: Final = 1e-9
"""Seconds by which sums of fractions may be off."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _ClientRecord:
    """One address: until when its wrong attempts count, and the valid keys that it has used."""

    counted_until: float = -math.inf
    logged_at: float = -math.inf
    valid_keys: set[bytes] = field(default_factory=set)


class AuthenticationThrottle:
    """Limits how fast keys can be guessed; used by the event loop's thread alone.

    An address without attempts left is refused whatever key it presents, so that it does not learn
    which is valid; but a key that was accepted from there before goes on working.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow each address `per_minute` wrong attempts a minute, 0 for any number."""
        self._cost = _MINUTE / per_minute if per_minute else 0.0
        self._clock = clock
        self._clients: dict[str, _ClientRecord] = {}
        self.attempts = 0
        self.refusals = 0

    @property
    def remembered(self) -> int:
        """How many addresses are remembered."""
        return len(self._clients)

    def wait(self, address: str | None, caller: ApiKey | None) -> int:
        """Record an attempt, successful if there is a caller; return the seconds to wait, or 0."""
        client = client_prefix(address or "")
        record = self._clients.get(client)
        if record is not None and caller is not None and caller.key_digest in record.valid_keys:
            return 0
        self.attempts += caller is None
        return self._record_attempt(client, caller) if self._cost else 0

    def _record_attempt(self, client: str, caller: ApiKey | None) -> int:
        record = self._client_record(client)
        now = self._clock()
        counted_until = max(record.counted_until, now) + self._cost
        excess = counted_until - now - _MINUTE
        if excess > _ROUNDING:
            self.refusals += 1
            self._log_refusal(record, now, client)
            return math.ceil(excess)
        if caller is None:
            record.counted_until = counted_until
        else:
            record.valid_keys.add(caller.key_digest)
        return 0

    def _client_record(self, client: str) -> _ClientRecord:
        found = self._clients.get(client)
        if found is None:
            if len(self._clients) >= _MOST_ADDRESSES:
                del self._clients[next(iter(self._clients))]
            found = self._clients[client] = _ClientRecord()
        return found

    def _log_refusal(self, record: _ClientRecord, now: float, client: str) -> None:
        """Log a refusal, at most once a minute for each address."""
        if now - record.logged_at >= _MINUTE:
            record.logged_at = now
            _log.warning("An address presents too many wrong keys and has to wait", address=client)
