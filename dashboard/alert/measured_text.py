"""The text of a message about what a rule measures: rates, fees, gaps, deliveries, credits."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeAlias

from dashboard.alert.change_text import IncidentText, Rows
from dashboard.domain.alerts.condition import SubjectKind, Transition
from dashboard.domain.alerts.grounds import (
    BounceGrounds,
    CreditGrounds,
    DeliveryGrounds,
    ExpiryGrounds,
    FeeLimitGrounds,
    GapGrounds,
    RateGrounds,
    Signal,
)
from dashboard.domain.foreign_text import unlinked, unlinked_name
from dashboard.domain.formatting import compared, counted, moment, period, span
from dashboard.domain.formatting import fee as formatted
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.quantity import format_gwei

LOOK_AT_REJECTIONS: Final = (
    "The page Rejections shows which modules, stages and senders they have in common.",
    "A limit that many transactions run into at once points at a node, not at its senders.",
)
_AFTER_WORKER: Final = (
    "What nodes reported meanwhile is stored, and hashes are asked about again.",
    "Run a second `linewatch worker` on another machine: it takes over within seconds.",
)
_AFTER_GAP: Final = (
    "The page Health lists the gaps; what upstream still knows is asked for again.",
)
_AFTER_FAILURE: Final = (
    "Try the channel with `linewatch alerts test-send`, which shows the answer of the server.",
    "Give this rule recipients of another channel, so that it reaches somebody meanwhile.",
)
_AFTER_BOUNCE: Final = (
    "Ask its owner over another way, or correct the address in the settings or in the rule.",
    "Once it is right, run `linewatch recipients on ADDRESS` or use the page Alerts.",
)
_SAVE_CREDITS: Final = (
    "Run `linewatch config try`: it says what the cadence costs a day.",
    "Longer periods in [poll], or of a network, spend less.",
)
_BEFORE_END: Final = (
    "A key is renewed with `linewatch keys rotate`.",
    "The operator of the server renews its certificate; you renew those in `tls.ca_file`.",
)
_CAUSES: Final = {
    GapCause.NOT_WATCHED: "no worker was running",
    GapCause.NOT_ANSWERED: "nobody answered",
}
_OVER: Final = {
    SubjectKind.COVERAGE: "{network} is watched again",
    SubjectKind.WORKER: "a worker is running again",
    SubjectKind.DELIVERY: "{what} accepts notifications again",
    SubjectKind.ADDRESS: "{what} is taken for a good address again",
    SubjectKind.CREDITS: "the budget of credits is kept again",
    SubjectKind.EXPIRY: "{what} does not end soon any more",
}
_OF_VALUE: Final = {
    "module": "of module",
    "stage": "at stage",
    "sender": "of sender",
    "label": "of label",
    "tag": "tagged",
}
_LONGEST_VALUE: Final = 80
_FEES: Final = {
    Signal.BASE_FEE: "base fee",
    Signal.PRIORITY_FEE: "medium suggested priority fee",
}


MeasuredGrounds: TypeAlias = (
    RateGrounds
    | FeeLimitGrounds
    | GapGrounds
    | DeliveryGrounds
    | BounceGrounds
    | CreditGrounds
    | ExpiryGrounds
)


def describe_measured(  # noqa: PLR0911 - one for each kind of grounds
    transition: Transition, grounds: MeasuredGrounds, network: str, lasted: Rows
) -> IncidentText:
    """Say what a rule measured; `network` is its name, made visible."""
    match grounds:
        case RateGrounds():
            return _of_rate(transition, grounds, network, lasted)
        case FeeLimitGrounds():
            return _of_fee_limit(transition, grounds, network, lasted)
        case GapGrounds():
            return _of_gap(transition, grounds, network)
        case DeliveryGrounds():
            return _of_delivery(transition, grounds)
        case BounceGrounds():
            return _of_bounce(transition, grounds)
        case CreditGrounds():
            return _of_credits(transition, grounds, lasted)
        case _:
            return _of_expiry(transition, grounds)


def describe_end(transition: Transition, network: str, lasted: Rows) -> IncidentText | None:
    """Say that what a rule measured is over, where no figure stands behind that; else None."""
    subject = transition.subject
    said = _OVER.get(subject.kind)
    if said is None:
        return None
    is_address = subject.kind is SubjectKind.ADDRESS
    what = (
        unlinked_name(subject.dimension)
        if is_address
        else unlinked(subject.dimension, _LONGEST_VALUE)
    )
    headline = said.format(network=network, what=what)
    rows = (_rule(transition), *lasted)
    return IncidentText(headline, f"{headline[0].upper()}{headline[1:]}.", "health", rows)


def describe_own_failure(transition: Transition, grounds: DeliveryGrounds) -> IncidentText:
    """Say in a message over a channel that this channel took nothing: it took the message."""
    channel, many = _channel_of(transition), counted(grounds.pending, "notification")
    return replace(
        _of_delivery(transition, grounds),
        headline=f"{channel} did not accept {many}",
        opening=f"The channel {channel} did not accept {many}, the oldest since "
        f"{moment(grounds.oldest)}.",
        remark="It accepted this message, so it works again, at least for you. Another one follows "
        "only where it fails after this one.",
    )


def _rule(transition: Transition) -> tuple[str, str]:
    """Return the labelled line that names the rule."""
    return "Rule", unlinked(transition.subject.rule, _LONGEST_VALUE)


def _of_gap(transition: Transition, grounds: GapGrounds, network: str) -> IncidentText:
    begun = moment(grounds.begins_at)
    lasts = "since" if grounds.ends_at is None else "from"
    ended = "" if grounds.ends_at is None else f" to {moment(grounds.ends_at)}"
    if transition.subject.kind is SubjectKind.WORKER:
        length = span((grounds.ends_at or transition.at) - grounds.begins_at)
        headline = f"no worker was running for {length}"
        opening = f"No worker was running {lasts} {begun}{ended}: nothing was asked and nobody was "
        opening += "notified."
        steps: tuple[str, ...] = _AFTER_WORKER
    else:
        headline = f"{network} was not watched {lasts} {begun}{ended}"
        opening = f"{headline}: {_CAUSES[grounds.cause]}."
        steps = _AFTER_GAP
    return IncidentText(
        headline=headline,
        opening=opening,
        page="health",
        rows=(
            _rule(transition),
            ("Not watched since", begun),
            *((("Until", moment(grounds.ends_at)),) if grounds.ends_at is not None else ()),
        ),
        next_steps=steps,
        quote=unlinked(grounds.reason),
    )


def _of_delivery(transition: Transition, grounds: DeliveryGrounds) -> IncidentText:
    channel, many = _channel_of(transition), counted(grounds.pending, "notification")
    waits = "waits" if grounds.pending == 1 else "wait"
    return IncidentText(
        headline=f"{channel} accepts no notifications: {many} {waits}",
        opening=f"The channel {channel} does not accept notifications: {many} {waits} there, the "
        f"oldest since {moment(grounds.oldest)}.",
        page="alerts",
        rows=(_rule(transition), ("Waiting", f"{grounds.pending:,}")),
        explanation="Nothing is lost: each is tried again until it is accepted, for seven days.",
        next_steps=_AFTER_FAILURE,
        quote=unlinked(grounds.outcome),
        quote_title="The last answer",
    )


def _of_bounce(transition: Transition, grounds: BounceGrounds) -> IncidentText:
    address = unlinked_name(transition.subject.dimension)
    at = moment(grounds.bounced_at)
    explanation = "Messages still go there. When another one comes back, the address is turned off."
    if grounds.is_off:
        explanation = "Several came back, so the address is off: nothing is sent there any more."
    return IncidentText(
        headline=f"mails to {address} come back"
        if grounds.is_off
        else f"a mail to {address} came back",
        opening=f"The mail server of {address} sent a message back at {at}: there is no such "
        "mailbox, or it takes nothing.",
        page="alerts",
        rows=(_rule(transition), ("Address", address), ("Came back", at)),
        explanation=explanation,
        next_steps=_AFTER_BOUNCE,
        quote=unlinked(grounds.answer),
        quote_title="Its answer",
    )


def _channel_of(transition: Transition) -> str:
    return unlinked(transition.subject.dimension, _LONGEST_VALUE)


def _of_credits(transition: Transition, grounds: CreditGrounds, lasted: Rows) -> IncidentText:
    share = f"{grounds.spent / grounds.budget:.0%}"
    spent = f"{grounds.spent:,} of {grounds.budget:,} credits of this {grounds.per}"
    return IncidentText(
        headline=f"{share} of the credits of this {grounds.per} are spent",
        opening=f"{spent} are spent, {share}.",
        page="health",
        rows=(_rule(transition), ("Spent", spent), *lasted),
        next_steps=_SAVE_CREDITS if transition.after.is_open else (),
    )


def _of_expiry(transition: Transition, grounds: ExpiryGrounds) -> IncidentText:
    what = unlinked(grounds.what, _LONGEST_VALUE)
    left = grounds.ends_at - transition.at
    when = f"expires in {span(left)}" if left > timedelta() else "has expired"
    return IncidentText(
        headline=f"The {what} {when}",
        opening=f"The {what} {when}, on {moment(grounds.ends_at)}.",
        page="health",
        rows=(_rule(transition), ("Expires", moment(grounds.ends_at))),
        next_steps=_BEFORE_END,
    )


def _of_rate(
    transition: Transition, grounds: RateGrounds, network: str, lasted: Rows
) -> IncidentText:
    which = ""
    if grounds.by:
        value = unlinked(grounds.value, _LONGEST_VALUE)
        which = f" {_OF_VALUE[grounds.by]} {value}" if value else f" without a {grounds.by}"
    window = period(grounds.window)
    many = f"{counted(grounds.count, 'rejection')}{which} in {window}"
    is_over = not transition.after.is_open
    claim = "no more than" if is_over else "more than"
    return IncidentText(
        headline=f"{network}: {many}, {claim} {grounds.more_than:,}",
        opening=f"{many} arrived on {network}: {claim} the {grounds.more_than:,} of the rule "
        f"{_rule(transition)[1]}.",
        page="rejections",
        rows=(
            _rule(transition),
            ("Arrived", f"{grounds.count:,} in {window}"),
            ("Reported above", f"{grounds.more_than:,}"),
            *lasted,
        ),
        next_steps=() if is_over else LOOK_AT_REJECTIONS,
    )


def _of_fee_limit(
    transition: Transition, grounds: FeeLimitGrounds, network: str, lasted: Rows
) -> IncidentText:
    name = _FEES[grounds.signal]
    fee, limit = _in_units(grounds)
    side = "above" if grounds.is_upper else "below"
    claim = f"is {side}" if grounds.is_beyond else f"is not {side}"
    again = "" if transition.after.is_open else " any more"
    return IncidentText(
        headline=f"{network}: {name} {fee} {claim} {limit}{again}",
        opening=f"The {name} of {network} {claim} {limit}{again}: it is {fee}.",
        page="fees",
        rows=(
            _rule(transition),
            (name.capitalize(), f"{format_gwei(grounds.fee)} gwei"),
            ("Reported " + side, f"{format_gwei(grounds.limit)} gwei"),
            *lasted,
        ),
    )


def _in_units(grounds: FeeLimitGrounds) -> tuple[str, str]:
    """Print the fee and its limit in one unit, or in two where one of them would be nothing."""
    fee, limit, unit = compared(grounds.fee, grounds.limit)
    if "0" in {fee, limit}:
        return " ".join(formatted(grounds.fee)), " ".join(formatted(grounds.limit))
    return f"{fee} {unit}", f"{limit} {unit}"
