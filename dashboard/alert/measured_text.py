"""The text of a message about what a rule measures: a rate of rejections, a fee at its limit."""

from __future__ import annotations

from typing import Final

from dashboard.alert.change_text import IncidentText, Rows
from dashboard.domain.condition import Transition
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import compared, period
from dashboard.domain.grounds import FeeLimitGrounds, RateGrounds, Signal
from dashboard.domain.quantity import format_gwei

_LOOK_AT_REJECTIONS: Final = (
    "The page Rejections shows which modules, stages and senders they have in common.",
    "A limit that many transactions run into at once points at a node, not at its senders.",
)
_OF_VALUE: Final = {
    "module": "of module",
    "stage": "at stage",
    "sender": "of sender",
    "label": "of label",
}
_LONGEST_VALUE: Final = 80
_FEES: Final = {
    Signal.BASE_FEE: "base fee",
    Signal.PRIORITY_FEE: "medium suggested priority fee",
}


def describe_measured(
    transition: Transition, grounds: RateGrounds | FeeLimitGrounds, network: str, lasted: Rows
) -> IncidentText:
    """Say what a rule measured; `network` is its name, made visible."""
    if isinstance(grounds, RateGrounds):
        return _of_rate(transition, grounds, network, lasted)
    return _of_fee_limit(transition, grounds, network, lasted)


def _of_rate(
    transition: Transition, grounds: RateGrounds, network: str, lasted: Rows
) -> IncidentText:
    which = ""
    if grounds.by:
        value = visible(grounds.value, _LONGEST_VALUE)
        which = f" {_OF_VALUE[grounds.by]} {value or 'none'}"
    window = period(grounds.window)
    many = f"{grounds.count:,} rejection{'' if grounds.count == 1 else 's'}{which} in {window}"
    is_over = not transition.after.is_open
    claim = "no more than" if is_over else "more than"
    return IncidentText(
        headline=f"{network}: {many}, {claim} {grounds.more_than:,}",
        opening=f"{many} arrived on {network}: {claim} the {grounds.more_than:,} of the rule "
        f"{transition.subject.rule}.",
        page="rejections",
        rows=(
            ("Rule", transition.subject.rule),
            ("Arrived", f"{grounds.count:,} in {window}"),
            ("Reported above", f"{grounds.more_than:,}"),
            *lasted,
        ),
        next_steps=() if is_over else _LOOK_AT_REJECTIONS,
    )


def _of_fee_limit(
    transition: Transition, grounds: FeeLimitGrounds, network: str, lasted: Rows
) -> IncidentText:
    name = _FEES[grounds.signal]
    fee, limit, unit = compared(grounds.fee, grounds.limit)
    side = "above" if grounds.is_upper else "below"
    claim = f"is {side}" if grounds.is_beyond else f"is not {side}"
    again = "" if transition.after.is_open else " any more"
    return IncidentText(
        headline=f"{network}: {name} {fee} {unit} {claim} {limit}{again}",
        opening=f"The {name} of {network} {claim} {limit} {unit}{again}: it is {fee} {unit}.",
        page="fees",
        rows=(
            ("Rule", transition.subject.rule),
            (name.capitalize(), f"{format_gwei(grounds.fee)} gwei"),
            ("Reported " + side, f"{format_gwei(grounds.limit)} gwei"),
            *lasted,
        ),
    )
