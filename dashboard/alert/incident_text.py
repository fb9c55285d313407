"""The text of a message about an incident of a network or of the installation, or its end.

About a high fee it says what is known of suggested fees, of usual spells and of the day.
"""

from __future__ import annotations

from datetime import timedelta, tzinfo
from typing import Final

from msgspec import Struct

from dashboard.alert.fee_chart import ChartPoint, draw_chart
from dashboard.domain.alerts.condition import State, Transition
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText
from dashboard.domain.alerts.kinds.table import JUDGED, KINDS, kind_of
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.fees.busy_spells import USUAL_WINDOW, BusyContext, UsualSpells
from dashboard.domain.fees.gas import FeeSuggestion
from dashboard.domain.formatting import capitalized, compared, fee, moment, moment_in, span
from dashboard.domain.markup import unlinked

_AFTER_GAP: Final = (
    "The condition held until then. If it still holds when fees return, another message says so."
)
_IN_HAND: Final = {
    NotificationKind.ACKNOWLEDGED,
    NotificationKind.HANDED_OVER,
    NotificationKind.RESOLVED,
    NotificationKind.CLOSED,
}
"""States in which somebody takes care of it, or did."""

_FEWEST_POINTS: Final = 3
_WIDEST_GAP: Final = timedelta(minutes=30)


def describe(change: DescribedChange) -> IncidentText:
    """Describe a change; if its end is known, also what was true until then."""
    kind, grounds = KINDS[kind_of(change.transition)], change.transition.grounds
    if kind.describe is not None and grounds is not None:
        text = kind.describe(change, grounds)
    elif change.transition.after is State.UNKNOWN:
        return _of_unknown(change)
    else:
        text = _of_end(change)
    if change.end is None:
        return text
    said: IncidentText | str = (
        f"{text.subject or text.headline}; over since {change.end.began_at:%H:%M:%S} UTC"
    )
    if kind.describe_past is not None and grounds is not None:
        said = kind.describe_past(change, grounds)
    if isinstance(said, IncidentText):
        return said
    return IncidentText(
        headline=said,
        opening=f"{said}.",
        page=text.page,
        rows=change.lasted,
        quote_title=text.quote_title,
        kicker=text.kicker,
        changed=text.changed,
        remark=text.remark,
    )


def _of_unknown(change: DescribedChange) -> IncidentText:
    """Say that nobody knows, or knew, whether a network is still busy or a fee above its limit."""
    since, rule = change.transition.began_at, change.transition.subject.rule
    claim = f"state of the fee limit {unlinked(rule)}" if rule else "busyness"
    if change.end is not None:
        said = f"{change.network}: {claim} unknown {change.when}"
        return IncidentText(
            said, f"{said}, because no fee was seen.", page="fees", rows=change.lasted
        )
    return IncidentText(
        headline=f"{change.network}: {claim} unknown since {since:%H:%M} UTC",
        opening=f"{change.network}: {claim} unknown since {moment(since)}, because no fee "
        "was seen.",
        page="fees",
        rows=change.lasted,
        explanation=_AFTER_GAP,
    )


def _of_end(change: DescribedChange) -> IncidentText:
    """Say that trouble is over, or began, if there is no figure for it."""
    subject = change.transition.subject
    headline = f"{change.network}: {subject.kind} changed to {change.transition.after.word}"
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
    """Return the look of a message: alarm, notable, or relief if there is nothing to do."""
    if is_over or not transition.after.is_open or kind in _IN_HAND:
        return "relief"
    return "notable" if transition.after is State.BUSY else "alarm"


class BusyText(Struct, frozen=True):
    """What a message says about a high fee; what is not known is empty.

    `levels` are rows of level, priority fee and max fee. `chart` is a PNG, and `chart_says` the
    same in words. How long each level waits is set by hand upstream, so it is left out.
    """

    levels: tuple[tuple[str, str, str], ...] = ()
    suggested_at: str = ""
    usual: str = ""
    chart: bytes = b""
    chart_says: str = ""

    @property
    def preheader(self) -> str:
        """What mail programs show beside the subject."""
        medium = [whole for level, _, whole in self.levels if level == "medium"]
        return " ".join([*(f"Suggested now: {each} (medium)." for each in medium), self.usual])


def describe_busy(context: BusyContext, zone: tzinfo) -> BusyText:
    """Describe what is known around the moment at which a network became busy."""
    asked_at = context.suggested_at
    return BusyText(
        levels=_levels(context),
        suggested_at="" if asked_at is None else moment_in(asked_at, zone),
        usual="" if context.usual is None else _usual(context.usual),
        chart=_chart(context),
        chart_says=_chart_says(context),
    )


def _levels(context: BusyContext) -> tuple[tuple[str, str, str], ...]:
    if context.suggested is None:
        return ()
    named = {"low": context.suggested.low, "medium": context.suggested.medium}
    named["high"] = context.suggested.high
    return tuple(_level(name, each) for name, each in named.items())


def _level(name: str, suggestion: FeeSuggestion) -> tuple[str, str, str]:
    priority = " ".join(fee(suggestion.suggested_max_priority_fee_per_gas))
    whole = " ".join(fee(suggestion.suggested_max_fee_per_gas))
    return name, priority, whole


def _usual(usual: UsualSpells) -> str:
    return (
        f"{capitalized(usual.in_words())}, the median of the {usual.many} in the last "
        f"{USUAL_WINDOW.days} days; the longest lasted {span(usual.longest)}."
    )


def _chart(context: BusyContext) -> bytes:
    if len(context.fees) < _FEWEST_POINTS:
        return b""
    length = context.until - context.since
    points = [ChartPoint((each.at - context.since) / length, each.highest) for each in context.fees]
    return draw_chart(points, context.grounds.threshold, _WIDEST_GAP / length)


def _chart_says(context: BusyContext) -> str:
    if len(context.fees) < _FEWEST_POINTS:
        return ""
    lowest, highest, unit = compared(
        min(each.lowest for each in context.fees), max(each.highest for each in context.fees)
    )
    threshold = " ".join(fee(context.grounds.threshold))
    between = f"{lowest} {unit}" if lowest == highest else f"{lowest} to {highest} {unit}"
    length = span(context.until - context.since)
    return (
        f"The {context.grounds.signal} of the last {length}: {between}. "
        f"The dashed line is the threshold now, {threshold}."
    )
