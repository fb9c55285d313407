"""`linewatch alerts incidents` and what people do about one: acknowledge, hand over, resolve."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import click

from dashboard.application.incident_words import incident_listing, response_form
from dashboard.application.incidents import Incidents
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.options import as_json
from dashboard.cli.output import Output, output, print_json, print_list, say
from dashboard.domain.alerts.incident import IncidentResponse
from dashboard.domain.people.access import Actor

_incident = click.argument("incident", metavar="INCIDENT")
_note = click.option("--note", default="", help="What to know about it.")


@click.command()
@options.network
@click.option("--resolved", "with_resolved", is_flag=True, help="Also those that are resolved.")
@options.limit
@output
def incidents(*, network_text: str | None, with_resolved: bool, limit: int, output: Output) -> None:
    """List open incidents: state, since when, how many changes, who owns it.

    JSON holds the whole story: what happened, who was notified, and what was withheld and why.
    """
    with open_installation() as here:
        ask, network_id = Incidents(here.source), here.chosen_id(network_text)
        found = [*ask.open(network_id, limit)]
        found += ask.finished(network_id, limit) if with_resolved else []
        print_list(incident_listing(ask.title_of), found, output)


@click.command()
@_incident
@_note
@options.by
@as_json
def acknowledge(*, incident: str, note: str, name: str | None, as_json: bool) -> None:
    """Say that you work on INCIDENT; the first digits of its id suffice."""
    _respond(
        incident, name, lambda ask, each, who: ask.acknowledge(each, who, note), as_json=as_json
    )


@click.command()
@_incident
@_note
@options.by
@as_json
def unacknowledge(*, incident: str, note: str, name: str | None, as_json: bool) -> None:
    """Take back your acknowledgement of INCIDENT; then nobody owns it."""
    _respond(
        incident, name, lambda ask, each, who: ask.unacknowledge(each, who, note), as_json=as_json
    )


@click.command()
@_incident
@click.option(
    "--to",
    required=True,
    type=options.NAME,
    help="Who owns it from now on: a name, or a recipient, who is notified.",
)
@_note
@options.by
@as_json
def hand_over(*, incident: str, to: str, note: str, name: str | None, as_json: bool) -> None:
    """Make another person the owner of INCIDENT; a recipient of that name is notified."""
    _respond(
        incident, name, lambda ask, each, who: ask.hand_over(each, to, who, note), as_json=as_json
    )


@click.command()
@_incident
@_note
@options.by
@as_json
def resolve(*, incident: str, note: str, name: str | None, as_json: bool) -> None:
    """Resolve INCIDENT; what happens afterwards is a new incident."""
    _respond(incident, name, lambda ask, each, who: ask.resolve(each, who, note), as_json=as_json)


def _respond(
    text: str,
    name: str | None,
    change: Callable[[Incidents, UUID, Actor], IncidentResponse],
    *,
    as_json: bool,
) -> None:
    with open_installation() as here:
        ask = Incidents(here.source)
        found = ask.named(text)
        changed = change(ask, found.incident_id, here.user(name))
        if as_json:
            print_json(response_form(changed, ask.title_of))
            return
        incident = changed.incident
        who = incident.owner if incident.is_open else changed.event.actor if changed.event else ""
        held = f" by {who}" if who else ""
        unchanged = "" if changed.event else " Nothing changed."
        say(f"{ask.title_of(changed.incident)}: {changed.incident.state}{held}.{unchanged}")
        for each in filter(None, (ask.owner_notified(changed), ask.with_it(changed.others))):
            say(each)
