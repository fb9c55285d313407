"""Rules of kind upstream-silent: an API has an outage, or a source of fees gives no fees."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.alerts.kinds.limits_end import EndGrounds
from dashboard.domain.formatting import moment, moment_in
from dashboard.domain.markup import unlinked

_NO_FEES: Final = (
    "If the network has a node, fees come from the node meanwhile. Otherwise pages mark the last "
    "fees as stale, and nobody is notified when the network becomes busy."
)
_NO_REJECTIONS: Final = (
    "Until the API answers, new rejections stay unseen. It keeps them for seven days: if it is "
    "back by then, none is missed."
)
_SOURCES: Final = {
    SubjectKind.GAS_API: ("fee source", _NO_FEES),
    SubjectKind.EXCLUSION_API: ("exclusion API", _NO_REJECTIONS),
}
"""What people call an API, and what follows from its outage."""

_OUTAGES: Final = {
    SubjectKind.GAS_API: "has given no fees since {}",
    SubjectKind.EXCLUSION_API: "has not answered since {}",
}
"""What each API fails to do; a gas API without fees may still answer thresholds."""

_ASK_ONCE: Final = (
    "Run `linewatch config try`: it asks each endpoint once and says what it found.",
    "Linewatch keeps asking; another message says when it answers again.",
)


class OutageGrounds(Grounds, frozen=True):
    """Since when an API has answered nothing, and why; `message` is safe to show."""

    failing_since: datetime
    message: str


class UnaskedGrounds(Grounds, frozen=True):
    """Since when an API has not been asked: nothing is tracked, or the settings lack it now."""

    unasked_since: datetime


def _describe(
    change: DescribedChange, grounds: OutageGrounds | EndGrounds | UnaskedGrounds
) -> IncidentText:
    if isinstance(grounds, EndGrounds):
        return _not_awaited(change, grounds)
    if isinstance(grounds, UnaskedGrounds):
        return _unasked(change)
    kind, since = change.transition.subject.kind, grounds.failing_since
    source, consequence = _SOURCES[kind]
    return IncidentText(
        headline=f"{change.network}: {source} down since {since:%H:%M} UTC",
        opening=f"The {source} of {change.network} {_OUTAGES[kind].format(moment(since))}.",
        page="health",
        rows=(("Down since", moment_in(since, change.zone)),),
        explanation=consequence,
        next_steps=_ASK_ONCE,
        quote=unlinked(grounds.message),
        preheader=unlinked(grounds.message),
    )


def _not_awaited(change: DescribedChange, grounds: EndGrounds) -> IncidentText:
    """Say that an outage is over because answers are no longer expected."""
    return IncidentText(
        headline=f"{change.network}: exclusion API no longer needed",
        opening=(
            f"{change.network} has had no line limits since {moment(grounds.ended_at)}, so "
            "answers of its exclusion API are no longer expected."
        ),
        page="health",
        rows=change.lasted,
    )


def _unasked(change: DescribedChange) -> IncidentText:
    """Say that an outage is over because nobody would see whether it goes on."""
    source, _ = _SOURCES[change.transition.subject.kind]
    return IncidentText(
        headline=f"{change.network}: {source} no longer asked",
        opening=(
            f"Linewatch no longer asks the {source} of {change.network}, so it cannot tell "
            "whether it answers."
        ),
        page="health",
        rows=change.lasted,
        kicker="not asked",
    )


def _describe_past(change: DescribedChange, _: Grounds) -> str:
    source, _consequence = _SOURCES[change.transition.subject.kind]
    return f"{change.network}: {source} was down {change.when}"


UPSTREAM_SILENT: Final = Kind(
    title="{where}source down",
    when="a source does not answer",
    subjects={
        kind: Judged(State.ANSWERING, State.SILENT, f"{{network}}: {name} answers again")
        for kind, (name, _) in _SOURCES.items()
    },
    grounds={"silence": OutageGrounds, "unasked": UnaskedGrounds},
    describe=_describe,
    describe_past=_describe_past,
)
