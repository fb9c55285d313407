"""`linewatch senders`: watch every rejection of an address, and see whose are rejected most."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import click

from dashboard.application.listing import Json
from dashboard.application.senders import RANKED, WatchedSenders
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import WRONG_INPUT, Output, output, print_json, print_list, print_table
from dashboard.domain.quantity import Address
from dashboard.domain.rejections.search import RejectionFilter

_addresses = click.argument("senders", nargs=-1, required=True, type=options.ADDRESS)


@click.group()
def senders() -> None:
    """Watch every rejection of an address that nodes report to our own serve."""


@senders.command()
@_addresses
@options.networks
@click.option(
    "--label",
    type=options.LABEL,
    default="",
    help="A label for the sender; its transactions get it as well.",
)
@options.by
@options.as_json
def watch(
    *,
    senders: tuple[Address, ...],
    network_texts: tuple[str, ...],
    label: str,
    name: str | None,
    as_json: bool,
) -> None:
    """Track each transaction of these addresses that is rejected from now on, and mail that."""
    with open_installation() as here:
        chosen = options.chosen_ones(network_texts, here.source.networks)
        ids = [each.network_id for each in chosen]
        who = here.user(name)
        are_new = WatchedSenders(here.source).watch(senders, ids, label.strip(), who)
    results = ["watched" if is_new else "watched already" for is_new in are_new]
    _print_results(senders, results, as_json=as_json)


@senders.command()
@_addresses
@options.by
@options.as_json
def unwatch(*, senders: tuple[Address, ...], name: str | None, as_json: bool) -> None:
    """Stop watching these addresses; transactions of theirs that are tracked stay tracked.

    The status is 2 if one was not watched; the others are no longer watched.
    """
    with open_installation() as here:
        ask, who = WatchedSenders(here.source), here.user(name)
        were_watched = [ask.unwatch(each, who) for each in senders]
    results = ["no longer watched" if was else "was not watched" for was in were_watched]
    _print_results(senders, results, as_json=as_json)
    if not all(were_watched):
        sys.exit(WRONG_INPUT)


@senders.command("list")
@options.network
@output
def listed(*, network_text: str | None, output: Output) -> None:
    """List the addresses that are watched, the latest first."""
    with open_installation() as here:
        known = WatchedSenders(here.source)
        found = known.watched(here.chosen_id(network_text))
        print_list(known.listing(), found, output)


@senders.command()
@options.network
@options.within
@options.limit
@output
def rank(
    *,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    output: Output,
) -> None:
    """Rank senders by the number of their rejections, the largest first."""
    with open_installation() as here:
        network_id = here.chosen_id(network_text)
        wanted = RejectionFilter(network_id=network_id, since=since, until=until)
        found = WatchedSenders(here.source).rank(wanted, limit)
    more: dict[str, Json] = {"sendersInAll": found.of, "rejectionsInAll": found.total}
    shown = f"{len(found.groups):,} of {found.of:,} senders: --limit shows more."
    print_list(RANKED, found.groups, output, more=more, after=[shown] if found.of > limit else [])


def _print_results(senders: Sequence[Address], results: Sequence[str], *, as_json: bool) -> None:
    pairs = list(zip(map(str, senders), results, strict=True))
    if as_json:
        print_json({"senders": [{"from": each, "result": result} for each, result in pairs]})
    else:
        print_table(("SENDER", "RESULT"), pairs)
