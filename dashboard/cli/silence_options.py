"""Options of the commands about silences and maintenance: what, from when to when, who, why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Final, TypeVar, cast
from uuid import uuid4

import click

from dashboard.cli import options
from dashboard.cli.options import Parsed
from dashboard.domain.audit import Actor, parse_name
from dashboard.domain.quantity import shorten
from dashboard.domain.silence import SilenceKind, SilenceRequest
from dashboard.errors import InputError
from dashboard.settings.values import parse_duration
from dashboard.show.queries.silences import SilenceQueries
from dashboard.wiring.actor import os_user
from dashboard.wiring.clock import utc_now

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

    def wish(self, kind: SilenceKind, ask: SilenceQueries, now: datetime) -> SilenceRequest:
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
