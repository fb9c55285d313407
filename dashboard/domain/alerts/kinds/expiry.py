"""Rules of kind expiry: a key or a certificate expires soon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

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
    Figure,
    IncidentText,
    Judged,
    Kind,
    Measure,
)
from dashboard.domain.alerts.rule_values import positive_duration
from dashboard.domain.formatting import moment, span, write_duration
from dashboard.domain.markup import unlinked

_BEFORE_END: Final = (
    "Renew a key with `linewatch keys rotate`.",
    "A server's operator renews its certificate; you renew those in `tls.ca_file`.",
)


@dataclass(frozen=True, slots=True)
class ExpiryMeasure(Measure):
    """How long before its end a key or a certificate is reported."""

    within: timedelta

    def table(self) -> dict[str, Any]:
        return {"within": write_duration(self.within)}

    def when(self) -> str:
        return f"a key or a certificate expires within {span(self.within)}"


class ExpiryGrounds(Grounds, frozen=True):
    """What expires soon, such as ``key wallet`` (foreign text), and when."""

    what: str
    ends_at: datetime


def read_expiries(
    rule: str, ending: Iterable[ExpiryGrounds], now: datetime, unknown: Iterable[str] = ()
) -> Readings:
    """Return a reading for each thing that expires soon; None for what is `unknown` now."""
    subject = partial(Subject.of_rule, SubjectKind.EXPIRY, rule)
    readings: Readings = {subject(each): None for each in unknown}
    return readings | {
        subject(each.what): Reading(is_trouble=True, at=now, grounds=each) for each in ending
    }


def _describe(change: DescribedChange, grounds: ExpiryGrounds) -> IncidentText:
    what = unlinked(grounds.what, LONGEST_VALUE)
    left = grounds.ends_at - change.transition.at
    when = f"expires in {span(left)}" if left > timedelta() else "has expired"
    return IncidentText(
        headline=f"The {what} {when}",
        opening=f"The {what} {when} ({moment(grounds.ends_at)}).",
        page="health",
        rows=(change.rule, ("Expires", moment(grounds.ends_at))),
        next_steps=_BEFORE_END,
    )


EXPIRY: Final = Kind(
    title="Key or certificate about to expire",
    when="a key or a certificate expires",
    subjects={
        SubjectKind.EXPIRY: Judged(
            State.WITHIN_LIMITS, State.BEYOND_LIMITS, "{what} no longer expires soon"
        )
    },
    is_of_networks=False,
    is_measured=True,
    reads_some=True,
    figures=(Figure("within", positive_duration, "Within", example="14 days", is_needed=True),),
    measure=lambda values: ExpiryMeasure(values["within"]),
    grounds={"expiry": ExpiryGrounds},
    describe=_describe,
)
