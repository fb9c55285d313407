"""Runs the traffic: submits reports until they are accepted, includes and tracks transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Never, Protocol, TypeAlias

import anyio.to_thread

from dashboard.devnet.accepted_transactions import AcceptedTransactions
from dashboard.devnet.chain import Chain
from dashboard.devnet.node import Node
from dashboard.devnet.traffic import Include, SubmitReport, Track, Traffic, TrafficAction
from dashboard.domain.clock import Clock
from dashboard.domain.exclusion import REPORTING_DELAY, RejectionReport, SaveStatus
from dashboard.domain.quantity import TxHash
from dashboard.errors import LinewatchError
from dashboard.logs import get_logger

BACKLOG: Final = timedelta(minutes=5)
"""Traffic of this time before the start runs at once, so that pages are not empty."""

TICK_SECONDS: Final = 1.0
FIRST_PAUSE: Final = timedelta(seconds=1)
LONGEST_PAUSE: Final = timedelta(seconds=60)

TrackTransaction: TypeAlias = Callable[[TxHash, datetime, str], object]
"""Track a hash, with the time of its attempt and a label; may block."""

Pause: TypeAlias = Callable[[float], Awaitable[object]]

_log = get_logger(__name__)


class ReportReceiver(Protocol):
    """Receives reports; `upstream.exclusion.ExclusionClient` is the one in use."""

    async def report(self, report: RejectionReport) -> SaveStatus:
        """Submit one report; raises UpstreamError where it was not accepted."""
        ...


@dataclass(frozen=True, slots=True)
class _PendingAction:
    """An action that is not done yet; `tried_at` is the first failed attempt."""

    action: TrafficAction
    due: datetime
    failures: int = 0
    tried_at: datetime | None = None


class TrafficRunner:
    """Acts as the simulated nodes and senders.

    Actions that fail are retried for two hours, first after a second, then ever more slowly. They
    are kept in memory only, since the traffic can be computed again.
    """

    def __init__(
        self,
        chain: Chain,
        accepted: AcceptedTransactions,
        serve: ReportReceiver,
        track: TrackTransaction,
        clock: Clock,
    ) -> None:
        """Begin a little before the present moment."""
        self._traffic = Traffic(chain)
        self._node = Node(chain, accepted, clock)
        self._serve = serve
        self._track = track
        self._clock = clock
        self._opening = clock()
        self._done_until = self._opening - BACKLOG
        self._pending: list[_PendingAction] = []
        self._is_failing = False

    @property
    def pending(self) -> int:
        """How many actions failed so far and wait for another attempt."""
        return len(self._pending)

    async def run(self, pause: Pause = asyncio.sleep) -> Never:
        """Run due actions every second, until cancelled."""
        while True:
            await self.step()
            await pause(TICK_SECONDS)

    async def step(self) -> None:
        """Run all actions that are due."""
        now = self._clock()
        since = max(self._done_until, now - BACKLOG)
        self._done_until = max(self._done_until, now)
        due = self._traffic.actions(since, now, self._opening)
        self._pending = await self._run_all(
            [*self._pending, *(_PendingAction(each, now) for each in due)], now
        )

    async def _run_all(self, pending: list[_PendingAction], now: datetime) -> list[_PendingAction]:
        """Return what is left; reports come last, and after a refused one no other is tried."""
        left, is_refused = [], False
        for each in sorted(pending, key=_is_report):
            is_report = _is_report(each)
            if not _is_due(each, now) or (is_report and is_refused):
                left.append(each)
            elif await self._succeeds(each.action):
                self._log_change(is_failing=False)
            else:
                is_refused = is_refused or is_report
                left += _retry(each, now)
        return left

    async def _succeeds(self, action: TrafficAction) -> bool:
        try:
            await self._run_action(action)
        except LinewatchError as error:
            self._log_change(is_failing=True, error=str(error))
            return False
        except Exception:  # noqa: BLE001 - the top of the loop: the other actions go on
            _log.exception("A simulated action failed unexpectedly")
            return False
        return True

    async def _run_action(self, action: TrafficAction) -> None:
        match action:
            case SubmitReport():
                await self._serve.report(action.report)
            case Include():
                self._node.place(action.transaction)
            case Track():
                await anyio.to_thread.run_sync(
                    self._track, action.tx_hash, action.attempted_at, action.label
                )

    def _log_change(self, *, is_failing: bool, error: str = "") -> None:
        """Log a change between working and failing, not every attempt."""
        if is_failing and not self._is_failing:
            _log.info("Simulated traffic waits", error=error)
        if self._is_failing and not is_failing:
            _log.info("Simulated traffic continues")
        self._is_failing = is_failing


def _is_report(pending: _PendingAction) -> bool:
    return isinstance(pending.action, SubmitReport)


def _is_due(pending: _PendingAction, now: datetime) -> bool:
    """Return whether to try; a clock that is set back delays it only briefly."""
    return pending.due <= now or pending.due > now + LONGEST_PAUSE


def _retry(pending: _PendingAction, now: datetime) -> list[_PendingAction]:
    """Return the action with its next time; nothing once a node would give up."""
    tried_at = pending.tried_at or now
    if now - tried_at >= REPORTING_DELAY:
        _log.warning("A simulated action is dropped", action=type(pending.action).__name__)
        return []
    pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(pending.failures, 10))
    return [
        replace(pending, due=now + pause, failures=pending.failures + 1, tried_at=tried_at),
    ]
