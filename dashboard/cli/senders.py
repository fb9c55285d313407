"""`linewatch senders`: watch every rejection of an address, and see whose are rejected most."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import click

from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import WRONG_INPUT, Json, instant, print_json, print_table, say
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.show.queries.senders import SenderQueries
from dashboard.show.text import moment
from dashboard.store.rejections.counts import Grouping, count_by
from dashboard.store.tracking.senders import WatchedSender

_addresses = click.argument("senders", nargs=-1, required=True, type=options.ADDRESS)


@click.group()
def senders() -> None:
    """Watch every rejection of an address that nodes report to our own serve."""


@senders.command()
@_addresses
@options.network
@click.option(
    "--label",
    type=options.LABEL,
    default="",
    help="What people call the sender; its transactions get it.",
)
@options.as_json
def watch(
    *, senders: tuple[Address, ...], network_text: str | None, label: str, as_json: bool
) -> None:
    """Track each transaction of these addresses that is rejected from now on, and mail it."""
    with open_installation() as here:
        ids = _network_ids(here, network_text)
        are_new = SenderQueries(here.source).watch(senders, ids, label.strip())
    results = ["watched" if is_new else "watched already" for is_new in are_new]
    _print_results(senders, results, as_json=as_json)


@senders.command()
@_addresses
@options.as_json
def unwatch(*, senders: tuple[Address, ...], as_json: bool) -> None:
    """Watch these addresses no more; what is tracked of them stays tracked.

    The status is 2 where one was not watched; the others are not watched any more.
    """
    with open_installation() as here:
        ask = SenderQueries(here.source)
        were_watched = [ask.unwatch(each) for each in senders]
    results = ["not watched any more" if was else "was not watched" for was in were_watched]
    _print_results(senders, results, as_json=as_json)
    if not all(were_watched):
        sys.exit(WRONG_INPUT)


@senders.command("list")
@options.network
@options.as_json
def listed(*, network_text: str | None, as_json: bool) -> None:
    """List the addresses that are watched, the latest first."""
    with open_installation() as here:
        found = SenderQueries(here.source).watched(here.chosen_id(network_text))
        if as_json:
            print_json({"senders": [_form(here, each) for each in found]})
            return
        if not found:
            say("No sender is watched.")
            return
        columns = ("SINCE", "SENDER", "NETWORKS", "LABEL")
        print_table(columns, [_row(here, each) for each in found])


@senders.command()
@options.network
@options.within
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True)
@options.as_json
def rank(
    *,
    network_text: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    as_json: bool,
) -> None:
    """Rank senders by how many rejections of theirs arrived, the most first."""
    with open_installation() as here:
        network_id = here.chosen_id(network_text)
        wanted = RejectionFilter(network_id=network_id, since=since, until=until)
        with here.source.store.read() as connection:
            counted = count_by(connection, Grouping.SENDER, wanted, None, limit)
    pairs = [(str(each.key), each.count) for each in counted.groups]
    if as_json:
        print_json(
            {
                "senders": [{"from": sender, "rejections": count} for sender, count in pairs],
                "sendersInAll": counted.of,
                "rejectionsInAll": counted.total,
            }
        )
    elif pairs:
        print_table(("SENDER", "REJECTIONS"), [(sender, str(count)) for sender, count in pairs])
    else:
        say("No such rejection is stored.")


def _network_ids(here: Installation, text: str | None) -> tuple[NetworkId, ...]:
    """Return the network that was named, or all where senders can be watched."""
    profile = options.chosen(text, here.source.networks)
    if profile is not None:
        return (profile.network_id,)
    return tuple(each.network_id for each in here.source.networks)


def _print_results(senders: Sequence[Address], results: Sequence[str], *, as_json: bool) -> None:
    pairs = list(zip(map(str, senders), results, strict=True))
    if as_json:
        print_json({"senders": [{"from": each, "result": result} for each, result in pairs]})
    else:
        print_table(("SENDER", "RESULT"), pairs)


def _row(here: Installation, each: WatchedSender) -> tuple[str, ...]:
    networks = ", ".join(here.label(network_id) for network_id in each.network_ids)
    return moment(each.watched_at), str(each.sender), networks, each.label


def _form(here: Installation, each: WatchedSender) -> Json:
    return {
        "from": str(each.sender),
        "watchedAt": instant(each.watched_at),
        "label": each.label,
        "networks": [
            {"networkId": network_id, "network": here.source.network_name(network_id)}
            for network_id in each.network_ids
        ],
    }
