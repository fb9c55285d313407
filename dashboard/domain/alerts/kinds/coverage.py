"""Rules of kinds coverage-gap and worker-silent: a network was not watched, or no worker ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dashboard.domain.alerts.condition import (
    Grounds,
    Reading,
    Readings,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.formatting import from_to, moment, span
from dashboard.domain.health.coverage import Gap, GapCause
from dashboard.domain.markup import unlinked
from dashboard.domain.quantity import NetworkId

if TYPE_CHECKING:
    from dashboard.domain.alerts.rule import Rule

REPORTED_AFTER_END: Final = timedelta(minutes=5)
"""How long after its end a gap is still reported: without a worker, it becomes known only then."""

_AFTER_WORKER: Final = (
    "Reports that nodes sent meanwhile are stored; hashes are asked about again.",
    "Run a second `linewatch worker` on another machine: it takes over within seconds.",
    "If a worker ran, it could not save: the log says why. Check the disk of the store.",
)
_AFTER_GAP: Final = (
    "The page Health lists the gaps. Linewatch asks for all that its sources still have.",
)
_CAUSES: Final = {
    GapCause.NOT_WATCHED: "no worker asked",
    GapCause.NOT_ANSWERED: "no source answered",
}


class GapGrounds(Grounds, frozen=True):
    """A time in which a network was not watched, or no worker was running; it may be open.

    `reason` is the failure in words, safe to show; empty if no worker asked.
    """

    begins_at: datetime
    ends_at: datetime | None
    cause: GapCause
    reason: str = ""


def read_gaps(
    rule: Rule, gaps: Sequence[Gap], networks: Iterable[NetworkId], now: datetime
) -> Readings:
    """Return for each network whether it is not watched, or was not until a moment ago.

    A gap without a worker becomes known only afterwards, so it is reported for a while.
    """
    return {
        Subject.of_rule(SubjectKind.COVERAGE, rule.name, network_id=network_id): _read_gap(
            rule, [each for each in gaps if each.network_id == network_id], now
        )
        for network_id in rule.scope.networks or networks
    }


def read_worker(rule: Rule, gaps: Sequence[Gap], now: datetime) -> Readings:
    """Return whether no worker was running until a moment ago, as the one running now sees it.

    `gaps` are those of the worker alone.
    """
    return {Subject.of_rule(SubjectKind.WORKER, rule.name): _read_gap(rule, gaps, now)}


def _read_gap(rule: Rule, gaps: Sequence[Gap], now: datetime) -> Reading:
    """Read the longest open gap, or else one that ended within `REPORTED_AFTER_END`.

    Gaps shorter than the rule's `pending` do not count.
    """
    long = [each for each in gaps if each.length(now) >= rule.pending]
    lasting = [each for each in long if each.ends_at is None]
    over = [
        each
        for each in long
        if each.ends_at is not None and timedelta() <= now - each.ends_at < REPORTED_AFTER_END
    ]
    worst = max(lasting or over, key=lambda each: each.length(now), default=None)
    if worst is None:
        return Reading(is_trouble=False, at=now)
    grounds = GapGrounds(worst.begins_at, worst.ends_at, worst.cause, worst.reason)
    return Reading(
        is_trouble=True, at=now, since=worst.begins_at, grounds=grounds, ended_at=worst.ends_at
    )


def _describe_worker(change: DescribedChange, grounds: GapGrounds) -> IncidentText:
    meaning = "nothing was asked and nobody was notified"
    return _describe(change, grounds, "No worker was running", meaning, _AFTER_WORKER)


def _describe_gap(change: DescribedChange, grounds: GapGrounds) -> IncidentText:
    claim = f"{change.network} was not watched"
    return _describe(change, grounds, claim, _CAUSES[grounds.cause], _AFTER_GAP)


def _describe(
    change: DescribedChange, grounds: GapGrounds, claim: str, meaning: str, steps: tuple[str, ...]
) -> IncidentText:
    begun, end = grounds.begins_at, grounds.ends_at
    until = () if end is None else (("Until", moment(end)), ("Lasted", span(end - begun)))
    when = f"from {moment(begun)} on" if end is None else from_to(begun, end)
    headline = f"{claim} {when}"
    return IncidentText(
        headline=headline,
        opening=f"{headline}: {meaning}.",
        page="health",
        rows=(change.rule, ("Not watched since", moment(begun)), *until),
        next_steps=steps,
        quote=unlinked(grounds.reason),
    )


def _describe_past_gap(change: DescribedChange, grounds: GapGrounds) -> IncidentText:
    """Describe a gap with its end, which was not known when the gap was reported."""
    ends_at = None if change.end is None else change.end.began_at
    return _describe_gap(change, replace(grounds, ends_at=ends_at))


COVERAGE_GAP: Final = Kind(
    title="{network} not watched",
    when="a network is not watched",
    subjects={
        SubjectKind.COVERAGE: Judged(State.WATCHED, State.NOT_WATCHED, "{network} is watched again")
    },
    is_measured=True,
    grounds={"gap": GapGrounds},
    describe=_describe_gap,
    describe_past=_describe_past_gap,
)

WORKER_SILENT: Final = Kind(
    title="Monitoring stopped: the worker {is_} not running",
    when="no worker is running",
    subjects={
        SubjectKind.WORKER: Judged(State.ANSWERING, State.SILENT, "A worker is running again")
    },
    is_of_networks=False,
    is_measured=True,
    describe=_describe_worker,
    describe_past=_describe_worker,
)
