"""What the page Overview asks: each network's state, what is usual, a day's lines, rejections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from dashboard.application.context import ApplicationSubject, shared_for
from dashboard.application.fee_timeline import busy_parts
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.network_status import Activity, NetworkFigures, NetworkStatus
from dashboard.application.text import names_of, since_when
from dashboard.domain.alerts.condition import Signal, State, SubjectKind
from dashboard.domain.fees.spells import UsualFee, UsualSpells
from dashboard.domain.formatting import capitalized, counted, span
from dashboard.domain.health.coverage import Watched, WatchedTime
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.alerts.incidents import count_opened
from dashboard.store.alerts.rules import past_transitions
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.busy_context import (
    SERIES,
    read_busy_time,
    read_usual_fee,
    read_usual_spells,
)
from dashboard.store.fees.rollups import line_between
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.monitoring.coverage import watched_time
from dashboard.store.rejections.archive import count_versions
from dashboard.store.rejections.counts import Grouping, count_by, count_rejections
from dashboard.store.rejections.search import search
from dashboard.store.schema.columns import milliseconds_of, moment_of

LINE_LENGTH: Final = timedelta(days=1)
LINE_STEP: Final = timedelta(minutes=15)
LINE_STEPS: Final = LINE_LENGTH // LINE_STEP

_HOUR: Final = timedelta(hours=1)
_MOST_NETWORKS: Final = 1000
_SHARED_FOR: Final = timedelta(seconds=2)
_LINES_SHARED_FOR: Final = timedelta(minutes=1)
_USUAL_SHARED_FOR: Final = timedelta(minutes=5)
_CHANGES_SHARED_FOR: Final = timedelta(seconds=10)
_STATES: Final = (SubjectKind.BUSYNESS, SubjectKind.GAS_API, SubjectKind.EXCLUSION_API)
_MOST_NAMED: Final = 5
_READ_AT_ONCE: Final = 40
_MOST_READ: Final = 200


@dataclass(frozen=True, slots=True)
class UsualNow:
    """What is usual of a network at this hour; None where too little is known."""

    fee: UsualFee | None = None
    spells: UsualSpells | None = None


@dataclass(frozen=True, slots=True)
class DayLine:
    """The fee that decides busyness during the last day, in steps of a quarter of an hour.

    `fees` [wei] and `busy_parts` (0 to 1 of what was watched) have an element for each step, oldest
    first; a fee of which nothing was seen is None. `busy_share` is that of the whole day, None
    where nobody watched.
    """

    fees: tuple[float | None, ...]
    busy_parts: tuple[float, ...]
    busy_share: float | None


@dataclass(frozen=True, slots=True)
class HourlyRejections:
    """The rejections of the last hour, and what was watched of it.

    `ended_at` is since when there are no line limits.
    """

    count: int
    watched: WatchedTime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RejectedAgain:
    """The latest version of a rejection, and how many versions its transaction has in all."""

    latest: StoredRejection
    versions: int


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """How much happened since a moment; `networks` are named whose state changed."""

    incidents: int
    rejections: int
    states: int
    networks: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        """Whether anything happened."""
        return bool(self.incidents or self.rejections or self.states)

    def in_words(self) -> str:
        """Say what happened, with counts."""
        named = f" ({', '.join(self.networks)})"
        words = [
            counted(many, one, several)
            for many, one, several in (
                (self.incidents, "new incident", "new incidents"),
                (self.rejections, "new rejection", "new rejections"),
                (self.states, f"change of state{named}", f"changes of state{named}"),
            )
            if many
        ]
        return ", ".join(words) or "nothing new"


def above_usual(figures: NetworkFigures, usual: UsualNow) -> float | None:
    """Return how far that fee lies from what is usual at this hour: 0.5 is half as much again."""
    fee = figures.judged_fee
    return None if fee is None or usual.fee is None else usual.fee.difference(fee)


class Overview(ApplicationSubject):
    def usual(self, status: NetworkStatus) -> UsualNow:
        """Return what is usual at this hour; while it is busy, of spells that began as this one."""
        network_id, signal = status.profile.network_id, status.figures.signal
        held = status.figures.busyness
        began = held.since if held is not None and held.state is State.BUSY else None
        hour = self._context.now().replace(minute=0, second=0, microsecond=0)
        return self._usual_at(network_id, signal, hour, began)

    @shared_for(_USUAL_SHARED_FOR)
    def _usual_at(
        self, network_id: NetworkId, signal: Signal, _hour: datetime, began: datetime | None
    ) -> UsualNow:
        now = self._context.now()
        with self._context.store.read_recent() as connection:
            return UsualNow(
                read_usual_fee(connection, network_id, SERIES[signal], now),
                read_usual_spells(connection, network_id, began or now),
            )

    def day_line(self, status: NetworkStatus) -> DayLine:
        """Return how the fee went that decides busyness, during the last day."""
        return self._day_line(status.profile.network_id, status.figures.signal)

    @shared_for(_LINES_SHARED_FOR)
    def _day_line(self, network_id: NetworkId, signal: Signal) -> DayLine:
        step = LINE_STEP // timedelta(milliseconds=1)
        now = self._context.now()
        until = milliseconds_of(now) // step * step + step
        since = until - LINE_STEPS * step
        with self._context.store.read_recent() as connection:
            fees = _by_step(connection, SeriesKey(network_id, SERIES[signal]), (since, until, step))
            busy = read_busy_time(connection, network_id, moment_of(since), now)
        begins = np.arange(since, until, step)
        ends = np.minimum(begins + step, milliseconds_of(now))
        parts = np.nan_to_num(busy_parts(busy, begins, ends)).tolist()
        means = tuple(fees.get(each // step) for each in begins.tolist())
        return DayLine(means, tuple(parts), busy.share)

    @shared_for(_SHARED_FOR)
    def hourly(self) -> dict[NetworkId, HourlyRejections]:
        """Count the rejections of the last hour of each network that is asked for them."""
        now = self._context.now()
        since = now - _HOUR
        asked = [each.network_id for each in self._context.networks if each.has_exclusion]
        with self._context.store.read_recent() as connection:
            arrived = RejectionFilter(since=since)
            counted = count_by(connection, Grouping.NETWORK, arrived, None, _MOST_NETWORKS)
            watched = {
                each: watched_time(connection, [each], Watched.REJECTIONS, since, now)
                for each in asked
            }
        ended = LineLimitEnds(self._context).ended()
        counts = {each.key: each.count for each in counted.groups}
        return {
            each: HourlyRejections(counts.get(each, 0), watched[each], ended.get(each))
            for each in asked
        }

    @shared_for(_SHARED_FOR)
    def newest(self, limit: int, network_id: NetworkId | None = None) -> tuple[RejectedAgain, ...]:
        """Return the transactions of which a version arrived last, the latest first.

        Of one network or all; each transaction of a network comes once.
        """
        wanted = RejectionFilter(network_id=network_id)
        latest: dict[tuple[NetworkId, TxHash], StoredRejection] = {}
        with self._context.store.read_recent() as connection:
            for skipped in range(0, _MOST_READ, _READ_AT_ONCE):
                found = search(connection, wanted, _READ_AT_ONCE, skipped)
                for each in found:
                    latest.setdefault((each.network_id, each.record.tx_hash), each)
                if len(latest) >= limit or len(found) < _READ_AT_ONCE:
                    break
            chosen = list(latest)[:limit]
            versions = count_versions(connection, [tx_hash for _, tx_hash in chosen])
        return tuple(RejectedAgain(latest[each], versions.get(each, 1)) for each in chosen)

    @shared_for(_CHANGES_SHARED_FOR)
    def changes_since(self, since: datetime) -> ChangesSince:
        """Count what happened since a moment, which lies a few days back at most."""
        now = self._context.now()
        with self._context.store.read_recent() as connection:
            incidents = count_opened(connection, since)
            arrived = count_rejections(connection, RejectionFilter(since=since))
            changed = past_transitions(connection, _STATES, since, now)
        networks = dict.fromkeys(
            self._context.network_name(each.transition.subject.network_id) for each in changed
        )
        return ChangesSince(incidents, arrived, len(changed), tuple(networks)[:_MOST_NAMED])


def _by_step(
    connection: Connection, key: SeriesKey, between: tuple[int, int, int]
) -> dict[int, float]:
    """Return the mean of a fee by the number of the step."""
    return {int(step): float(mean) for step, mean in line_between(connection, key, *between)}


def network_summary(statuses: Sequence[NetworkStatus]) -> str:
    """Say which networks need attention, the worst first, or that none does.

    Of several, one whose fees fail is not named again as stale, which follows from that.
    """
    if not statuses:
        return "No network is configured."
    silent = [
        f"{each.profile.name} ({', '.join(each.figures.failing_sources())})"
        for each in statuses
        if each.figures.failures
    ]
    needing = {
        "Stale": [
            each
            for each in _with_activity(Activity.STALE, statuses)
            if len(statuses) == 1 or each.figures.gas_failure() is None
        ],
        "Busy": _with_activity(Activity.BUSY, statuses),
        "Not known yet": [
            each for each in _with_activity(Activity.UNKNOWN, statuses) if each.profile.has_gas
        ],
    }
    problems = [f"No answer from: {', '.join(silent)}."] if silent else []
    every = _names(statuses)
    problems += [
        f"{words}: {names_of(_names(found), every)}." for words, found in needing.items() if found
    ]
    if problems:
        return " ".join(problems)
    is_all_calm = all(status.activity is Activity.CALM for status in statuses)
    if not is_all_calm:
        return "No network is busy or stale."
    return f"{every[0]} is calm." if len(every) == 1 else "Every network is calm."


def _with_activity(activity: Activity, statuses: Sequence[NetworkStatus]) -> list[NetworkStatus]:
    return [status for status in statuses if status.activity is activity]


def _names(statuses: Sequence[NetworkStatus]) -> list[str]:
    return [status.profile.name for status in statuses]


def verdict_in_words(
    status: NetworkStatus, usual: UsualNow, open_incidents: int, now: datetime
) -> str:
    """Say a network's state, since when, how long that usually lasts, and what is open."""
    sentences = [_state(status, now)]
    if usual.spells is not None and status.is_judged:
        sentences.append(f"{capitalized(usual.spells.in_words())}.")
    many = counted(open_incidents, "incident is open", "incidents are open")
    sentences.append(f"{many}." if open_incidents else "No incident is open.")
    return " ".join(sentences)


def _state(status: NetworkStatus, now: datetime) -> str:
    held = status.figures.busyness
    if held is None or not status.is_judged:
        return status.activity_reason
    since = since_when(held, status.profile.rules.busy, now)
    return f"{str(held.state).capitalize()} for {span(now - held.since)}, {since}."


def lasting(status: NetworkStatus, now: datetime) -> str:
    """Say for how long its state has held, empty where that is not known."""
    held = status.figures.busyness
    if held is None or not status.is_judged:
        return ""
    return span(now - held.since)


_RANKS: Final = {
    Activity.STALE: 1,
    Activity.BUSY: 2,
    Activity.UNKNOWN: 3,
    Activity.FLAT_FEE: 5,
    Activity.CALM: 5,
}


def worst_first(status: NetworkStatus, rejections: int) -> tuple[int, int, str]:
    """Return the place of a network in a list: first failing, stale, busy."""
    rank = 0 if status.figures.failures else _RANKS[status.activity]
    if rank == _RANKS[Activity.CALM] and rejections:
        rank -= 1
    return rank, -rejections, status.profile.name
