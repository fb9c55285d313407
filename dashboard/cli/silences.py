"""`linewatch silences` and `linewatch maintenance`: notify nobody for a time, or later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Final, TypeVar, cast
from uuid import uuid4

import click

from dashboard.application.listing import instant
from dashboard.application.silences import Silences, until_words
from dashboard.application.text import moment
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.options import Parsed, as_json
from dashboard.cli.output import Output, output, print_json, print_list, say
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.people.access import Actor, parse_name
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError
from dashboard.settings.values import parse_duration
from dashboard.wiring.clock import utc_now
from dashboard.wiring.store import os_user

Command = TypeVar("Command", bound=Callable[..., Any])


def moment_to_come(text: str, now: datetime) -> datetime:
    """Read a time, or in how long it comes; a time without a zone is UTC."""
    try:
        return now + parse_duration(text)
    except (ValueError, OverflowError):
        pass
    found = options.written_moment(text)
    if found is None:
        raise InputError(
            f"{shorten(text)} is no time: write in how long, such as 2h, "
            "or a moment such as 2026-11-20T22:00Z or 2026-11-20T23:00+01:00"
        )
    return found


TO_COME: Final = Parsed("time", lambda text: moment_to_come(text, utc_now()))
LENGTH: Final = Parsed("length", options.duration)
NAME: Final = Parsed("name", parse_name)
"""Who acts, where that is not the user of this machine."""

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
    help="Where the hours of --every are meant; by default as in [mail].",
)
by = click.option("--by", "name", type=NAME, help="Who acts; by default the user who runs this.")


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """When it is to start, now if that is not said, and when to end: one of two ways to say so.

    With `spans` it lasts only in these hours of every week, in a zone.
    """

    starts_at: datetime | None
    ends_at: datetime | None
    length: timedelta | None
    spans: tuple[str, ...] = ()
    zone: str = ""

    def end(self, start: datetime) -> datetime:
        """Return when it ends; InputError unless it was said in one way."""
        if self.spans and self.ends_at is None:
            raise InputError(
                "say with --until when the weekly hours come for the last time, "
                "such as 2027-03-01T00:00Z or 90d"
            )
        if self.zone and not self.spans:
            raise InputError("--time-zone is that of weekly hours: give --every as well")
        if (self.ends_at is None) is (self.length is None):
            raise InputError("say how long with --for, such as 8h, or until when with --until")
        return start + self.length if self.length is not None else cast("datetime", self.ends_at)


@dataclass(frozen=True, slots=True)
class GivenSilence:
    """What the command line says of a silence or a maintenance window."""

    matchers: tuple[str, ...]
    time: PlannedTime
    reason: str
    name: str | None
    covers_all: bool

    def wish(self, kind: SilenceKind, ask: Silences, now: datetime) -> SilenceRequest:
        """Return what is asked for; InputError for what cannot be read."""
        starts_at = self.time.starts_at or now
        return SilenceRequest(
            uuid4(),
            kind,
            ask.read_matchers(self.matchers),
            starts_at,
            self.time.end(starts_at),
            self.reason.strip(),
            ask.weekly(self.time.spans, self.time.zone),
        )


def actor(name: str | None, now: datetime) -> Actor:
    """Return who acts: the user of this machine, unless another is named."""
    return Actor(name or os_user(), now)


def planned(command: Command) -> Command:
    """Add matchers, times, reason, author and --all, handed to the command as one `given`."""

    @wraps(command)
    def bundled(  # noqa: PLR0913 - one for each option
        *,
        matchers: tuple[str, ...],
        starts_at: datetime | None,
        ends_at: datetime | None,
        length: timedelta | None,
        spans: tuple[str, ...],
        zone: str,
        reason: str,
        name: str | None,
        covers_all: bool,
        **given: Any,  # noqa: ANN401 - whatever the command takes
    ) -> object:
        time = PlannedTime(starts_at, ends_at, length, spans, zone)
        return command(given=GivenSilence(matchers, time, reason, name, covers_all), **given)

    options = (
        click.argument("matchers", nargs=-1, metavar="[MATCHER]..."),
        click.option("--from", "starts_at", type=TO_COME, help="When it starts; by default now."),
        click.option("--until", "ends_at", type=TO_COME, help="When it ends: a time, or 8h."),
        click.option("--for", "length", type=LENGTH, help="How long it lasts: 30m, 8h, 2d."),
        every,
        time_zone,
        click.option("--reason", default="", help="Why; shown wherever this is listed."),
        by,
        click.option("--all", "covers_all", is_flag=True, help="Yes, it matches every change."),
    )
    decorated: Any = bundled
    for each in reversed(options):
        decorated = each(decorated)
    return cast("Command", decorated)


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
        ask = Silences(here.source)
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
        ask = Silences(here.source)
        now = here.source.now()
        wish = given.wish(kind, ask, now)
        made, _ = ask.add(wish, actor(given.name, now), covers_all=given.covers_all)
        _print_one(ask, made, now, as_json=as_json)


def _end(kind: SilenceKind, number: int, name: str | None, *, as_json: bool) -> None:
    with open_installation() as here:
        ask = Silences(here.source)
        now = here.source.now()
        _print_one(ask, ask.end(kind, number, actor(name, now)), now, as_json=as_json)


def _print_one(ask: Silences, silence: Silence, now: datetime, *, as_json: bool) -> None:
    if as_json:
        print_json(ask.listing(silence.kind).form(silence))
        return
    hours = "" if silence.wish.weekly is None else f"{silence.wish.weekly}, "
    say(
        f"{silence.kind.value.capitalize()} {silence.silence_id}: {ask.scope_of(silence)}, {hours}"
        f"from {moment(silence.wish.starts_at)} until {until_words(silence)}"
        f"{_next(silence, now)}."
    )


def _next(silence: Silence, now: datetime) -> str:
    part = silence.occurrence(now)
    if silence.wish.weekly is None or part is None:
        return ""
    return f", next from {moment(part.wish.starts_at)} until {moment(part.over_at)}"


def _list(kind: SilenceKind, output: Output, *, with_expired: bool) -> None:
    with open_installation() as here:
        known = Silences(here.source)
        stored = known.stored()
        found = [*stored.unfinished, *(stored.finished if with_expired else ())]
        print_list(known.listing(kind), [each for each in found if each.kind is kind], output)
