"""Keep the conditions and the coverage of a network: read, conclude, write what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from dashboard.detect.busyness import (
    FLAT_FOR,
    PRIORITY_WINDOW,
    BaseFeeReadings,
    PriorityFeeReadings,
    conclude_busyness,
    is_flat,
    measure_busyness,
)
from dashboard.detect.outage import (
    STALE_AFTER_PERIODS,
    Answered,
    GasReadings,
    Unanswered,
    Visit,
    conclude_coverage,
    conclude_exclusion_outage,
    conclude_gas,
    conclude_line_limits,
    conclude_unasked,
)
from dashboard.detect.start_and_end_of_conditions import Conclusions, ConditionRules
from dashboard.domain.alerts.condition import Condition, Subject, SubjectKind
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.fees.busy_spells import longest_pause
from dashboard.domain.fees.gas import GasObservation, SuggestedGasFees
from dashboard.domain.fees.percentiles import RankedFees
from dashboard.domain.health.coverage import SHORTEST_GAP, CoverageChange, Covered, Watched
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.poll.lease import Clocks, SetClock
from dashboard.store.alerts.conditions import (
    current_conditions,
    note_values,
    record_transition,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.busy_window import BusyWindow, save_spell
from dashboard.store.fees.latest import latest_percentile
from dashboard.store.fees.stored_fees import (
    PERCENTILES,
    fees_answered_at,
    percentile_answered_by_api_at,
)
from dashboard.store.monitoring.answer_counts import (
    StandingFailure,
    note_unasked,
    read_standing_failures,
)
from dashboard.store.monitoring.coverage import (
    PRECISION,
    WITHOUT_FEES,
    as_last_seen,
    covered,
    save_coverage,
)
from dashboard.store.rejections.limits_end import known_end

_OF_GAS: Final = (SubjectKind.GAS_API, SubjectKind.FEES, SubjectKind.BUSYNESS)


class StoredConditions(Struct, frozen=True):
    """The conditions of one network as stored, changed in the open transaction."""

    network_id: NetworkId
    rules: ConditionRules
    new_id: Callable[[], UUID]
    set_clock: SetClock

    @contextmanager
    def concluding(self, connection: Connection, *kinds: SubjectKind) -> Iterator[Conclusions]:
        """Yield the stored conditions of some subjects, then write what was concluded."""
        subjects = {kind: Subject(kind, self.network_id) for kind in kinds}
        found = current_conditions(connection, [*subjects.values()])
        stored = {kind: found.get(each.key()) for kind, each in subjects.items()}
        conclusions = Conclusions(self.network_id, self._trusted(stored), self.rules, self.new_id)
        yield conclusions
        for transition in conclusions.transitions:
            record_transition(connection, transition, None)
            if transition.subject.kind is SubjectKind.BUSYNESS:
                save_spell(connection, transition)
        changed = {each.subject.kind for each in conclusions.transitions}
        for kind, before in stored.items():
            after = conclusions.held.get(kind)
            if after is not None and (kind in changed or after != before):
                note_values(connection, subjects[kind], after)

    def _trusted(
        self, stored: Mapping[SubjectKind, Condition | None]
    ) -> dict[SubjectKind, Condition]:
        """Return the stored conditions; times from before the clock was set move to that moment."""
        trusted = self.set_clock.trusted
        return {
            kind: replace(
                each,
                turning_since=None if each.turning_since is None else trusted(each.turning_since),
                seen_at=None if each.seen_at is None else trusted(each.seen_at),
            )
            for kind, each in stored.items()
            if each is not None
        }


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of one network during one term, which begins now.

    Everything is concluded from the store, so that a worker knows from its start what was reported
    and what is too old. Busyness needs a fee and a fresh threshold; if one is missing for long, it
    is unknown. If the clock was set, waiting begins again: that says nothing of a network. The
    periods say how often suggested fees and the busy threshold are asked, `limits_end` when line
    limits end according to the settings.
    """

    network_id: NetworkId
    fees_period: timedelta
    threshold_period: timedelta
    rules: ConditionRules
    clocks: Clocks
    new_id: Callable[[], UUID]
    limits_end: LimitsEnd | None = None
    recent_fees: BusyWindow = field(init=False)
    set_clock: SetClock = field(init=False)
    _stored: StoredConditions = field(init=False)

    def __post_init__(self) -> None:
        recent = BusyWindow(self.network_id, base_fees=FLAT_FOR, priority_fees=PRIORITY_WINDOW)
        object.__setattr__(self, "recent_fees", recent)
        set_clock = SetClock(self.clocks)
        stored = StoredConditions(self.network_id, self.rules, self.new_id, set_clock)
        object.__setattr__(self, "set_clock", set_clock)
        object.__setattr__(self, "_stored", stored)

    def read_gas(self, connection: Connection, now: datetime) -> GasReadings:
        """Return who answers for fees, and since when nobody does."""
        self.set_clock.check()
        failures = read_standing_failures(connection, self.network_id)
        unanswered = self._unanswered(failures, Operation.SUGGESTED_GAS_FEES)
        fees_at = fees_answered_at(connection, self.network_id, now)
        answered_at = fees_at
        if unanswered is not None:
            answered_at = percentile_answered_by_api_at(connection, self.network_id, now)
            if answered_at is not None and answered_at > unanswered.failing_since:
                unanswered = self._after_other_answers(failures, unanswered)
        answered = tuple(self._answered(connection, fees_at, now))
        return GasReadings(now, self.set_clock.since, unanswered, answered_at, answered)

    def update_gas(self, connection: Connection, now: datetime) -> None:
        """Conclude from the store whether fees are stale, or their source has an outage."""
        readings = self.read_gas(connection, now)
        with self._stored.concluding(connection, *_OF_GAS) as conclusions:
            conclude_gas(conclusions, readings)
            conclude_busyness(conclusions, None, now, longest_pause(self.fees_period))

    def update_gas_saved(
        self, connection: Connection, before: GasReadings, observation: GasObservation
    ) -> None:
        """Conclude from the readings `before` a poll, then from what the poll saved.

        So an outage or a stale period that this poll ends is still recorded. It runs within a
        transaction of `recent_fees`, which already have what was saved.
        """
        now, fees = observation.asked_at, observation.suggested_gas_fees
        after = self.read_gas(connection, now)
        with self._stored.concluding(connection, *_OF_GAS) as conclusions:
            conclude_gas(conclusions, before)
            conclude_gas(conclusions, after)
            grounds = None if fees is None else self._measure_busyness(connection, fees, now)
            conclude_busyness(conclusions, grounds, now, longest_pause(self.fees_period))

    def update_exclusion_outage(self, connection: Connection, now: datetime) -> None:
        """Conclude from the store whether the exclusion API has an outage."""
        self.set_clock.check()
        failures = read_standing_failures(connection, self.network_id)
        unanswered = self._unanswered(failures, Operation.EXCLUSION_STATUS)
        concerned = SubjectKind.EXCLUSION_API, SubjectKind.LINE_LIMITS
        with self._stored.concluding(connection, *concerned) as conclusions:
            conclude_exclusion_outage(conclusions, unanswered, self.set_clock.since, now)

    def end_unasked_outage(self, connection: Connection, now: datetime) -> None:
        """End an outage of the exclusion API, since it is asked nothing any more."""
        note_unasked(connection, self.network_id, Operation.EXCLUSION_STATUS)
        with self._stored.concluding(connection, SubjectKind.EXCLUSION_API) as conclusions:
            conclude_unasked(conclusions, now)

    def update_line_limits(self, connection: Connection, now: datetime) -> datetime | None:
        """Conclude whether line limits ended, and return since when they did."""
        end = known_end(connection, self.network_id, self.limits_end)
        with self._stored.concluding(connection, SubjectKind.LINE_LIMITS) as conclusions:
            return conclude_line_limits(conclusions, end, now)

    def _measure_busyness(
        self, connection: Connection, fees: SuggestedGasFees, now: datetime
    ) -> FeeGrounds | None:
        found = latest_percentile(connection, self.network_id, Operation.BUSY_THRESHOLD, now)
        longest = STALE_AFTER_PERIODS * self.threshold_period
        threshold = None if found is None or now - found.asked_at > longest else found.value
        window, priority = self.recent_fees.base_fees(connection, now), RankedFees()
        if is_flat(window):
            priority = self.recent_fees.priority_fees(connection, now)
        return measure_busyness(
            BaseFeeReadings(fees.estimated_base_fee, threshold, window),
            PriorityFeeReadings(fees.medium.suggested_max_priority_fee_per_gas, priority),
        )

    def _answered(
        self, connection: Connection, fees_at: datetime | None, now: datetime
    ) -> Iterator[Answered]:
        fees, threshold = Operation.SUGGESTED_GAS_FEES, Operation.BUSY_THRESHOLD
        found = latest_percentile(connection, self.network_id, threshold, now)
        if fees_at is not None:
            yield Answered(fees, self.set_clock.trusted(fees_at), self.fees_period)
        if found is not None:
            at = self.set_clock.trusted(found.asked_at)
            yield Answered(threshold, at, self.threshold_period)
        elif fees_at is not None:
            since = self.set_clock.since
            yield Answered(threshold, since, self.threshold_period, was_answered=False)

    def _after_other_answers(
        self, failures: Sequence[StandingFailure], fees: Unanswered
    ) -> Unanswered:
        """Date the failure of suggested fees anew if no other question is answered any more.

        Otherwise a source that first failed in part, and then altogether, would have no outage.
        """
        others = [self._unanswered(failures, each) for each in PERCENTILES]
        since = [each.failing_since for each in others if each is not None]
        return replace(fees, failing_since=max(since)) if len(since) == len(others) else fees

    def _unanswered(
        self, failures: Sequence[StandingFailure], operation: Operation
    ) -> Unanswered | None:
        trusted = self.set_clock.trusted
        return next(
            (
                Unanswered(trusted(each.failing_since), each.last_failed_at, each.failure.message)
                for each in failures
                if each.operation is operation
            ),
            None,
        )


class CoverageWatch(Struct):
    """Checks the coverage of one network at each visit; begin a new one with each term.

    `visited_at` is when the last visit was stored, in elapsed time.
    """

    network_id: NetworkId
    watched: Sequence[Watched]
    clocks: Clocks
    visited_at: timedelta | None = None

    def visit(self, connection: Connection, limits_ended_at: datetime | None = None) -> timedelta:
        """Store what this visit changes; return its time, for `kept` once it is on disk.

        After line limits ended, no rejection can be missed, whoever asks or answers.
        """
        at, elapsed = self.clocks.now(), self.clocks.elapsed()
        since_last = None if self.visited_at is None else elapsed - self.visited_at
        failures = {
            each.operation: each for each in read_standing_failures(connection, self.network_id)
        }
        held = {each.watched: each for each in covered(connection, [self.network_id])}
        for watched in self.watched:
            failure = _failure_of(connection, self.network_id, watched, failures, at)
            visit = Visit(at, since_last)
            if failure is not None and _has_lasted(failure):
                visit = Visit(at, since_last, failure.failing_since, failure.failure.message)
            before = held.get(watched)
            ended_at = limits_ended_at if watched is Watched.REJECTIONS else None
            if before is None:
                change = CoverageChange(Covered(self.network_id, watched, at, at))
            elif ended_at is not None and before.until >= ended_at:
                change = conclude_coverage(replace(before, until=at), Visit(at, timedelta()))
            elif ended_at is not None:
                [seen] = as_last_seen(connection, [before])
                change = conclude_coverage(seen, Visit(ended_at))
            else:
                [seen] = as_last_seen(connection, [before]) if since_last is None else [before]
                change = conclude_coverage(seen, visit)
            every = PRECISION if Watched.FEES in self.watched else WITHOUT_FEES
            save_coverage(connection, before, change, every)
        return elapsed

    def kept(self, visited_at: timedelta) -> None:
        """Remember a visit that is on disk."""
        self.visited_at = visited_at


def _has_lasted(failure: StandingFailure) -> bool:
    """Whether failures themselves span a gap: a single one shows no duration."""
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
