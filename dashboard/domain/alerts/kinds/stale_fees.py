"""Rules of kind data-stale: the fees of a network are older than they should be."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.alerts.kinds.upstream import UnaskedGrounds
from dashboard.domain.formatting import moment, moment_in, period
from dashboard.domain.health.observation import Operation

_STALE: Final = (
    "They are older than two poll periods, so they may be wrong by now. Until fresh fees arrive, "
    "nobody is notified when the network becomes busy."
)
_LOOK_AFTER: Final = (
    "If Linewatch was stopped, do nothing: it is asking again.",
    "Otherwise, the page Health says which question is not answered, and why.",
)


class AgeGrounds(Grounds, frozen=True):
    """A stale fee: the operation, when it was last answered, and how often it is due.

    `answered_at` is None if it was never answered, though other operations were.
    """

    operation: Operation
    answered_at: datetime | None
    period: timedelta


def _describe(change: DescribedChange, grounds: AgeGrounds | UnaskedGrounds) -> IncidentText:
    if isinstance(grounds, UnaskedGrounds):
        return IncidentText(
            headline=f"{change.network}: fees no longer asked",
            opening=f"Linewatch no longer asks for the fees of {change.network}.",
            page="health",
            rows=change.lasted,
            kicker="not asked",
        )
    at = grounds.answered_at
    headline, answered, last = "fees are stale", "no fee has been seen yet", "never"
    if at is not None:
        headline = f"fees are stale, last seen at {at:%H:%M} UTC"
        answered, last = f"the last answer came on {moment(at)}", moment_in(at, change.zone)
    return IncidentText(
        headline=f"{change.network}: {headline}",
        opening=f"The fees of {change.network} are stale: {answered}.",
        page="health",
        rows=(("Last answer", last), ("Due every", period(grounds.period))),
        explanation=_STALE,
        next_steps=_LOOK_AFTER,
    )


DATA_STALE: Final = Kind(
    title="{where}fees stale",
    when="the fees of a network are stale",
    subjects={
        SubjectKind.FEES: Judged(State.FRESH, State.STALE, "{network}: fees are fresh again")
    },
    rests_on=frozenset({SubjectKind.GAS_API}),
    grounds={"age": AgeGrounds},
    describe=_describe,
    describe_past=lambda change, _: f"{change.network}: fees were stale {change.when}",
)
