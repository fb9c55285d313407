"""The text of a message about an incident of a network or of the installation, or its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dashboard.domain.alerts.condition import State, Transition
from dashboard.domain.alerts.kinds.kind import IncidentText, ToldChange
from dashboard.domain.alerts.kinds.table import JUDGED, KINDS, kind_of
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.formatting import moment
from dashboard.domain.markup import unlinked

_AFTER_GAP: Final = (
    "It was until then. If it still is when fees are seen again, that is reported anew."
)
_IN_HAND: Final = {
    NotificationKind.ACKNOWLEDGED,
    NotificationKind.HANDED_OVER,
    NotificationKind.RESOLVED,
    NotificationKind.CLOSED,
}
"""Somebody cares for it, or did."""


def describe(change: ToldChange) -> IncidentText:
    """Say what a change means; where its end is known, what was so until then."""
    if change.end is None or change.transition.after is State.UNKNOWN:
        return _of_change(change)
    return _of_past(change, change.end)


def _of_change(change: ToldChange) -> IncidentText:
    tell, grounds = KINDS[kind_of(change.transition)].tell, change.transition.grounds
    if tell is not None and grounds is not None:
        return tell(change, grounds)
    if change.transition.after is State.UNKNOWN:
        return _of_unknown(change)
    return _of_end(change)


def _of_past(change: ToldChange, end: Transition) -> IncidentText:
    text, grounds = _of_change(change), change.transition.grounds
    said: IncidentText | str = (
        f"{text.subject or text.headline}; over since {end.began_at:%H:%M:%S} UTC"
    )
    tell_over = KINDS[kind_of(change.transition)].tell_over
    if tell_over is not None and grounds is not None:
        said = tell_over(change, grounds)
    if isinstance(said, IncidentText):
        return said
    return replace(
        text,
        headline=said,
        opening=f"{said}.",
        subject="",
        rows=change.lasted,
        explanation="",
        next_steps=(),
        quote="",
        preheader="",
    )


def _of_unknown(change: ToldChange) -> IncidentText:
    """Say that nobody knows whether it is still busy, or a fee beyond its limit, or knew."""
    since, rule = change.transition.began_at, change.transition.subject.rule
    claim = f"a fee is beyond the limit of {unlinked(rule)}" if rule else "it is busy"
    if change.end is not None:
        said = f"{change.network}: whether {claim} was unknown {change.when}"
        return IncidentText(said, f"{said}: no fee was seen.", page="fees", rows=change.lasted)
    return IncidentText(
        headline=f"{change.network}: whether {claim} is unknown from {since:%H:%M} UTC",
        opening=f"{change.network}: whether {claim} is unknown from {moment(since)}: no fee was "
        "seen.",
        page="fees",
        rows=change.lasted,
        explanation=_AFTER_GAP,
    )


def _of_end(change: ToldChange) -> IncidentText:
    """Say that trouble is over, or began, where no figure stands behind that."""
    subject = change.transition.subject
    headline = f"{change.network}: fees changed to {change.transition.after}"
    over = JUDGED[subject.kind].over
    if over and not change.is_open:
        headline = over.format(network=change.network, what=change.what)
    rows = (change.rule, *change.lasted) if subject.rule else change.lasted
    return IncidentText(headline, f"{headline[0].upper()}{headline[1:]}.", "health", rows)


def tone_of(
    transition: Transition,
    kind: NotificationKind = NotificationKind.CHANGE,
    *,
    is_over: bool = False,
) -> str:
    """Return how a message looks: alarm, notable, or relief where there is nothing to do."""
    if is_over or not transition.after.is_open or kind in _IN_HAND:
        return "relief"
    return "notable" if transition.after is State.BUSY else "alarm"
