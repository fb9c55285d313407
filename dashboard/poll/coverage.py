"""Keeps the coverage of one network during one term: that it is watched, and what is missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from dashboard.detect.coverage import Look, conclude_coverage
from dashboard.domain.coverage import SHORTEST_GAP, CoverageChange, Covered, Watched
from dashboard.domain.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.poll.clocks import Clocks
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.stored_fees import fees_answered_at
from dashboard.store.monitoring.coverage import covered, save_coverage
from dashboard.store.monitoring.upstream_failures import StandingFailure, read_standing_failures


@dataclass(slots=True)
class CoverageWatch:
    """Looks at one network again and again; begin a new one with each term.

    `looked_at` is when the last look was written down, in elapsed time.
    """

    network_id: NetworkId
    watched: Sequence[Watched]
    clocks: Clocks
    looked_at: timedelta | None = None

    def look(self, connection: Connection) -> timedelta:
        """Write down what this look changes; return its time, for `kept` once it is on disk."""
        at, elapsed = self.clocks.now(), self.clocks.elapsed()
        since_last = None if self.looked_at is None else elapsed - self.looked_at
        failures = {
            each.operation: each for each in read_standing_failures(connection, self.network_id)
        }
        held = {each.watched: each for each in covered(connection, [self.network_id])}
        for watched in self.watched:
            failure = _failure_of(connection, self.network_id, watched, failures, at)
            look = Look(at, since_last)
            if failure is not None and _has_lasted(failure):
                look = Look(at, since_last, failure.failing_since, failure.failure.message)
            before = held.get(watched)
            change = (
                CoverageChange(Covered(self.network_id, watched, at, at))
                if before is None
                else conclude_coverage(before, look)
            )
            save_coverage(connection, before, change)
        return elapsed

    def kept(self, looked_at: timedelta) -> None:
        """Remember a look that is on disk."""
        self.looked_at = looked_at


def _has_lasted(failure: StandingFailure) -> bool:
    """Whether failures themselves span a gap: after a single one, time shows nothing."""
    return failure.last_failed_at - failure.failing_since >= SHORTEST_GAP


def _failure_of(
    connection: Connection,
    network_id: NetworkId,
    watched: Watched,
    failures: dict[Operation, StandingFailure],
    now: datetime,
) -> StandingFailure | None:
    """Return why nothing is seen now; fees that the node answers instead count as seen."""
    if watched is Watched.REJECTIONS:
        return failures.get(Operation.EXCLUSION_STATUS)
    failure = failures.get(Operation.SUGGESTED_GAS_FEES)
    if failure is None:
        return None
    answered_at = fees_answered_at(connection, network_id, now)
    return None if answered_at is not None and answered_at >= failure.failing_since else failure
