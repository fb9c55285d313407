"""Callers without a right key: so many attempts from one address, then it has to wait."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from starlette.types import Scope

from dashboard.logs import get_logger
from dashboard.serve.keys.key_ring import ApiKey, KeyRing, basic_credentials
from dashboard.serve.routes import SCOPE_CALLER
from dashboard.serve.transport.client_prefix import household


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
        scope[SCOPE_CALLER] = caller.name
        return caller


_MINUTE: Final = 60.0
_MOST_ADDRESSES: Final = 10_000
_ROUNDING: Final = 1e-9
"""Seconds by which sums of fractions may be off."""

_log = get_logger(__name__)


@dataclass(slots=True)
class _Visitor:
    """One address: when its wrong attempts are forgiven, and the keys that it has shown it has."""

    forgiven_at: float = -math.inf
    told_at: float = -math.inf
    known: set[bytes] = field(default_factory=set)


class Strangers:
    """Bounds how fast keys can be guessed; used by the event loop's thread alone.

    An address that used up its attempts is refused whatever key it shows, so that it does not
    learn which is right; but a key that was let in from there before goes on working.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow each address so many wrong attempts a minute, 0 for any number."""
        self._cost = _MINUTE / per_minute if per_minute else 0.0
        self._clock = clock
        self._visitors: dict[str, _Visitor] = {}
        self.attempts = 0
        self.refusals = 0

    @property
    def remembered(self) -> int:
        """How many addresses are kept in mind."""
        return len(self._visitors)

    def wait(self, address: str | None, caller: ApiKey | None) -> int:
        """Note an attempt, right where there is a caller; return the seconds to wait, usually 0."""
        client = household(address or "")
        visitor = self._visitors.get(client)
        if visitor is not None and caller is not None and caller.key_digest in visitor.known:
            return 0
        self.attempts += caller is None
        return self._judged(client, caller) if self._cost else 0

    def _judged(self, client: str, caller: ApiKey | None) -> int:
        visitor = self._visitor(client)
        now = self._clock()
        forgiven_at = max(visitor.forgiven_at, now) + self._cost
        excess = forgiven_at - now - _MINUTE
        if excess > _ROUNDING:
            self.refusals += 1
            self._tell(visitor, now, client)
            return math.ceil(excess)
        if caller is None:
            visitor.forgiven_at = forgiven_at
        else:
            visitor.known.add(caller.key_digest)
        return 0

    def _visitor(self, client: str) -> _Visitor:
        found = self._visitors.get(client)
        if found is None:
            if len(self._visitors) >= _MOST_ADDRESSES:
                del self._visitors[next(iter(self._visitors))]
            found = self._visitors[client] = _Visitor()
        return found

    def _tell(self, visitor: _Visitor, now: float, client: str) -> None:
        """Log it, once a minute for an address."""
        if now - visitor.told_at >= _MINUTE:
            visitor.told_at = now
            _log.warning("An address shows too many wrong keys and has to wait", address=client)
