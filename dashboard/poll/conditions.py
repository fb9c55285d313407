"""Conclude what holds of a network from what is stored, in the transaction that stores it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from dashboard.detect.gas import (
    FLAT_FOR,
    PRIORITY_WINDOW,
    BaseFeeReadings,
    PriorityFeeReadings,
    is_flat,
    measure_busyness,
)
from dashboard.detect.holding import ConditionRules, HoldRule, Reading, conclude
from dashboard.detect.silence import (
    STALE_AFTER_PERIODS,
    Answered,
    Unanswered,
    detect_silence,
    detect_staleness,
)
from dashboard.domain.condition import State, Subject, SubjectKind
from dashboard.domain.fee_percentiles import RankedFees
from dashboard.domain.observation import GasObservation, GasSource, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.poll.clocks import Clocks, SetClock
from dashboard.store.alerts.conditions import (
    current_condition,
    current_state,
    record_transition,
    set_turning_since,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.recent_fees import RecentFees
from dashboard.store.fees.rollups import SavedFees
from dashboard.store.fees.stored_fees import fees_answered_at, percentile_answered_by_api_at
from dashboard.store.monitoring.upstream_failures import failing
from dashboard.store.observations import Asked, latest_percentile


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of one network during one term, which begins now.

    Everything is concluded from the store, so that a worker that begins, or begins again, knows
    what was told and what is too old. A conclusion about busyness needs fresh fees: while they
    are stale, or their source is silent, what is held stays held, and afterwards waiting begins
    anew. So it does where the clock was set: that is no news of a network. The periods say how
    often suggested fees and the busy threshold are asked.
    """

    network_id: NetworkId
    fees_period: timedelta
    threshold_period: timedelta
    rules: ConditionRules
    clocks: Clocks
    new_id: Callable[[], UUID]
    recent_fees: RecentFees = field(init=False)
    set_clock: SetClock = field(init=False)

    def __post_init__(self) -> None:
        """Hold no fees yet."""
        recent = RecentFees(self.network_id, base_fees=FLAT_FOR, priority_fees=PRIORITY_WINDOW)
        object.__setattr__(self, "recent_fees", recent)
        object.__setattr__(self, "set_clock", SetClock(self.clocks))

    def keep_gas(
        self, connection: Connection, observation: GasObservation, save: Callable[[], SavedFees]
    ) -> None:
        """Save what one poll saw, and conclude from it; what was too old until now is noted.

        Within a turn of `recent_fees`.
        """
        now = observation.asked_at
        self.look_at_gas(connection, now)
        told_before = fees_answered_at(connection, self.network_id, now)
        self.recent_fees.note(save())
        self.look_at_gas(connection, now)
        if observation.suggested_gas_fees is None:
            return
        if told_before is None or now - told_before > STALE_AFTER_PERIODS * self.fees_period:
            self._settle(connection, SubjectKind.BUSYNESS, None)
        is_muted = self._is_muted(connection, observation)
        sight = None if is_muted else self._see_busyness(connection, observation)
        self._settle(connection, SubjectKind.BUSYNESS, sight)

    def look_at_gas(self, connection: Connection, now: datetime) -> None:
        """Conclude whether the source of fees is silent, and whether fees are stale."""
        self.set_clock.look()
        unanswered = self._unanswered(connection, Operation.SUGGESTED_GAS_FEES)
        told_at = fees_answered_at(connection, self.network_id, now)
        answered_at = told_at
        if unanswered is not None:
            answered_at = percentile_answered_by_api_at(connection, self.network_id, now)
        silence = detect_silence(unanswered, answered_at, self.set_clock.since, now)
        self._settle(connection, SubjectKind.GAS_API, silence)
        silent_since = self._silent_since(connection, unanswered, silence)
        answered = self._answered(connection, told_at, now)
        self._settle(connection, SubjectKind.FEES, detect_staleness(answered, silent_since, now))

    def look_at_exclusion(self, connection: Connection, now: datetime) -> None:
        """Conclude whether the exclusion API is silent; one that was never asked is not.

        It may be asked rarely. So silence is told only where failures themselves span the pending
        time: after a single one, time that passes shows nothing.
        """
        self.set_clock.look()
        kind = SubjectKind.EXCLUSION_API
        unanswered = self._unanswered(connection, Operation.EXCLUSION_STATUS)
        sight = None
        if unanswered is None:
            if self._state(connection, kind) is not None:
                sight = Reading(is_trouble=False, at=now)
        elif unanswered.failed_for >= self.rules.of(kind).pending:
            sight = detect_silence(unanswered, None, self.set_clock.since, now)
        self._settle(connection, kind, sight)

    def _see_busyness(self, connection: Connection, observation: GasObservation) -> Reading | None:
        now, fees = observation.asked_at, observation.suggested_gas_fees
        assert fees is not None  # noqa: S101 - asked only where fees were told
        mark = latest_percentile(connection, Asked(self.network_id, now), Operation.BUSY_THRESHOLD)
        longest = STALE_AFTER_PERIODS * self.threshold_period
        threshold = None if mark is None or now - mark.asked_at > longest else mark.value
        window, priority = self.recent_fees.base_fees(connection, now), RankedFees()
        if is_flat(window):
            priority = self.recent_fees.priority_fees(connection, now)
        grounds = measure_busyness(
            BaseFeeReadings(fees.estimated_base_fee, threshold, window),
            PriorityFeeReadings(fees.medium.suggested_max_priority_fee_per_gas, priority),
        )
        return None if grounds is None else Reading(grounds.is_busy, now, grounds=grounds)

    def _silent_since(
        self, connection: Connection, unanswered: Unanswered | None, silence: Reading | None
    ) -> datetime | None:
        """Return since when the source is silent, or was until a moment ago: not all is back."""
        if unanswered is not None and (silence is None or silence.is_trouble):
            return unanswered.failing_since
        found = current_condition(connection, Subject(SubjectKind.GAS_API, self.network_id))
        return None if found is None or found.state is not State.SILENT else found.since

    def _answered(
        self, connection: Connection, told_at: datetime | None, now: datetime
    ) -> list[Answered]:
        mark = latest_percentile(connection, Asked(self.network_id, now), Operation.BUSY_THRESHOLD)
        found = []
        trusted = self.set_clock.trusted
        if told_at is not None:
            told = Answered(Operation.SUGGESTED_GAS_FEES, trusted(told_at), self.fees_period)
            found.append(told)
        if mark is not None:
            asked_at = trusted(mark.asked_at)
            found.append(Answered(Operation.BUSY_THRESHOLD, asked_at, self.threshold_period))
        elif told_at is not None:
            waited = Answered(
                Operation.BUSY_THRESHOLD,
                self.set_clock.since,
                self.threshold_period,
                was_answered=False,
            )
            found.append(waited)
        return found

    def _is_muted(self, connection: Connection, observation: GasObservation) -> bool:
        """Whether busyness must not be concluded: fees are stale, or their source is silent."""
        if self._state(connection, SubjectKind.FEES) is State.STALE:
            return True
        source = observation.source_of(Operation.SUGGESTED_GAS_FEES)
        is_silent = self._state(connection, SubjectKind.GAS_API) is State.SILENT
        return is_silent and source is not GasSource.NODE_INSTEAD

    def _state(self, connection: Connection, kind: SubjectKind) -> State | None:
        return current_state(connection, Subject(kind, self.network_id))

    def _settle(self, connection: Connection, kind: SubjectKind, sight: Reading | None) -> None:
        """Write down what a sight changes, and since when the opposite of what is held is seen."""
        subject, rule = Subject(kind, self.network_id), self.rules.of(kind)
        settle(connection, subject, (sight, rule), self.new_id(), self.set_clock)

    def _unanswered(self, connection: Connection, operation: Operation) -> Unanswered | None:
        trusted = self.set_clock.trusted
        return next(
            (
                Unanswered(trusted(each.failing_since), each.last_failed_at, each.failure.message)
                for each in failing(connection, self.network_id)
                if each.operation is operation
            ),
            None,
        )


def settle(
    connection: Connection,
    subject: Subject,
    seen: tuple[Reading | None, HoldRule],
    new_id: UUID,
    set_clock: SetClock,
) -> None:
    """Write down what a sight changes, and since when the opposite of what is held is seen."""
    before = current_condition(connection, subject)
    noted = None if before is None else before.turning_since
    if before is not None and noted is not None:
        before = replace(before, turning_since=set_clock.trusted(noted))
    concluded = conclude(subject, before, *seen, new_id)
    if concluded.transition is not None:
        record_transition(connection, concluded.transition, None)
        noted = None
    if concluded.turning_since != noted:
        set_turning_since(connection, subject, concluded.turning_since)
