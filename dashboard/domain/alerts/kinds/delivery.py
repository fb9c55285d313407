"""Rules of kind delivery-failing: a channel accepts nothing, or mails to an address bounce."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from dashboard.domain.alerts.condition import (
    Grounds,
    Reading,
    Readings,
    State,
    Subject,
    SubjectKind,
)
from dashboard.domain.alerts.kinds.kind import DescribedChange, IncidentText, Judged, Kind
from dashboard.domain.formatting import counted, moment
from dashboard.domain.markup import unlinked

_AFTER_FAILURE: Final = (
    "Try the channel with `linewatch alerts test-send`, which shows the answer of the server.",
    "Give this rule recipients of another channel, so that it reaches somebody meanwhile.",
)
_AFTER_BOUNCE: Final = (
    "Contact its owner another way, or correct the address in the settings or in the rule.",
    "Once it works, run `linewatch recipients on ADDRESS` or use the page Alerts.",
)


class DeliveryGrounds(Grounds, frozen=True):
    """Notifications that a channel does not accept, the oldest, and the last answer (foreign)."""

    pending: int
    oldest: datetime
    outcome: str


class BounceGrounds(Grounds, frozen=True):
    """When a mail to an address bounced, and the answer of its server (foreign).

    `is_off`: nothing is sent to the address any more.
    """

    bounced_at: datetime
    answer: str
    is_off: bool


def read_deliveries(rule: str, failing: Mapping[str, DeliveryGrounds], now: datetime) -> Readings:
    """Return a reading for each failing channel."""
    return {
        Subject.of_rule(SubjectKind.DELIVERY, rule, channel): Reading(
            is_trouble=True, at=now, grounds=grounds
        )
        for channel, grounds in failing.items()
    }


def read_bounces(rule: str, bounced: Mapping[str, BounceGrounds], now: datetime) -> Readings:
    """Return a reading for each email address that bounces, in trouble since the first bounce."""
    return {
        Subject.of_rule(SubjectKind.ADDRESS, rule, address): Reading(
            is_trouble=True, at=now, since=grounds.bounced_at, grounds=grounds
        )
        for address, grounds in bounced.items()
    }


def describe_own_failure(change: DescribedChange, grounds: DeliveryGrounds) -> IncidentText:
    """Describe the failure of a channel in a message over that channel, which works again."""
    channel, many = change.what, counted(grounds.pending, "notification")
    return replace(
        _describe_delivery(change, grounds),
        headline=f"{channel} did not accept {many}",
        opening=f"The channel {channel} did not accept {many}, the oldest since "
        f"{moment(grounds.oldest)}.",
        remark="This message got through, so the channel works again, at least for you. The next "
        "one comes only if it fails again.",
    )


def _describe(change: DescribedChange, grounds: DeliveryGrounds | BounceGrounds) -> IncidentText:
    if isinstance(grounds, BounceGrounds):
        return _describe_bounce(change, grounds)
    return _describe_delivery(change, grounds)


def _describe_delivery(change: DescribedChange, grounds: DeliveryGrounds) -> IncidentText:
    channel, many = change.what, counted(grounds.pending, "notification")
    are = "is" if grounds.pending == 1 else "are"
    return IncidentText(
        headline=f"{channel} accepts no notifications: {grounds.pending:,} pending",
        opening=f"The channel {channel} does not accept notifications: {many} {are} pending, the "
        f"oldest since {moment(grounds.oldest)}.",
        page="alerts",
        rows=(change.rule, ("Pending", f"{grounds.pending:,}")),
        explanation="Nothing is lost: each is tried again until it is accepted, for seven days.",
        next_steps=_AFTER_FAILURE,
        quote=unlinked(grounds.outcome),
        quote_title="The last answer",
    )


def _describe_bounce(change: DescribedChange, grounds: BounceGrounds) -> IncidentText:
    address, at = change.what, moment(grounds.bounced_at)
    explanation = "Messages still go there. If another comes back, the address is turned off."
    if grounds.is_off:
        explanation = "Several came back, so the address is off: nothing is sent to it."
    return IncidentText(
        headline=f"Mails to {address} come back"
        if grounds.is_off
        else f"A mail to {address} came back",
        opening=f"The mail server of {address} sent a message back at {at}: the mailbox "
        "does not exist, or accepts nothing.",
        page="alerts",
        rows=(change.rule, ("Address", address), ("Came back", at)),
        explanation=explanation,
        next_steps=_AFTER_BOUNCE,
        quote=unlinked(grounds.answer),
        quote_title="Its answer",
    )


DELIVERY_FAILING: Final = Kind(
    title="Notifications not delivered",
    when="a channel accepts no notifications",
    subjects={
        SubjectKind.DELIVERY: Judged(
            State.DELIVERING, State.FAILING, "{what} accepts notifications again"
        ),
        SubjectKind.ADDRESS: Judged(State.DELIVERING, State.FAILING, "{what} is no longer suspect"),
    },
    is_of_networks=False,
    is_measured=True,
    reads_some=True,
    grounds={"delivery": DeliveryGrounds, "bounce": BounceGrounds},
    describe=_describe,
)
