"""The questions of the page Overview: states of networks, usual values, day lines, rejections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.attention import Attention, Remedy, most_urgent_first
from dashboard.application.context import ApplicationSubject, shared_for
from dashboard.application.failing_sources import failing_in_words, failing_of
from dashboard.application.fee_timeline import busy_shares
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.network_status import (
    Activity,
    NetworkFigures,
    NetworkProfile,
    NetworkStatus,
)
from dashboard.application.text import moment_near, since_when
from dashboard.domain.alerts.condition import Signal, State, SubjectKind
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.rule import URGENCY
from dashboard.domain.fees.busy_spells import UsualFee, UsualSpells
from dashboard.domain.formatting import capitalized, counted, name_order, span
from dashboard.domain.health.coverage import Watched, WatchedTime
from dashboard.domain.markup import visible
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import StoredRejection
from dashboard.domain.rejections.search import RejectionFilter
from dashboard.store.alerts.incidents import count_opened
from dashboard.store.alerts.rules import past_transitions
from dashboard.store.evidence.busy_context import (
    SERIES,
    read_busy_time,
    read_usual_fee,
    read_usual_spells,
)
from dashboard.store.fees.rollups import line_between
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.monitoring.coverage import watched_times
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
_LONGEST_TITLE: Final = 120


class UsualNow(Struct, frozen=True):
    """The usual fee and spells of a network at this hour; None if too little is known."""

    fee: UsualFee | None = None
    spells: UsualSpells | None = None


class DayLine(Struct, frozen=True):
    """The fee that decides busyness during the last day, in steps of a quarter of an hour.

    `fees` [wei] and `busy_parts` (0 to 1 of the watched time) have an element for each step, oldest
    first; a fee is None if nothing was seen. `busy_share` is that of the whole day, None if nobody
    watched.
    """

    fees: tuple[float | None, ...]
    busy_parts: tuple[float, ...]
    busy_share: float | None


class HourlyRejections(Struct, frozen=True):
    """The rejections of the last hour, and how much of it was watched.

    `ended_at` is when line limits ended.
    """

    count: int
    watched: WatchedTime
    ended_at: datetime | None = None


class RejectedAgain(Struct, frozen=True):
    """The latest version of a rejection, and how many versions its transaction has in total."""

    latest: StoredRejection
    versions: int


class ChangesSince(Struct, frozen=True):
    """How much happened since a moment; `networks` are the names of those that changed state."""

    incidents: int
    rejections: int
    states: int
    networks: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        return bool(self.incidents or self.rejections or self.states)

    def in_words(self) -> str:
        left = len(self.networks) - _MOST_NAMED
        more = f" and {left} more" if left > 0 else ""
        named = f" ({', '.join(self.networks[:_MOST_NAMED])}{more})"
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
    """Return how far the deciding fee is from its usual value: 0.5 is half as much again."""
    fee = figures.judged_fee
    return None if fee is None or usual.fee is None else usual.fee.difference(fee)


class Overview(ApplicationSubject):
    def usual(self, status: NetworkStatus) -> UsualNow:
        """Return the usual values at this hour; for a busy network, at the hour when that began."""
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
        """Return the fee that decides busyness during the last day."""
        return self._day_line(status.profile.network_id, status.figures.signal)

    @shared_for(_LINES_SHARED_FOR)
    def _day_line(self, network_id: NetworkId, signal: Signal) -> DayLine:
        step = LINE_STEP // timedelta(milliseconds=1)
        now = self._context.now()
        until = milliseconds_of(now) // step * step + step
        since = until - LINE_STEPS * step
        with self._context.store.read_recent() as connection:
            key = SeriesKey(network_id, SERIES[signal])
            fees = {
                int(at): float(mean)
                for at, mean in line_between(connection, key, since, until, step)
            }
            busy = read_busy_time(connection, network_id, moment_of(since), now)
        begins = np.arange(since, until, step)
        ends = np.minimum(begins + step, milliseconds_of(now))
        parts = np.nan_to_num(busy_shares(busy, begins, ends)).tolist()
        means = tuple(fees.get(each // step) for each in begins.tolist())
        return DayLine(means, tuple(parts), busy.share)

    @shared_for(_SHARED_FOR)
    def hourly(self) -> dict[NetworkId, HourlyRejections]:
        """Count the rejections of the last hour for each network that is asked for them."""
        now = self._context.now()
        since = now - _HOUR
        asked = [each.network_id for each in self._context.networks if each.has_exclusion]
        with self._context.store.read_recent() as connection:
            arrived = RejectionFilter(since=since)
            counted = count_by(connection, Grouping.NETWORK, arrived, None, _MOST_NETWORKS)
            watched = watched_times(connection, asked, Watched.REJECTIONS, since, now)
        ended = LineLimitEnds(self._context).ended()
        counts = {each.key: each.count for each in counted.groups}
        return {
            each: HourlyRejections(counts.get(each, 0), watched[each], ended.get(each))
            for each in asked
        }

    @shared_for(_SHARED_FOR)
    def newest(self, limit: int, network_id: NetworkId | None = None) -> tuple[RejectedAgain, ...]:
        """Return the transactions with the latest new versions, the latest first.

        Of one network or all; each transaction of a network is listed once.
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
        """Count what happened since a moment, at most a few days ago."""
        now = self._context.now()
        with self._context.store.read_recent() as connection:
            incidents = count_opened(connection, since)
            arrived = count_rejections(connection, RejectionFilter(since=since))
            changed = past_transitions(connection, _STATES, since, now)
        networks = dict.fromkeys(
            self._context.network_name(each.transition.subject.network_id) for each in changed
        )
        return ChangesSince(incidents, arrived, len(changed), tuple(networks))


def network_summary(statuses: Sequence[NetworkStatus], now: datetime) -> str:
    """Say which networks need attention, the worst one by name, or that none does.

    If there are several networks, one whose fees fail is not also counted as stale.
    """
    if not statuses:
        return "No network is configured."
    parts = [*_failing_words(statuses, now)]
    is_one = len(statuses) == 1
    stale = [each for each in statuses if each.activity is Activity.STALE]
    unknown = [each for each in statuses if each.activity is Activity.UNKNOWN]
    for word, found in (
        ("stale", [each for each in stale if is_one or not each.figures.are_fees_failing]),
        ("busy", [each for each in statuses if each.activity is Activity.BUSY]),
        ("not evaluated yet", [each for each in unknown if each.profile.has_gas]),
    ):
        if found:
            others = " others" * bool(parts)
            who = found[0].profile.name if len(found) == 1 else f"{len(found)}{others}"
            parts.append(f"{who} is {word}" if is_one and not parts else f"{who} {word}")
    if parts:
        return f"{' · '.join(parts)}."
    if any(each.activity is not Activity.CALM for each in statuses):
        return "No network is busy or stale."
    return f"{statuses[0].profile.name} is calm." if is_one else f"All {len(statuses)} calm."


def _failing_words(statuses: Sequence[NetworkStatus], now: datetime) -> Iterator[str]:
    """Name the network that has failed for the longest time, and count the others."""
    failing = [each for each in statuses if each.figures.failures]
    if not failing:
        return

    found = ((each.profile.name, failing_of(each.figures)) for each in failing)
    name, longest = min(found, key=lambda each: (each[1][0].is_partial, each[1][0].since))
    yield failing_in_words(name, longest, now)
    if others := len(failing) - 1:
        yield counted(others, "other failing", "others failing")


def needed_attention(
    titled: Sequence[tuple[Incident, str]],
    troubles: Sequence[Attention],
    statuses: Sequence[NetworkStatus],
    now: datetime,
    count_changes: Callable[[Sequence[Incident]], int],
) -> list[Attention]:
    """Return what needs attention on some networks, the most urgent first.

    `titled` are the incidents without an owner, with their titles; `troubles` is what is wrong with
    Linewatch itself. Several incidents about rejections on one network become one line. What the
    verdict of a single network already says is not repeated.
    """
    profiles = {each.profile.network_id: each.profile for each in statuses}
    said = statuses[0].activity_reason if len(statuses) == 1 else ""
    groups: defaultdict[object, list[tuple[Incident, str]]] = defaultdict(list)
    for incident, title in titled:
        is_rejection = incident.kind == RuleKind.REJECTED
        groups[incident.network_id if is_rejection else incident.incident_id].append(
            (incident, title)
        )
    unassigned = [_unassigned(each, profiles, now, count_changes) for each in groups.values()]
    of_networks = [
        replace(each, text="") if each.text and each.text.rstrip(".") in said else each
        for each in troubles
        if each.network is not None and each.network.network_id in profiles
    ]
    installation = [each for each in troubles if each.network is None]
    return most_urgent_first([*installation, *unassigned, *of_networks])


def _unassigned(
    group: Sequence[tuple[Incident, str]],
    profiles: Mapping[NetworkId, NetworkProfile],
    now: datetime,
    count_changes: Callable[[Sequence[Incident]], int],
) -> Attention:
    """Describe one incident, or count the rejections and modules of several."""
    incident, title = group[0]
    opened = moment_near(min(each.opened_at for each, _ in group), now)
    network = None if incident.network_id is None else profiles.get(incident.network_id)
    severity = max((each.severity for each, _ in group), key=lambda each: URGENCY.get(each, 0))
    ids = tuple(each.incident_id for each, _ in group)
    if len(group) == 1:
        name, text = f"{visible(title, _LONGEST_TITLE)}:", f"open since {opened}, unassigned."
        return Attention(name, text, Remedy.INCIDENT, network, ids, severity=severity)
    modules = {dict(each.group).get(Dimension.MODULE) for each, _ in group} - {None, ""}
    many = counted(count_changes([each for each, _ in group]), "rejection")
    by = f", {counted(len(modules), 'module')}" if modules else ""
    where = "" if network is None else f"{visible(network.name, _LONGEST_TITLE)}: "
    text = f"{len(group):,} incidents since {opened}."
    headline = f"{where}{many} unassigned{by}:"
    rules = tuple(sorted({each.rule for each, _ in group}))
    return Attention(headline, text, Remedy.INCIDENT, network, ids, severity=severity, rules=rules)


def severities(needed: Sequence[Attention]) -> dict[NetworkId, str]:
    """Return the highest severity of what needs attention on each network."""
    ranked = reversed(most_urgent_first(needed))
    return {each.network.network_id: each.severity for each in ranked if each.network is not None}


def verdict_in_words(
    status: NetworkStatus, usual: UsualNow, open_incidents: int, now: datetime
) -> str:
    """Say a network's state, since when, how long that usually lasts, and how much is open."""
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
    """Say how long its state has lasted; empty if that is unknown."""
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


def worst_first(
    status: NetworkStatus, rejections: int, severity: str = ""
) -> tuple[int, int, int, str]:
    """Return a sort key: by severity, then failing, stale and busy networks first."""
    rank = 0 if status.figures.failures else _RANKS[status.activity]
    if rank == _RANKS[Activity.CALM] and rejections:
        rank -= 1
    return -URGENCY.get(severity, -1), rank, -rejections, name_order(status.profile.name)
