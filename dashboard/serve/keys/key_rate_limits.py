"""What a key may call and how often; calls and refusals are counted for each key."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from dashboard.domain.api_key import usual_burst
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.wire.exclusion import SAVE_REJECTED
from dashboard.wire.method_names import FREE

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


@dataclass(slots=True)
class _Allowance:
    """When the calls so far are paid for: each costs a period of the rate (GCRA)."""

    paid_at: float = -math.inf


@dataclass(slots=True)
class _KeyUsage:
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
        """Count `calls` against a key's rate; return the seconds to wait, 0 where admitted.

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
        """Admit calls that came one by one if all of them fit; otherwise none, and count none."""
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
        """Return the uses since the last time by the digest of each key, and reset them."""
        now = self._clock()
        uses = {
            digest: UsageDelta(usage.calls, usage.refusals, now - usage.last_at)
            for digest, usage in self._usages.items()
            if usage.calls or usage.refusals
        }
        self._taken = self.call_counts()
        for digest in uses:
            self._usages[digest].calls = self._usages[digest].refusals = 0
        return uses

    def restore_uses(self, uses: dict[bytes, UsageDelta]) -> None:
        """Add uses again that were taken and could not be saved."""
        for digest, use in uses.items():
            usage = self._usages[digest]
            usage.calls += use.calls
            usage.refusals += use.refusals
            taken = self._taken[usage.name]
            self._taken[usage.name] = CallCounts(
                taken.calls - use.calls, taken.refusals - use.refusals
            )

    def call_counts(self) -> dict[str, CallCounts]:
        """Return the calls since the start, by the names of keys."""
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
