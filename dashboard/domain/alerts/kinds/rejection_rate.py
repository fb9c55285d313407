"""Rules of kind rejection-rate: more rejections than usual arrive within a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from dashboard.domain.alerts.condition import (
    Grounds,
    Reading,
    Readings,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.kinds.kind import (
    LONGEST_VALUE,
    DescribedChange,
    Dimension,
    Figure,
    IncidentText,
    Judged,
    Kind,
    Measure,
)
from dashboard.domain.alerts.rule_values import duration, word
from dashboard.domain.formatting import counted, period, span, write_duration
from dashboard.domain.markup import unlinked
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError

MOST_COUNTED: Final = 50_000
"""The largest number of rejections that a rule can set as its limit."""

SHORTEST_WINDOW: Final = timedelta(seconds=10)
LONGEST_WINDOW: Final = timedelta(hours=24)

LOOK_AT_REJECTIONS: Final = (
    "The page Rejections shows which modules, stages and senders they have in common.",
    "If many transactions exceed a limit at once, suspect a node rather than the senders.",
)
_OF_VALUE: Final = {
    "module": "of module",
    "stage": "at stage",
    "sender": "of sender",
    "label": "of label",
    "tag": "tagged",
}

Counts: TypeAlias = Mapping[tuple[NetworkId, str], int]
"""Rejections by network and by the value of the rule's dimension, which is empty without one."""


@dataclass(frozen=True, slots=True)
class RateMeasure(Measure):
    """More than so many rejections within a window, on each network separately.

    With `by`, also for each module, stage, sender, label or tag separately.
    """

    more_than: int
    window: timedelta
    by: Dimension | None = None

    def table(self) -> dict[str, Any]:
        said = {"more_than": self.more_than, "window": write_duration(self.window)}
        return said if self.by is None else said | {"by": self.by.value}

    def when(self) -> str:
        each = "" if self.by is None else f" of one {self.by}"
        return f"more than {self.more_than:,} rejections{each} arrive within {span(self.window)}"

    def grounds(self, count: int, value: str) -> RateGrounds:
        """Return the grounds of a change for a count."""
        by = "" if self.by is None else self.by.value
        return RateGrounds(count, self.more_than, self.window, by, value)


class RateGrounds(Grounds, frozen=True):
    """How many rejections arrived within the window, and how many the rule allows.

    `by` is the dimension by which the rule counts separately, empty for none; `value` is the value
    counted here, foreign text.
    """

    count: int
    more_than: int
    window: timedelta
    by: str = ""
    value: str = ""


def read_rates(rule: str, measure: RateMeasure, counts: Counts, now: datetime) -> Readings:
    """Return for each network and value whether more rejections arrived than the rule allows."""
    readings: Readings = {}
    for (network_id, value), count in counts.items():
        subject = Subject.of_rule(SubjectKind.REJECTION_RATE, rule, value, network_id)
        grounds = measure.grounds(count, value)
        readings[subject] = Reading(count > measure.more_than, now, grounds=grounds)
    return readings


def _count(written: object) -> int:
    if type(written) is not int or not 0 <= written <= MOST_COUNTED:
        raise InputError(f"is {shorten(str(written))}: write a number up to {MOST_COUNTED:,}")
    return written


def _window(written: object) -> timedelta:
    window = duration(written)
    if not SHORTEST_WINDOW <= window <= LONGEST_WINDOW:
        raise InputError(f"is {written}: write 10s to 24h")
    return window


def _by(written: object) -> Dimension:
    if written == Dimension.NETWORK:
        raise InputError("is network, and each network is counted alone anyway: leave it out")
    return word(Dimension)(written)


def _describe(change: DescribedChange, grounds: RateGrounds) -> IncidentText:
    which = ""
    if grounds.by:
        value = unlinked(grounds.value, LONGEST_VALUE)
        which = f" {_OF_VALUE[grounds.by]} {value}" if value else f" without a {grounds.by}"
    window = period(grounds.window)
    many = f"{counted(grounds.count, 'rejection')}{which} in {window}"
    claim = "more than" if change.is_open else "no more than"
    return IncidentText(
        headline=f"{change.network}: {many}, {claim} {grounds.more_than:,}",
        opening=f"{change.network} had {many}: {claim} {grounds.more_than:,}, the limit of the "
        f"rule {change.rule[1]}.",
        page="rejections",
        rows=(
            change.rule,
            ("Arrived", f"{grounds.count:,} in {window}"),
            ("Reported above", f"{grounds.more_than:,}"),
            *change.lasted,
        ),
        next_steps=LOOK_AT_REJECTIONS if change.is_open else (),
    )


REJECTION_RATE: Final = Kind(
    title="{where}rejections{in_common} above their limit",
    when="many transactions are rejected",
    subjects={SubjectKind.REJECTION_RATE: Judged(State.WITHIN_LIMITS, State.BEYOND_LIMITS)},
    rests_on=frozenset({SubjectKind.EXCLUSION_API}),
    is_of_rejections=True,
    is_measured=True,
    reads_some=True,
    figures=(
        Figure("more_than", _count, "More than", example="5", is_needed=True, is_number=True),
        Figure("window", _window, "Within", example="10 min", is_needed=True),
        Figure(
            *("by", _by, "Counted for each", "network only"),
            choices=[each.value for each in Dimension if each is not Dimension.NETWORK],
        ),
    ),
    measure=lambda said: RateMeasure(said["more_than"], said["window"], said.get("by")),
    grounds={"rate": RateGrounds},
    describe=_describe,
)
