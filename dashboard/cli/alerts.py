"""`linewatch alerts` and `resend`: notifications, incidents, and what people do about them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final
from uuid import UUID

import click
from msgspec.structs import replace

from dashboard.alert.message import Stage
from dashboard.application.chosen_settings import ChosenSettings
from dashboard.application.deliveries import Notifications, notification_filter, notifications_are
from dashboard.application.delivery_listing import notification_listing, read_beside
from dashboard.application.incident_words import incident_listing, response_form
from dashboard.application.incidents import Incidents
from dashboard.application.listing import Json
from dashboard.application.recipients import Recipients, TriedRecipient
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.main import LazyGroup
from dashboard.cli.options import as_json
from dashboard.cli.output import (
    FAILED,
    FOUND,
    Output,
    answer,
    output,
    print_json,
    print_list,
    say,
    warn,
)
from dashboard.domain.alerts.incident import IncidentResponse
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import shorten
from dashboard.domain.rejections.search import HashRange
from dashboard.errors import InputError
from dashboard.wiring.clock import elapsed
from dashboard.wiring.store import in_force
from dashboard.wiring.trials import recipients_to_try, send_trial

_COMMANDS: Final = {
    "incidents": "List open incidents: state, since when, how many changes, who owns it.",
    "acknowledge": "Acknowledge INCIDENT as yours; the first digits of its id are enough.",
    "unacknowledge": "Unacknowledge INCIDENT, or several; nobody owns them then.",
    "hand-over": "Hand INCIDENT over to another person; a recipient of that name is notified.",
    "resolve": "Resolve INCIDENT; later changes open a new incident.",
    "test-send": "Send a test message now, and show what the server answers, step by step.",
    "rehearse": "Play a storm of rejections, and show who would get which message when.",
}
"""Every command below `linewatch alerts`, as in its help."""

_MODULES: Final = {"alerts": "incidents acknowledge unacknowledge hand-over resolve test-send"}


@click.group(cls=LazyGroup, lazy=_COMMANDS, modules=_MODULES, invoke_without_command=True)
@options.network
@click.option(
    "--state",
    type=click.Choice([*NotificationState], case_sensitive=False),
    help="pending: not sent yet; sent; dead: undeliverable; held: since a restore.",
)
@click.option(
    "--tx",
    "tx_hashes",
    type=options.HASH_RANGE,
    help="Only those about this hash, or about hashes that begin with it.",
)
@options.search(help="Only those that hold this text, as on the page Alerts.")
@options.within
@options.limit
@options.exit_code
@output
@click.pass_context
def alerts(  # noqa: PLR0913 - one for each option
    context: click.Context,
    *,
    network_text: str | None,
    state: NotificationState | None,
    tx_hashes: HashRange | None,
    search: str,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    sets_exit_status: bool,
    output: Output,
) -> None:
    """List present conditions and notifications, or act on incidents by a command below.

    First the conditions that hold now, then each notification with recipient, time and the answer
    of the channel, the latest first. With --exit-code the status is 3 if there are notifications,
    so that --state dead --exit-code watches the mail. With --tx and a whole hash it also says who
    was not notified of it, and why.
    """
    if context.invoked_subcommand is not None:
        return
    with open_installation() as here:
        searched = notification_filter(here.source, here.chosen_id(network_text), search)
        wanted = replace(
            searched,
            state=None if state is None else NotificationState(state),
            tx_hashes=tx_hashes or searched.tx_hashes,
            since=since,
            until=until,
        )
        found = Notifications(here.source).page(wanted, 1, limit)
        beside = read_beside(here.source, wanted)
        print_list(
            notification_listing(here.source),
            found,
            output,
            more=beside.form(here.source),
            before=beside.open_sentences(here.source),
            after=beside.sentences(here.source),
        )
    if sets_exit_status and found:
        sys.exit(FOUND)


@click.command()
@click.argument("notification_id", type=click.UUID, required=False)
@click.option("--to", "address", help="All dead notifications to this address.")
@options.by
@options.as_json
def resend(
    *, notification_id: UUID | None, address: str | None, name: str | None, as_json: bool
) -> None:
    """Send the dead notification NOTIFICATION_ID again, or all to an address.

    `linewatch alerts --state dead --json` lists them. The worker sends them, usually within
    seconds, under the same Message-ID.
    """
    which = address if notification_id is None else notification_id
    if which is None or None not in {notification_id, address}:
        raise InputError("name one notification, or an address with --to")
    with open_installation() as here:
        many = len(Notifications(here.source).send_again(which, here.user(name)))
    if not many:
        raise InputError(
            f"{shorten(str(which))}: no such notification is dead, or its address is off; "
            "see `linewatch alerts --state dead --json` and `linewatch recipients list`"
        )
    answer({"notifications": many}, f"{notifications_are(many)} pending again.", as_json=as_json)


@click.command()
@click.option("--to", "address", default="", help="Only to this email address.")
@click.option("--channel", default="", metavar="NAME", help="Only to this table of [channels].")
@options.as_json
def test_send(*, address: str, channel: str, as_json: bool) -> None:
    """Send a test message now, and show what the server answers, step by step.

    Without an option it goes to everybody who gets alerts by default: the recipients of [mail] and
    the channels. It goes the same way as an alert, without waiting for any. If the mail server does
    not answer in time, other addresses are not tried. The status is 1 if a message was not
    accepted. The audit log says who sent one, to whom, and what was answered.
    """
    if address and channel:
        raise InputError("--to and --channel exclude each other: choose one")
    with open_installation() as here:
        settings = in_force(here.settings, here.source.store)
        tried = list[tuple[TriedRecipient, Json]]()
        is_silent = False
        for each in recipients_to_try(address, channel, settings):
            is_mail, began = each.channel == MAIL, elapsed()
            is_left = is_silent and is_mail
            tried.append((_leave if is_left else _try)(here, each, as_json=as_json))
            is_late = elapsed() - began >= settings.mail.timeout
            is_silent |= is_mail and is_late and not tried[-1][0].was_sent
    if as_json:
        print_json({"sent": [form for _, form in tried]})
    if not all(each.was_sent for each, _ in tried):
        sys.exit(FAILED)


def _try(here: Installation, recipient: Recipient, *, as_json: bool) -> tuple[TriedRecipient, Json]:
    """Send to one recipient; without JSON, print each step as soon as it is over."""
    stages: list[Stage] = []

    def watch(stage: Stage) -> None:
        stages.append(stage)
        if not as_json:
            with suppress(BrokenPipeError):  # else it would pass for a failure of the server
                say(f"  {stage.name}: {stage.answer}")

    if not as_json:
        say(f"To {recipient.address} over {recipient.channel}:")
    user, chosen = here.user(), ChosenSettings(here.source).values()
    tried = Recipients(here.source).try_out(
        recipient, lambda: send_trial(recipient, here.settings, chosen, user, watch), user
    )
    if not as_json and tried.was_sent:
        say(f"  sent: {tried.answer}")
    elif not as_json:
        warn(f"not sent to {recipient.address}: {tried.answer}")
    return tried, _trial_form(tried, stages)


def _leave(_: Installation, recipient: Recipient, *, as_json: bool) -> tuple[TriedRecipient, Json]:
    """Say why a recipient is not tried: the same server would take as long again."""
    why = "not tried, because the mail server did not answer in time; --to tries it alone"
    tried = TriedRecipient(recipient, was_sent=False, answer=why)
    if not as_json:
        warn(f"not sent to {recipient.address}: {why}")
    return tried, _trial_form(tried, [])


def _trial_form(tried: TriedRecipient, stages: list[Stage]) -> Json:
    steps: list[Json] = [{"step": each.name, "answer": each.answer} for each in stages]
    return {
        "channel": tried.recipient.channel,
        "address": tried.recipient.address,
        "wasSent": tried.was_sent,
        "answer": tried.answer,
        "steps": steps,
    }


_incident = click.argument("incident", metavar="INCIDENT")
_incidents = click.argument("incident", metavar="INCIDENT...", nargs=-1, required=True)
_note = click.option("--note", default="", help="A note in its story.")


@click.command()
@options.network
@click.option("--resolved", "with_resolved", is_flag=True, help="Include resolved incidents.")
@options.limit
@output
def incidents(*, network_text: str | None, with_resolved: bool, limit: int, output: Output) -> None:
    """List open incidents: state, since when, how many changes, who owns it.

    JSON contains the whole story: what happened, who was notified, and what was withheld and why.
    """
    with open_installation() as here:
        ask, network_id = Incidents(here.source), here.chosen_id(network_text)
        found = [*ask.open(network_id, limit)]
        found += ask.finished(network_id, limit) if with_resolved else []
        print_list(incident_listing(ask.title_of), found, output)


@click.command()
@_incidents
@_note
@options.by
@as_json
def acknowledge(*, incident: Sequence[str], note: str, name: str | None, as_json: bool) -> None:
    """Acknowledge INCIDENT as yours; the first digits of its id are enough.

    If you name several, all are acknowledged or none. An incident that is pending, resolved or
    owned stays as it is.
    """

    def change(ask: Incidents, ids: Sequence[UUID], by: Actor) -> Sequence[IncidentResponse]:
        if len(ids) > 1:
            return ask.acknowledge_all(ids, by, note)
        return [ask.acknowledge(each, by, note) for each in ids]

    _respond(incident, name, change, as_json=as_json)


@click.command()
@_incidents
@_note
@options.by
@as_json
def unacknowledge(*, incident: Sequence[str], note: str, name: str | None, as_json: bool) -> None:
    """Unacknowledge INCIDENT, or several; nobody owns them then."""

    def change(ask: Incidents, ids: Sequence[UUID], by: Actor) -> Sequence[IncidentResponse]:
        if len(ids) > 1:
            return ask.unacknowledge_all(ids, by, note)
        return [ask.unacknowledge(each, by, note) for each in ids]

    _respond(incident, name, change, as_json=as_json)


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
    """Hand INCIDENT over to another person; a recipient of that name is notified."""
    _respond(
        [incident],
        name,
        lambda ask, ids, who: [ask.hand_over(each, to, who, note) for each in ids],
        as_json=as_json,
    )


@click.command()
@_incident
@_note
@options.by
@as_json
def resolve(*, incident: str, note: str, name: str | None, as_json: bool) -> None:
    """Resolve INCIDENT; later changes open a new incident."""
    _respond(
        [incident],
        name,
        lambda ask, ids, who: [ask.resolve(each, who, note) for each in ids],
        as_json=as_json,
    )


def _respond(
    texts: Sequence[str],
    name: str | None,
    change: Callable[[Incidents, Sequence[UUID], Actor], Sequence[IncidentResponse]],
    *,
    as_json: bool,
) -> None:
    with open_installation() as here:
        ask = Incidents(here.source)
        changed = change(ask, [ask.named(each).incident_id for each in texts], here.user(name))
        if as_json:
            forms: list[Json] = [response_form(each, ask.title_of) for each in changed]
            print_json(forms[0] if len(texts) == 1 else {"incidents": forms})
            return
        for each in changed:
            _say_left(ask, each)


def _say_left(ask: Incidents, changed: IncidentResponse) -> None:
    """Print the new state of an incident, and who is notified of it."""
    incident = changed.incident
    who = incident.owner if incident.is_open else changed.event.actor if changed.event else ""
    held = f" by {who}" if who else ""
    unchanged = "" if changed.event else " Nothing changed."
    say(f"{ask.title_of(incident)}: {incident.state}{held}.{unchanged}")
    for each in filter(None, (ask.owner_notified(changed), ask.with_it(changed.others))):
        say(each)
