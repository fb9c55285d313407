"""`linewatch silences` and `linewatch maintenance`: notify nobody for a time, or later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import click

from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.listing import Listing, Output, output, print_list
from dashboard.cli.options import as_json
from dashboard.cli.output import Json, instant, print_json, say
from dashboard.cli.silence_options import GivenSilence, actor, by, every, planned, time_zone
from dashboard.domain.silence import Silence, SilenceKind
from dashboard.show.queries.silences import SilenceQueries
from dashboard.show.text import moment

_number = click.argument("number", type=click.IntRange(1))
_and_expired = click.option(
    "--expired", "with_expired", is_flag=True, help="Also those that are over."
)


@click.group()
def silences() -> None:
    """Notify nobody of what is known: for a time, with a reason, on record.

    What is silenced is still stored and shown, and the page Alerts says which silence it was.
    """


@silences.command(
    epilog="\b\nlinewatch silences add module=HUB network=mainnet --for 8h --reason 'known, #123'\n"
    "linewatch silences add stage=RPC sender!=0x… --until 2026-11-21T08:00+01:00 --reason deploy"
)
@planned
@as_json
def add(*, given: GivenSilence, as_json: bool) -> None:
    """Silence the changes that match every MATCHER.

    A MATCHER is network, rule, module, stage, sender, label, tag or severity, then = or !=, then
    the value; with =~ or !~ each * of the value is any text. Several with = or =~ of one kind are
    alternatives.
    """
    _add(SilenceKind.SILENCE, given, as_json=as_json)


@silences.command()
@click.argument("matchers", nargs=-1, required=True, metavar="MATCHER...")
@every
@time_zone
@as_json
def preview(*, matchers: tuple[str, ...], spans: tuple[str, ...], zone: str, as_json: bool) -> None:
    """Say what a silence of these MATCHERs would have matched in seven days, and matches now.

    Nothing is saved.
    """
    with open_installation() as here:
        ask = SilenceQueries(here.source)
        found = ask.preview(ask.read_matchers(matchers), ask.weekly(spans, zone))
        if not as_json:
            say(str(found))
            return
        print_json(
            {
                "changes": found.changes,
                "byRule": dict(found.by_rule),
                "last": instant(found.last),
                "openIncidents": found.incidents,
                "isCut": found.is_cut,
            }
        )


@silences.command()
@_number
@by
@as_json
def end(*, number: int, name: str | None, as_json: bool) -> None:
    """End the silence NUMBER now; `linewatch silences list` shows the numbers."""
    _end(SilenceKind.SILENCE, number, name, as_json=as_json)


@silences.command("list")
@_and_expired
@output
def list_(*, with_expired: bool, output: Output) -> None:
    """List the silences that are active or to come, the first to end first."""
    _list(SilenceKind.SILENCE, output, with_expired=with_expired)


@click.group()
def maintenance() -> None:
    """Hold notifications during planned work: people get one summary when it ends."""


@maintenance.command(
    "add",
    epilog="\b\nlinewatch maintenance add network=mainnet --from 2026-11-21T22:00Z --for 2h "
    "--reason 'upgrade of the nodes'\n"
    "linewatch maintenance add network=mainnet --every 'sun 02:00-04:00' "
    "--time-zone Europe/Zurich --until 2027-03-01T00:00Z --reason patches",
)
@planned
@as_json
def plan(*, given: GivenSilence, as_json: bool) -> None:
    """Plan a window for the changes that match every MATCHER.

    A MATCHER is network, rule, module, stage, sender, label, tag or severity, then = or !=, then
    the value; with =~ or !~ each * of the value is any text. Several with = or =~ of one kind are
    alternatives.
    """
    _add(SilenceKind.MAINTENANCE, given, as_json=as_json)


@maintenance.command("end")
@_number
@by
@as_json
def end_window(*, number: int, name: str | None, as_json: bool) -> None:
    """End the window NUMBER now, or cancel it; `linewatch maintenance list` shows the numbers."""
    _end(SilenceKind.MAINTENANCE, number, name, as_json=as_json)


@maintenance.command("list")
@_and_expired
@output
def list_windows(*, with_expired: bool, output: Output) -> None:
    """List the windows that are active or to come, the first to end first."""
    _list(SilenceKind.MAINTENANCE, output, with_expired=with_expired)


def _add(kind: SilenceKind, given: GivenSilence, *, as_json: bool) -> None:
    with open_installation() as here:
        ask = SilenceQueries(here.source)
        now = here.source.now()
        wish = given.wish(kind, ask, now)
        made, _ = ask.add(wish, actor(given.name, now), covers_all=given.covers_all)
        _print_one(ask, made, now, as_json=as_json)


def _end(kind: SilenceKind, number: int, name: str | None, *, as_json: bool) -> None:
    with open_installation() as here:
        ask = SilenceQueries(here.source)
        now = here.source.now()
        _print_one(ask, ask.end(kind, number, actor(name, now)), now, as_json=as_json)


def _print_one(ask: SilenceQueries, silence: Silence, now: datetime, *, as_json: bool) -> None:
    if as_json:
        print_json(_form(ask, silence, now))
        return
    hours = "" if silence.wish.weekly is None else f"{silence.wish.weekly}, "
    say(
        f"{silence.kind.value.capitalize()} {silence.silence_id}: {ask.scope_of(silence)}, {hours}"
        f"from {moment(silence.wish.starts_at)} until {_until(silence)}"
        f"{_next(silence, now)}."
    )


def _until(silence: Silence) -> str:
    """Say when it ends, or that it never began: else it would end before its start."""
    if silence.never_began:
        return f"{moment(silence.wish.ends_at)}, cancelled at {moment(silence.over_at)}"
    return moment(silence.over_at)


def _next(silence: Silence, now: datetime) -> str:
    part = silence.occurrence(now)
    if silence.wish.weekly is None or part is None:
        return ""
    return f", next from {moment(part.wish.starts_at)} until {moment(part.over_at)}"


def _list(kind: SilenceKind, output: Output, *, with_expired: bool) -> None:
    with open_installation() as here:
        print_list(_listing(here, kind, with_expired=with_expired), output)


def _listing(here: Installation, kind: SilenceKind, *, with_expired: bool) -> Listing[Silence]:
    ask, now = SilenceQueries(here.source), here.source.now()
    stored = ask.stored()
    found = [*stored.unfinished, *(stored.finished if with_expired else ())]
    return Listing(
        "silences" if kind is SilenceKind.SILENCE else "maintenanceWindows",
        [each for each in found if each.kind is kind],
        ("NUMBER", "STATE", "FROM", "UNTIL", "HOURS", "WHAT", "AUTHOR", "REASON"),
        row=lambda each: _row(ask, each, now),
        form=lambda each: _form(ask, each, now),
        nothing=f"No {kind.value} is active or to come.",
    )


def _row(ask: SilenceQueries, silence: Silence, now: datetime) -> Sequence[str]:
    return (
        str(silence.silence_id),
        silence.state(now).value,
        moment(silence.wish.starts_at),
        _until(silence),
        "" if silence.wish.weekly is None else str(silence.wish.weekly),
        ask.scope_of(silence),
        silence.author,
        silence.wish.reason,
    )


def _form(ask: SilenceQueries, silence: Silence, now: datetime) -> Json:
    weekly, part = silence.wish.weekly, silence.occurrence(now)
    return {
        "number": silence.silence_id,
        "kind": silence.kind.value,
        "state": silence.state(now).value,
        "matchers": [ask.words_of(each) for each in silence.wish.matchers],
        "startsAt": instant(silence.wish.starts_at),
        "endsAt": instant(silence.wish.ends_at),
        "weekly": [] if weekly is None else list(map(str, weekly.hours.spans)),
        "timeZone": None if weekly is None else weekly.hours.zone,
        "nextStartsAt": None if part is None else instant(part.wish.starts_at),
        "nextEndsAt": None if part is None else instant(part.over_at),
        "reason": silence.wish.reason,
        "author": silence.author,
        "createdAt": instant(silence.created_at),
        "endedAt": instant(silence.ended_at),
        "endedBy": silence.ended_by or None,
    }
