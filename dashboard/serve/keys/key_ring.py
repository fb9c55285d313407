"""The keys in force, how often each may call, and who calls."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import time
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from msgspec import Struct, field
from starlette.types import Scope

from dashboard.domain.ip_addresses import client_prefix
from dashboard.domain.people.access import ApiKey, digest, usual_burst
from dashboard.errors import InputError
from dashboard.logs import get_logger
from dashboard.serve.routes import SCOPE_CALLER
from dashboard.wire.params import FREE, SAVE_REJECTED

_NOTHING = hashlib.sha256(b"").digest()


class KeyRing:
    """The accepted keys, found by what a caller presents; they may change at any time.

    Keys are found by the digest of the presented text, so the duration reveals something of the
    digest only, which nobody can steer towards a key. Only the event loop's thread changes keys.
    """

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        """Raise InputError for two entries with the same key: logs could not name the caller."""
        self._by_digest = _by_digest(keys)
        self._listeners: set[Callable[[], None]] = set()

    def __len__(self) -> int:
        return len(self._by_digest)

    def find(self, key: str) -> ApiKey | None:
        """Return the entry of a key from a path."""
        presented = digest(key)
        found = self._by_digest.get(presented)
        if found is None or not hmac.compare_digest(found.key_digest, presented):
            return None
        return found

    def find_with_secret(self, key: str, secret: str) -> ApiKey | None:
        """Return the entry of a key that comes with its secret; None if either is wrong.

        A key without a secret is never found this way, not even with an empty one.
        """
        found = self.find(key)
        wanted = found.secret_digest if found else None
        matches = hmac.compare_digest(wanted or _NOTHING, digest(secret))
        return found if wanted and matches else None

    def current(self, caller: ApiKey) -> ApiKey | None:
        """Return the present entry of a caller, None if the key is no longer accepted."""
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
    """Read user and password of an ``Authorization: Basic`` header; None for any other header."""
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None


def _by_digest(keys: Iterable[ApiKey]) -> dict[bytes, ApiKey]:
    found: dict[bytes, ApiKey] = {}
    for key in keys:
        other = found.setdefault(key.key_digest, key)
        if other is not key:
            msg = f"{other.name!r} and {key.name!r} have the same API key; give each its own"
            raise InputError(msg)
    return found


_ROUNDING: Final = 1e-9
"""Seconds by which sums of fractions may be off."""


class UsageDelta(NamedTuple):
    """Uses of one key since they were last taken, and how long ago the last one was."""

    calls: int
    refusals: int
    seconds_ago: float


class CallCounts(NamedTuple):
    """Calls of the keys of one name since the start: admitted and refused."""

    calls: int = 0
    refusals: int = 0


class _Allowance(Struct):
    """When the calls so far are paid for: each costs one period of the rate (GCRA)."""

    paid_at: float = -math.inf


class _KeyUsage(Struct):
    """Uses of one key; keys of one name share one allowance."""

    name: str
    allowance: _Allowance
    calls: int = 0
    refusals: int = 0
    last_at: float = 0.0


class KeyLimiter:
    """Enforces the rates and rights of keys; used by the event loop's thread alone.

    Each process counts for itself, so several processes allow a key several times its rate.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Measure time by `clock`, in seconds."""
        self._clock = clock
        self._usages: dict[bytes, _KeyUsage] = {}
        self._allowances: dict[str, _Allowance] = {}
        self._taken: dict[str, CallCounts] = {}

    def admit(self, caller: ApiKey, calls: int) -> int:
        """Count `calls` against a key's rate; return the seconds to wait, 0 if admitted.

        More calls at once than the key's burst are never admitted: bound batches by it first.
        """
        usage = self._usages.get(caller.key_digest) or self._new_usage(caller)
        now = usage.last_at = self._clock()
        rate = caller.requests_per_second
        if rate is not None:
            allowance = usage.allowance
            paid_at = allowance.paid_at
            if paid_at < now:  # noqa: PLR1730 - a call of max() takes as long as all the rest
                paid_at = now
            paid_at += calls / rate
            excess = paid_at - now - (caller.burst or usual_burst(rate)) / rate
            if excess > _ROUNDING:
                usage.refusals += calls
                return math.ceil(excess)
            allowance.paid_at = paid_at
        usage.calls += calls
        return 0

    def admit_together(self, caller: ApiKey, calls: int) -> bool:
        """Admit calls that came one by one if all of them fit; otherwise admit and count none."""
        if not self.admit(caller, calls):
            return True
        self._usages[caller.key_digest].refusals -= calls  # `admit` will find which come too fast
        return False

    def allows(self, caller: ApiKey, method: str) -> bool:
        """Whether a key may call this method, named without its prefix, or gas operation."""
        if caller.methods is None and caller.may_report:
            return True
        if method == SAVE_REJECTED and not caller.may_report:
            return False
        return caller.methods is None or method in caller.methods or method in FREE

    def count_refusals(self, caller: ApiKey, calls: int = 1) -> None:
        """Count calls that were admitted as refused after all: the key may not call this."""
        usage = self._usages.get(caller.key_digest) or self._new_usage(caller)
        usage.calls -= calls
        usage.refusals += calls

    def take_uses(self) -> dict[bytes, UsageDelta]:
        """Return the uses since the last call by the digest of each key, and reset them."""
        now = self._clock()
        uses = {
            digest: UsageDelta(usage.calls, usage.refusals, now - usage.last_at)
            for digest, usage in self._usages.items()
            if usage.calls or usage.refusals
        }
        self._taken = self.call_counts()
        for each in uses:
            self._usages[each].calls = self._usages[each].refusals = 0
        return uses

    def restore_uses(self, uses: dict[bytes, UsageDelta]) -> None:
        """Add back uses that were taken and could not be saved."""
        for each, use in uses.items():
            usage = self._usages[each]
            usage.calls += use.calls
            usage.refusals += use.refusals
            taken = self._taken[usage.name]
            self._taken[usage.name] = CallCounts(
                taken.calls - use.calls, taken.refusals - use.refusals
            )

    def call_counts(self) -> dict[str, CallCounts]:
        call_counts = dict(self._taken)
        for usage in self._usages.values():
            taken = call_counts.get(usage.name, CallCounts())
            call_counts[usage.name] = CallCounts(
                taken.calls + usage.calls, taken.refusals + usage.refusals
            )
        return call_counts

    def _new_usage(self, caller: ApiKey) -> _KeyUsage:
        allowance = self._allowances.setdefault(caller.name, _Allowance())
        return self._usages.setdefault(caller.key_digest, _KeyUsage(caller.name, allowance))


class Unauthenticated(NamedTuple):
    """A client without a valid key; `wait`: seconds until its address may try again, or 0."""

    wait: int = 0


class Authenticator:
    """Finds the caller of a request by the key that it presents."""

    def __init__(self, keys: KeyRing, authentication_throttle: AuthenticationThrottle) -> None:
        self._keys = keys
        self._throttle = authentication_throttle

    def by_key(self, key: str, scope: Scope) -> ApiKey | Unauthenticated:
        """Find the caller of a request with a key in its path."""
        return self._authenticated(self._keys.find(key), scope)

    def by_basic(self, header: str | None, scope: Scope) -> ApiKey | Unauthenticated:
        """Find the caller by the header Authorization; without it nothing counts as an attempt."""
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
"""Seconds by which sums of fractions may be off."""

_log = get_logger(__name__)


class _ClientRecord(Struct):
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
