"""`linewatch silences` and `linewatch maintenance`: notify nobody for a time, or later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import uuid4

import click

from dashboard.application.listing import instant
from dashboard.application.silences import Silences, until_words
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.options import as_json
from dashboard.cli.output import Output, answer, output, print_list
from dashboard.domain.alerts.silence import LONGEST_SILENCE, Silence, SilenceKind, SilenceRequest
from dashboard.domain.formatting import moment
from dashboard.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])


every = click.option(
    "--every",
    "spans",
    metavar="SPAN",
    multiple=True,
    help='Only in these hours of every week, such as "sun 02:00-04:00"; repeatable.',
)
time_zone = click.option(
    "--time-zone",
    "zone",
    default="",
    help="Time zone of the --every hours; by default as in [mail].",
)


def planned(command: Command) -> Command:
    """Add matchers, times, reason, author and --all; `_request` reads them."""
    parameters = (
        click.argument("matchers", nargs=-1, metavar="[MATCHER]..."),
        click.option(
            "--from", "starts_at", type=options.TO_COME, help="When it starts; by default now."
        ),
        click.option(
            "--until", "ends_at", type=options.TO_COME, help="When it ends: a time, or 8h."
        ),
        click.option(
            "--for",
            "length",
            type=options.duration_up_to(LONGEST_SILENCE),
            help="How long it lasts: 30m, 8h, 2d.",
        ),
        every,
        time_zone,
        click.option("--reason", default="", help="Why; shown wherever this is listed."),
        options.by,
        click.option("--all", "covers_all", is_flag=True, help="Confirm that it matches all."),
    )
    for each in reversed(parameters):
        command = each(command)
    return command


def _request(
    kind: SilenceKind, ask: Silences, now: datetime, given: Mapping[str, Any]
) -> SilenceRequest:
    """Return the request; InputError for what cannot be read."""
    starts_at = given["starts_at"] or now
    return SilenceRequest(
        uuid4(),
        kind,
        ask.read_matchers(given["matchers"]),
        starts_at,
        _end_of(starts_at, given),
        given["reason"].strip(),
        ask.weekly(given["spans"], given["zone"]),
    )


def _end_of(starts_at: datetime, given: Mapping[str, Any]) -> datetime:
    """Return when it ends; InputError unless the end is given in exactly one way."""
    ends_at: datetime | None = given["ends_at"]
    length: timedelta | None = given["length"]
    if given["spans"] and ends_at is None:
        raise InputError(
            "say with --until when the weekly hours end, such as 2027-03-01T00:00Z or 90d"
        )
    if given["zone"] and not given["spans"]:
        raise InputError("--time-zone needs weekly hours: give --every as well")
    if ends_at is not None and length is None:
        return ends_at
    if length is None or ends_at is not None:
        raise InputError("say how long with --for, such as 8h, or until when with --until")
    return starts_at + length


@click.group()
def silences() -> None:
    """Silence known changes, for a time and with a reason.

    What is silenced is still stored and shown, and the page Alerts names the silence.
    """


@silences.command()
@click.argument("matchers", nargs=-1, required=True, metavar="MATCHER...")
@every
@time_zone
@as_json
def preview(*, matchers: tuple[str, ...], spans: tuple[str, ...], zone: str, as_json: bool) -> None:
    """Show what a silence with these MATCHERs would have matched in seven days, and matches now.

    Nothing is saved.
    """
    with open_installation() as here:
        ask = Silences(here.source)
        found = ask.preview(ask.read_matchers(matchers), ask.weekly(spans, zone))
    answer(
        {
            "changes": found.changes,
            "byRule": dict(found.by_rule),
            "last": instant(found.last),
            "openIncidents": found.incidents,
            "isCut": found.is_cut,
        },
        str(found),
        as_json=as_json,
    )


@click.group()
def maintenance() -> None:
    """Hold notifications during planned work: people get one summary when it ends."""


_MATCHERS = """A MATCHER is network, rule, module, stage, sender, label, tag, severity or cause,
then = or !=, then the value; with =~ or !~ each * of the value is any text. Several with = or =~ of
one kind are alternatives.
"""


def _commands(group: click.Group, kind: SilenceKind, does: Mapping[str, str], epilog: str) -> None:
    """Add the commands that make, end and list silences or windows; `does` has their help."""

    @group.command("add", help=f"{does['add']}\n\n{_MATCHERS}", epilog=f"\b\n{epilog}")
    @planned
    @as_json
    def add(*, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - options of `planned`
        with open_installation() as here:
            ask, who = Silences(here.source), here.user(given["name"])
            request = _request(kind, ask, who.at, given)
            made, _ = ask.add(request, who, covers_all=given["covers_all"])
            _print_one(ask, made, who.at, as_json=as_json)

    @group.command("end", help=does["end"])
    @click.argument("number", type=click.IntRange(1))
    @options.by
    @as_json
    def end(*, number: int, name: str | None, as_json: bool) -> None:
        with open_installation() as here:
            ask, who = Silences(here.source), here.user(name)
            _print_one(ask, ask.end(kind, number, who), who.at, as_json=as_json)

    @group.command("list", help=does["list"])
    @click.option("--expired", "with_expired", is_flag=True, help="Include those that are over.")
    @output
    def list_(*, with_expired: bool, output: Output) -> None:
        with open_installation() as here:
            ask = Silences(here.source)
            stored = ask.stored()
            found = [*stored.unfinished, *(stored.finished if with_expired else ())]
            print_list(ask.listing(kind), [each for each in found if each.kind is kind], output)


_commands(
    silences,
    SilenceKind.SILENCE,
    {
        "add": "Silence the changes that match every MATCHER.",
        "end": "End the silence NUMBER now; `linewatch silences list` shows the numbers.",
        "list": "List active and planned silences, the first to end first.",
    },
    "linewatch silences add module=HUB network=mainnet --for 8h --reason 'known, #123'\n"
    "linewatch silences add stage=RPC sender!=0x… --until 2026-11-21T08:00+01:00 --reason deploy",
)
_commands(
    maintenance,
    SilenceKind.MAINTENANCE,
    {
        "add": "Plan a window for the changes that match every MATCHER.",
        "end": "End the window NUMBER now, or cancel it; `linewatch maintenance list` shows the "
        "numbers.",
        "list": "List active and planned windows, the first to end first.",
    },
    "linewatch maintenance add network=mainnet --from 2026-11-21T22:00Z --for 2h "
    "--reason 'upgrade of the nodes'\n"
    "linewatch maintenance add network=mainnet --every 'sun 02:00-04:00' "
    "--time-zone Europe/Zurich --until 2027-03-01T00:00Z --reason patches",
)


def _print_one(ask: Silences, silence: Silence, now: datetime, *, as_json: bool) -> None:
    hours = "" if silence.request.weekly is None else f"{silence.request.weekly}, "
    said = (
        f"{silence.kind.value.capitalize()} {silence.silence_id}: {ask.scope_of(silence)}, {hours}"
        f"from {moment(silence.request.starts_at)} until {until_words(silence)}"
        f"{_next(silence, now)}."
    )
    answer(ask.listing(silence.kind).form(silence), said, as_json=as_json)


def _next(silence: Silence, now: datetime) -> str:
    part = silence.occurrence(now)
    if silence.request.weekly is None or part is None:
        return ""
    return f", next from {moment(part.request.starts_at)} until {moment(part.over_at)}"
