"""Rules of kind limits-end: the line limits of a network ended."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.formatting import moment, moment_in

_WHAT_FOLLOWS: Final = (
    "Transactions first seen since then are not rejected for line limits, so nobody is notified if "
    "the exclusion API stops answering. Earlier rejections stay, and earlier transactions are "
    "still asked about. Fees are watched as before."
)
_IF_NOT: Final = (
    "If the network postponed the end, correct line_limits_end or line_limits_end_block in the "
    "settings: Linewatch then asks again for what it missed."
)


class EndGrounds(Grounds, frozen=True):
    """When line limits ended; with the block, if the settings name one."""

    ended_at: datetime
    block_number: int | None = None


def _describe(change: DescribedChange, grounds: EndGrounds) -> IncidentText:
    block = ""
    if grounds.block_number is not None:
        block = f", with block {grounds.block_number:,}"
    return IncidentText(
        headline=f"{change.network}: no line limits since {grounds.ended_at:%H:%M} UTC",
        opening=f"{change.network} has had no line limits since {moment(grounds.ended_at)}{block}.",
        page="rejections",
        rows=(("Ended", moment_in(grounds.ended_at, change.zone)),),
        explanation=_WHAT_FOLLOWS,
        next_steps=(_IF_NOT,),
        kicker="Line limits ended",
        preheader="No more rejections for line limits are expected. Fees are watched as before.",
    )


LIMITS_END: Final = Kind(
    title="{where}line limits ended",
    when="the line limits of a network end",
    subjects={SubjectKind.LINE_LIMITS: Judged(State.LINE_LIMITS, State.NO_LINE_LIMITS)},
    is_lasting=False,
    grounds={"limits-end": EndGrounds},
    describe=_describe,
)
