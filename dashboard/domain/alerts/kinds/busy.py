"""Rules of kind busy: a network is busy, and calm again."""

from __future__ import annotations

from typing import Final

from dashboard.domain.alerts.condition import Grounds, Signal, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.formatting import compared, moment_in
from dashboard.domain.quantity import Wei, format_gwei

_MEASURES: Final = {
    Signal.BASE_FEE: ("base fee", "threshold", "its busy threshold of {}"),
    Signal.PRIORITY_FEE: (
        "medium suggested priority fee",
        "90th percentile",
        "{}, the 90th percentile of the last day",
    ),
}
"""The fee that decides, then its threshold, first in short and then as part of a sentence."""

_MEANINGS: Final = {
    Signal.BASE_FEE: "Busy means that the base fee is higher than nine in ten recent ones.",
    Signal.PRIORITY_FEE: (
        "The base fee never moves here, so the priority fee decides. Busy means that it is higher "
        "than nine in ten of the last day."
    ),
}
_WAIT: Final = (
    "Wait if you can: another message says when the network is calm again.",
    "If something cannot wait, pay the fees that the page Fees suggests now.",
)


class FeeGrounds(Grounds, frozen=True):
    """A fee and the threshold that it is compared with.

    BASE_FEE: `estimatedBaseFee` and `busyThreshold` of one network. PRIORITY_FEE: the medium
    suggested priority fee and the 90th percentile of its own stored window.
    """

    signal: Signal
    fee: Wei
    threshold: Wei

    @property
    def is_busy(self) -> bool:
        """Whether the fee is strictly above: one that never moves equals its own threshold."""
        return self.fee > self.threshold


def _describe(change: DescribedChange, grounds: FeeGrounds) -> IncidentText:
    is_busy = change.transition.after is State.BUSY
    claim = "is busy" if is_busy else "is calm again"
    name, measure, whole_measure = _MEASURES[grounds.signal]
    fee, threshold, unit = compared(grounds.fee, grounds.threshold)
    which = "" if grounds.signal is Signal.BASE_FEE else f"{grounds.signal} "
    side = "above" if grounds.is_busy else "at or below"
    began = (("Busy since", moment_in(change.transition.began_at, change.zone)),)
    return IncidentText(
        headline=f"{change.network} {claim}: {which}{fee} {unit}, {measure} {threshold}",
        opening=(
            f"{change.network} {claim}: the {name} is {fee} {unit}, {side} "
            f"{whole_measure.format(f'{threshold} {unit}')}."
        ),
        page="fees",
        rows=(
            (str(grounds.signal).capitalize(), f"{format_gwei(grounds.fee)} gwei"),
            (measure.capitalize(), f"{format_gwei(grounds.threshold)} gwei"),
            *(began if is_busy else change.lasted),
        ),
        explanation=_MEANINGS[grounds.signal],
        next_steps=_WAIT if is_busy else (),
    )


def _describe_past(change: DescribedChange, grounds: FeeGrounds) -> IncidentText:
    when = change.when
    if change.end is not None and change.end.after is State.UNKNOWN:
        when = f"{when}, when the last fee was seen"
    name, measure, whole_measure = _MEASURES[grounds.signal]
    fee, threshold, unit = compared(grounds.fee, grounds.threshold)
    return IncidentText(
        headline=f"{change.network} was busy {when}: {fee} {unit}, {measure} {threshold}",
        opening=(
            f"{change.network} was busy {when}: the {name} was {fee} {unit}, "
            f"above {whole_measure.format(f'{threshold} {unit}')}."
        ),
        page="fees",
        rows=change.lasted,
        explanation=_MEANINGS[grounds.signal],
    )


BUSY: Final = Kind(
    title="{network} busy",
    when="a network is busy",
    subjects={SubjectKind.BUSYNESS: Judged(State.CALM, State.BUSY)},
    rests_on=frozenset({SubjectKind.GAS_API, SubjectKind.FEES}),
    grounds={"fee": FeeGrounds},
    describe=_describe,
    describe_past=_describe_past,
)
