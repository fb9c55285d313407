"""`linewatch recipients`: to which addresses nothing is sent, and to change that."""

from __future__ import annotations

import click

from dashboard.cli.installation import open_installation
from dashboard.cli.listing import Listing, Output, output, print_list
from dashboard.cli.output import Json, instant, say
from dashboard.cli.silence_options import actor, by
from dashboard.domain.address_off import AddressOff
from dashboard.domain.notification import Recipient
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError
from dashboard.show.queries.recipients import RecipientQueries
from dashboard.show.text import moment

_address = click.argument("address")
_channel = click.option(
    "--channel", default="mail", show_default=True, help="Whose address it is, as in [channels]."
)


@click.group()
def recipients() -> None:
    """Turn addresses off and on; a recipient does the same by the link in a message."""


@recipients.command("list")
@output
def list_(*, output: Output) -> None:
    """List the addresses to which nothing is sent, with the cause, the latest first."""
    with open_installation() as here:
        print_list(
            Listing(
                "off",
                RecipientQueries(here.source).off(),
                ("SINCE", "CHANNEL", "ADDRESS", "CAUSE", "BY", "NOTE"),
                row=_row,
                form=_form,
                nothing="No address is off.",
            ),
            output,
        )


@recipients.command()
@_address
@_channel
@click.option("--note", default="", help="Why, for those who wonder.")
@by
def off(*, address: str, channel: str, note: str, name: str | None) -> None:
    """Send nothing to ADDRESS any more; what is pending to it is marked as dead."""
    with open_installation() as here:
        who = actor(name, here.source.now())
        is_new = RecipientQueries(here.source).turn_off(Recipient(channel, address), who, note)
    say(f"{address}: {'off now' if is_new else 'was off already'}.")


@recipients.command()
@_address
@_channel
@by
def on(*, address: str, channel: str, name: str | None) -> None:
    """Send to ADDRESS again; `linewatch resend --to ADDRESS` sends what died meanwhile."""
    with open_installation() as here:
        who = actor(name, here.source.now())
        was_off = RecipientQueries(here.source).turn_on(Recipient(channel, address), who)
    if not was_off:
        raise InputError(f"{shorten(address)} is not off: `linewatch recipients list` shows who is")
    say(f"{address}: on again.")


def _row(each: AddressOff) -> tuple[str, ...]:
    recipient = each.recipient
    return (
        moment(each.since),
        recipient.channel,
        recipient.address,
        str(each.cause),
        each.by,
        each.note,
    )


def _form(each: AddressOff) -> Json:
    return {
        "channel": each.recipient.channel,
        "address": each.recipient.address,
        "cause": str(each.cause),
        "since": instant(each.since),
        "by": each.by,
        "note": each.note,
    }
