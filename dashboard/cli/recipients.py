"""`linewatch recipients`: who gets messages, who does not and why."""

from __future__ import annotations

import secrets

import click

from dashboard.application.recipient_words import RECIPIENTS, hours_words, unreached_words
from dashboard.application.recipients import Recipients
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import Output, output, print_list, say
from dashboard.domain.alerts.notification import DigestTime, Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.signed_link import KEY_LENGTH
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import RecipientProfile
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError

_address = click.argument("address")
_channel = click.option(
    "--channel", default=MAIL, show_default=True, help="The channel of the address."
)


@click.group()
def recipients() -> None:
    """List who gets messages, verify addresses, turn them off or on, set hours."""


@recipients.command("list")
@output
def list_(*, output: Output) -> None:
    """List every recipient: where it is named, whether anything is sent to it, and why not."""
    with open_installation() as here:
        known = Recipients(here.source)
        unreached = known.unreached()
        print_list(
            RECIPIENTS,
            known.all(),
            output,
            more={"unreached": [each.place for each in unreached]},
            after=[f"Warning: {unreached_words(each)}." for each in unreached],
        )


@recipients.command()
@_address
@click.argument("code", required=False)
@options.by
def verify(*, address: str, code: str | None, name: str | None) -> None:
    """Verify ADDRESS by the CODE of its verification mail; without CODE, send a new mail.

    An address named only in rules gets nothing else before it is verified. The mail has a link as
    well, if public_url of [pages] is set. Addresses in the settings need no verification.
    """
    with open_installation() as here:
        who = here.user(name)
        queries, recipient = Recipients(here.source), Recipient(MAIL, address)
        if code is None:
            queries.ask(recipient, who)
            say(f"{address}: the worker sends a verification mail; give its code here.")
            return
        is_new = queries.enter_code(recipient, code, who)
    say(f"{address}: {'verified' if is_new else 'was verified already'}.")


@recipients.command("set")
@_address
@_channel
@click.option("--time-zone", help="Time zone of its hours and messages; empty: as in [mail].")
@click.option(
    "--active",
    metavar="SPAN",
    multiple=True,
    help='When messages may come, such as "mon-fri 08:00-18:00"; repeatable.',
)
@click.option("--any-hour", is_flag=True, help="Messages may come at any hour.")
@click.option(
    "--digest",
    metavar="TIME",
    help='When to mail a digest: "daily 08:00" or "weekly mon 08:00".',
)
@click.option("--no-digest", is_flag=True, help="Stop the digest.")
@options.by
def set_(
    *,
    address: str,
    channel: str,
    time_zone: str | None,
    active: tuple[str, ...],
    any_hour: bool,
    digest: str | None,
    no_digest: bool,
    name: str | None,
) -> None:
    """Set the hours of ADDRESS, its digest and its time zone.

    What you leave out stays as it is.

    At other hours messages are held, and come as one summary. A rule with pierces notifies at any
    hour.
    """
    if active and any_hour:
        raise InputError("--active and --any-hour exclude each other: choose one")
    if digest is not None and no_digest:
        raise InputError("--digest and --no-digest exclude each other: choose one")
    if time_zone is None and not (active or any_hour or digest or no_digest):
        raise InputError(
            "nothing to change: give --time-zone, --active, --any-hour, --digest or --no-digest"
        )
    spans = tuple(map(WeekSpan.parse, active))
    with open_installation() as here:
        who = here.user(name)
        queries, recipient = Recipients(here.source), Recipient(channel, address)
        before = queries.profile(recipient)
        zone = before.zone if time_zone is None else time_zone
        hours = spans if active or any_hour else before.active
        time = before.digest if digest is None else DigestTime.parse(digest)
        wanted = RecipientProfile(zone, hours, None if no_digest else time)
        queries.change(recipient, wanted, who)
    say(f"{address}: {hours_words(wanted)}.")


@recipients.command()
@_address
@_channel
@click.option("--note", default="", help="Why; shown wherever this is listed.")
@options.by
def off(*, address: str, channel: str, note: str, name: str | None) -> None:
    """Turn ADDRESS off, and mark what is pending to it as dead."""
    with open_installation() as here:
        who = here.user(name)
        is_new = Recipients(here.source).turn_off(Recipient(channel, address), who, note)
    say(f"{address}: {'off now' if is_new else 'was off already'}.")


@recipients.command()
@_address
@_channel
@options.by
def on(*, address: str, channel: str, name: str | None) -> None:
    """Turn ADDRESS on again; `linewatch resend --to ADDRESS` sends what became dead meanwhile.

    An ADDRESS that is suspect because a message to it bounced is trusted again.
    """
    with open_installation() as here:
        who = here.user(name)
        is_changed = Recipients(here.source).turn_on(Recipient(channel, address), who)
    if not is_changed:
        raise InputError(
            f"{shorten(address)} is neither off nor suspect: "
            "`linewatch recipients list` shows who is"
        )
    say(f"{address}: on again.")


@recipients.command("renew-links")
@options.by
def renew_links(*, name: str | None) -> None:
    """Make the links and codes in all messages sent so far invalid, for example after a leak.

    Messages from now on contain new ones. An address that is not verified yet needs another mail:
    `linewatch recipients verify ADDRESS`.
    """
    with open_installation() as here:
        who = here.user(name)
        Recipients(here.source).renew_link_key(secrets.token_bytes(KEY_LENGTH), who)
    say("Links and verification codes in messages sent so far are invalid now.")
