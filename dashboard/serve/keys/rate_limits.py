"""What a key may do, and how often: admitted or told to wait, and counted either way."""

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


class Use(NamedTuple):
    """What one key did since it was last asked: calls let in, calls refused, and how long ago."""

    calls: int
    refusals: int
    seconds_ago: float


class Tally(NamedTuple):
    """Calls that the keys of one name were let in with, and refused, since the start."""

    calls: int = 0
    refusals: int = 0


@dataclass(slots=True)
class _Allowance:
    """When the calls so far are paid for: each costs the time in which the rate allows one."""

    paid_at: float = -math.inf


@dataclass(slots=True)
class _Meter:
    """What one key did; keys of one name draw on one allowance."""

    name: str
    allowance: _Allowance
    calls: int = 0
    refusals: int = 0
    last_at: float = 0.0


class Gate:
    """Holds callers to their rates and rights; used by the event loop's thread alone.

    Each process counts for itself, so with several a key may call so often at each.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Let time pass by `clock`, in seconds."""
        self._clock = clock
        self._meters: dict[bytes, _Meter] = {}
        self._allowances: dict[str, _Allowance] = {}
        self._taken: dict[str, Tally] = {}

    def admit(self, caller: ApiKey, calls: int) -> int:
        """Count `calls` against a key's rate; return the seconds to wait, 0 where admitted.

        More calls at once than the key's burst never fit: bound batches by it before.
        """
        meter = self._meters.get(caller.key_digest) or self._new_meter(caller)
        now = meter.last_at = self._clock()
        rate = caller.requests_per_second
        if rate is not None:
            allowance = meter.allowance
            paid_at = allowance.paid_at
            if paid_at < now:  # noqa: PLR1730 - a call of max() takes as long as all the rest
                paid_at = now
            paid_at += calls / rate
            excess = paid_at - now - (caller.burst or usual_burst(rate)) / rate
            if excess > _ROUNDING:
                meter.refusals += calls
                return math.ceil(excess)
            allowance.paid_at = paid_at
        meter.calls += calls
        return 0

    def admit_together(self, caller: ApiKey, calls: int) -> bool:
        """Admit calls that came one by one where all of them fit; otherwise none, uncounted."""
        if not self.admit(caller, calls):
            return True
        self._meters[caller.key_digest].refusals -= calls  # `admit` will find which come too fast
        return False

    def allows(self, caller: ApiKey, method: str) -> bool:
        """Whether a key may call a method, named without its prefix, or a gas operation."""
        if caller.methods is None and caller.may_report:
            return True
        if method == SAVE_REJECTED and not caller.may_report:
            return False
        return caller.methods is None or method in caller.methods or method in FREE

    def refused(self, caller: ApiKey, calls: int = 1) -> None:
        """Count calls, admitted before, as refused: the key may not call that."""
        meter = self._meters.get(caller.key_digest) or self._new_meter(caller)
        meter.calls -= calls
        meter.refusals += calls

    def take_uses(self) -> dict[bytes, Use]:
        """Return what was done since the last time, by the digest of each key, and start anew."""
        now = self._clock()
        uses = {
            digest: Use(meter.calls, meter.refusals, now - meter.last_at)
            for digest, meter in self._meters.items()
            if meter.calls or meter.refusals
        }
        self._taken = self.tallies()
        for digest in uses:
            self._meters[digest].calls = self._meters[digest].refusals = 0
        return uses

    def give_back(self, uses: dict[bytes, Use]) -> None:
        """Count again what was taken and could not be kept."""
        for digest, use in uses.items():
            meter = self._meters[digest]
            meter.calls += use.calls
            meter.refusals += use.refusals
            taken = self._taken[meter.name]
            self._taken[meter.name] = Tally(taken.calls - use.calls, taken.refusals - use.refusals)

    def tallies(self) -> dict[str, Tally]:
        """Return what was done since the start, by the names of keys."""
        tallies = dict(self._taken)
        for meter in self._meters.values():
            taken = tallies.get(meter.name, Tally())
            tallies[meter.name] = Tally(taken.calls + meter.calls, taken.refusals + meter.refusals)
        return tallies

    def _new_meter(self, caller: ApiKey) -> _Meter:
        allowance = self._allowances.setdefault(caller.name, _Allowance())
        return self._meters.setdefault(caller.key_digest, _Meter(caller.name, allowance))
