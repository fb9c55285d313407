"""The text of a message about an incident of a network: busy, stale or silent, or its end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Final

from dashboard.alert.change_text import IncidentText, Rows
from dashboard.alert.measured_text import describe_end, describe_measured
from dashboard.domain.alerts.condition import State, SubjectKind, Transition
from dashboard.domain.alerts.grounds import (
    AgeGrounds,
    DigestGrounds,
    FeeGrounds,
    InclusionGrounds,
    Signal,
    SilenceGrounds,
    SpaceGrounds,
)
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.foreign_text import unlinked
from dashboard.domain.formatting import compared, from_to, moment, moment_in, period, size, span
from dashboard.domain.quantity import format_gwei

_MEASURES: Final = {
    Signal.BASE_FEE: ("base fee", "threshold", "its busy threshold of {}"),
    Signal.PRIORITY_FEE: (
        "medium suggested priority fee",
        "90th percentile",
        "{}, the 90th percentile of the last day",
    ),
}
"""The fee that decides, then its threshold, in short and in a sentence."""

_MEANINGS: Final = {
    Signal.BASE_FEE: "A base fee is called busy when it is higher than nine in ten were lately.",
    Signal.PRIORITY_FEE: (
        "The base fee never moves here, so the priority fee shows how busy the network is: it is "
        "called busy when it is higher than nine in ten were within a day."
    ),
}
_WAIT: Final = (
    "Put off what can wait: another message says when it is calm again.",
    "For what cannot wait, the page Fees says what is suggested now.",
)
_SILENT_FEES: Final = (
    "Where the network has a node, its fees come from there meanwhile. Otherwise what pages show "
    "grows old and is marked so, and nobody is notified when the network becomes busy."
)
_SILENT_REJECTIONS: Final = (
    "Until it answers, new rejections cannot be seen. None is missed if it answers again within "
    "seven days, which is how long it keeps them."
)
_AFTER_GAP: Final = (
    "It was until then. If it still is when fees are seen again, that is reported anew."
)
_SOURCES: Final = {
    SubjectKind.GAS_API: ("fee source", _SILENT_FEES),
    SubjectKind.EXCLUSION_API: ("exclusion API", _SILENT_REJECTIONS),
}
"""What people call an API, and what its silence means."""

_SILENCES: Final = {
    SubjectKind.GAS_API: "has given no fees since {}",
    SubjectKind.EXCLUSION_API: "has answered nothing since {}",
}
"""What an API does not do since a moment: thresholds may come from a fee source without fees."""

_ASK_ONCE: Final = (
    "Run `linewatch config try`: it asks each endpoint once and says what it found.",
    "Linewatch goes on asking; another message says when there is an answer.",
)
_STALE: Final = (
    "Older than two of its own poll periods, so it may be wrong by now. Until a fresh one comes, "
    "nobody is notified when the network becomes busy."
)
_LOOK_AFTER: Final = (
    "If Linewatch was stopped meanwhile, nothing needs to be done: it is asking again.",
    "If it was not, the page Health says which question is not answered, and why.",
)
_FULL: Final = (
    "When it is full, nothing more is stored: reports of nodes are refused, and nobody "
    "is notified, not even of this."
)
_MAKE_ROOM: Final = (
    "Free some space there, or move the store to a larger disk.",
    "Run `linewatch store`: it shows what uses the space; [store] says how long each kind is kept.",
    "What is stored stays intact. `linewatch backup` to another disk still works.",
)
_IN_HAND: Final = {
    NotificationKind.ACKNOWLEDGED,
    NotificationKind.HANDED_OVER,
    NotificationKind.RESOLVED,
    NotificationKind.CLOSED,
}
"""Somebody cares for it, or did."""

_ENDS: Final = {State.ANSWERING: "answers again", State.FRESH: "are fresh again"}


def describe(
    transition: Transition, opened_at: datetime | None, network: str, zone: tzinfo = UTC
) -> IncidentText:
    """Say what a change of a network's condition means; `network` is its name, made visible.

    `opened_at` is when the condition began that is over now. Times are in UTC, those of labelled
    lines also in `zone`.
    """
    lasted = _lasted(transition, opened_at, zone)
    match transition.grounds:
        case FeeGrounds() as grounds:
            began = ("Busy since", moment_in(transition.began_at, zone))
            rows = (began,) if transition.after is State.BUSY else lasted
            return _of_fees(transition, grounds, network, rows)
        case SilenceGrounds() as grounds:
            return _of_silence(transition.subject.kind, grounds, network, zone)
        case AgeGrounds() as grounds:
            return _of_age(grounds, network, zone)
        case SpaceGrounds() as grounds:
            return _of_space(transition, grounds, lasted)
        case None | InclusionGrounds() | DigestGrounds():
            over = describe_end(transition, network, lasted)
            return over or _of_figureless(transition, network, lasted)
        case grounds:
            return describe_measured(transition, grounds, network, lasted)


def describe_over(
    transition: Transition, ended: Transition, network: str, zone: tzinfo = UTC
) -> IncidentText:
    """Say what was so of a network, in a message that comes when it is over."""
    text = describe(transition, None, network, zone)
    begin, end = transition.began_at, ended.began_at
    when, rows = from_to(begin, end), _lasted(ended, begin, zone)
    match transition.grounds:
        case FeeGrounds() as grounds:
            if ended.after is State.UNKNOWN:
                when = f"{when}, when fees were seen last"
            return _of_fees_before(grounds, network, when, rows)
        case SilenceGrounds():
            source, _ = _SOURCES[transition.subject.kind]
            claim = f"{network}: {source} was silent {when}"
        case AgeGrounds():
            claim = f"{network}: fees were stale {when}"
        case SpaceGrounds():
            claim = f"The disk of the store was low on space {when}"
        case _:
            claim = f"{text.subject or text.headline}; over since {end:%H:%M:%S} UTC"
    return replace(
        text,
        headline=claim,
        opening=f"{claim}.",
        subject="",
        rows=rows,
        explanation="",
        next_steps=(),
        quote="",
        preheader="",
    )


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


def _lasted(transition: Transition, opened_at: datetime | None, zone: tzinfo) -> Rows:
    """Return how long a condition that is over lasted, as a labelled line."""
    if opened_at is None or transition.after.is_open:
        return ()
    length = span(transition.began_at - opened_at)
    return (("Lasted", f"{length}, since {moment_in(opened_at, zone)}"),)


def _of_fees(
    transition: Transition, grounds: FeeGrounds, network: str, lasted: Rows
) -> IncidentText:
    is_busy = transition.after is State.BUSY
    claim = "is busy" if is_busy else "is calm again"
    name, measure, whole_measure = _MEASURES[grounds.signal]
    fee, threshold, unit = compared(grounds.fee, grounds.threshold)
    which = "" if grounds.signal is Signal.BASE_FEE else f"{grounds.signal} "
    side = "above" if grounds.is_busy else "not above"
    return IncidentText(
        headline=f"{network} {claim}: {which}{fee} {unit}, {measure} {threshold}",
        opening=(
            f"{network} {claim}: the {name} is {fee} {unit}, {side} "
            f"{whole_measure.format(f'{threshold} {unit}')}."
        ),
        page="fees",
        rows=(
            (str(grounds.signal).capitalize(), f"{format_gwei(grounds.fee)} gwei"),
            (measure.capitalize(), f"{format_gwei(grounds.threshold)} gwei"),
            *lasted,
        ),
        explanation=_MEANINGS[grounds.signal],
        next_steps=_WAIT if is_busy else (),
    )


def _of_fees_before(grounds: FeeGrounds, network: str, when: str, lasted: Rows) -> IncidentText:
    name, measure, whole_measure = _MEASURES[grounds.signal]
    fee, threshold, unit = compared(grounds.fee, grounds.threshold)
    return IncidentText(
        headline=f"{network} was busy {when}: {fee} {unit}, {measure} {threshold}",
        opening=(
            f"{network} was busy {when}, which is over: the {name} was {fee} {unit}, above "
            f"{whole_measure.format(f'{threshold} {unit}')}."
        ),
        page="fees",
        rows=lasted,
        explanation=_MEANINGS[grounds.signal],
    )


def _of_unknown(transition: Transition, network: str, lasted: Rows) -> IncidentText:
    """Say that nobody knows whether it is still busy, or a fee beyond its limit."""
    since, rule = transition.began_at, transition.subject.rule
    claim = f"a fee is beyond the limit of {unlinked(rule)}" if rule else "it is busy"
    return IncidentText(
        headline=f"{network}: whether {claim} is unknown from {since:%H:%M} UTC",
        opening=f"{network}: whether {claim} is unknown from {moment(since)}: no fee was seen.",
        page="fees",
        rows=lasted,
        explanation=_AFTER_GAP,
    )


def _of_silence(
    kind: SubjectKind, grounds: SilenceGrounds, network: str, zone: tzinfo
) -> IncidentText:
    source, consequence = _SOURCES[kind]
    since = grounds.failing_since
    return IncidentText(
        headline=f"{network}: {source} is silent since {since:%H:%M} UTC",
        opening=f"The {source} of {network} {_SILENCES[kind].format(moment(since))}.",
        page="health",
        rows=(("Silent since", moment_in(since, zone)),),
        explanation=consequence,
        next_steps=_ASK_ONCE,
        quote=unlinked(grounds.message),
        preheader=unlinked(grounds.message),
    )


def _of_age(grounds: AgeGrounds, network: str, zone: tzinfo) -> IncidentText:
    at = grounds.answered_at
    headline, answered, last = "fees are stale", "none were ever given", "never"
    if at is not None:
        headline = f"fees are stale, last seen at {at:%H:%M} UTC"
        answered, last = f"the last answer came on {moment(at)}", moment_in(at, zone)
    return IncidentText(
        headline=f"{network}: {headline}",
        opening=f"The fees of {network} are stale: {answered}.",
        page="health",
        rows=(("Last answer", last), ("Due every", period(grounds.period))),
        explanation=_STALE,
        next_steps=_LOOK_AFTER,
    )


def _of_space(transition: Transition, grounds: SpaceGrounds, lasted: Rows) -> IncidentText:
    is_low = transition.after is State.LOW_ON_SPACE
    claim = "is low on space" if is_low else "has enough space again"
    free, least = size(grounds.free), size(grounds.least)
    return IncidentText(
        headline=f"The disk of the store {claim}: {free} free",
        opening=f"The disk of the store {claim}: {free} are free, {least} should be at least.",
        page="health",
        rows=(("Free", free), ("Low below", least), *lasted),
        explanation=_FULL if is_low else "",
        next_steps=_MAKE_ROOM if is_low else (),
    )


def _of_figureless(transition: Transition, network: str, lasted: Rows) -> IncidentText:
    """Say that an API answers again, or that fees are fresh again: no figure stands behind it."""
    if transition.after is State.UNKNOWN:
        return _of_unknown(transition, network, lasted)
    source, _ = _SOURCES.get(transition.subject.kind, ("fees", ""))
    verb = _ENDS.get(transition.after, f"changed to {transition.after}")
    headline = f"{network}: {source} {verb}"
    return IncidentText(headline, f"{headline}.", "health", lasted)
