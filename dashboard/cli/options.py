"""Options that several commands share, read strictly; a wrong value is one line of error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click

from dashboard.application.network_status import NetworkProfile
from dashboard.domain.formatting import LONGEST, is_far_off
from dashboard.domain.people.access import parse_name
from dashboard.domain.quantity import Address, NetworkId, shorten
from dashboard.domain.rejections.search import (
    LONGEST_SEARCH,
    HashRange,
    bare_beginning,
    parse_search,
)
from dashboard.domain.tracking.remarks import (
    LONGEST_CASE_ID,
    LONGEST_LABEL,
    LONGEST_NOTE,
    LONGEST_OWNER,
    LONGEST_TAGS,
    tidy_tags,
)
from dashboard.domain.tracking.written_dates import parse_attempt
from dashboard.errors import InputError, WireError
from dashboard.settings.values import parse_duration
from dashboard.wire.decoding import format_timestamp, parse_timestamp
from dashboard.wiring.clock import utc_now

_MODULE: Final = re.compile(r"[A-Za-z0-9_]{1,64}")


def hash_range(text: str) -> HashRange:
    """Read a hash, or its beginning, with or without 0x, or a link to it."""
    return parse_search(text).tx_hashes or bare_beginning(text) or HashRange.parse(text)


Command = TypeVar("Command", bound=Callable[..., Any])


class Parsed(click.ParamType[object]):
    """A value that one of our functions parses; its InputError becomes a usage error."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        """Show `name` in the help; `parse` raises InputError."""
        self.name = name
        self._parse = parse

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> object:
        try:
            return self._parse(str(value))
        except InputError as error:
            self.fail(str(error), param, ctx)


def moment(text: str, now: datetime) -> datetime:
    """Read a time, or how long before `now` it was; a time without a zone is UTC."""
    form = "a length such as 24h or 7d, or a moment such as 2026-11-20T12:00:00Z"
    return _moment(text, lambda length: now - length, form)


def moment_to_come(text: str, now: datetime) -> datetime:
    """Read a time, or how far ahead it is; a time without a zone is UTC."""
    example = "2026-11-20T22:00Z or 2026-11-20T23:00+01:00"
    form = f"in how long, such as 2h, or a moment such as {example}"
    return _moment(text, lambda length: now + length, form)


def _moment(text: str, counted: Callable[[timedelta], datetime], form: str) -> datetime:
    """Read a time that is written out, or relative to now; InputError names the form."""
    try:
        return counted(parse_duration(text))
    except (ValueError, OverflowError):
        pass
    found = written_moment(text)
    if found is None:
        raise InputError(f"{shorten(text)} is not a time: write {form}")
    return found


def written_moment(text: str) -> datetime | None:
    """Read a moment as people write it, in UTC if it names no zone; None if it cannot be read."""
    for candidate in (text, f"{text}Z"):
        try:
            found = parse_timestamp(candidate.replace(" ", "T", 1))
        except WireError:
            continue
        return None if is_far_off(found) else found
    return None


def duration_up_to(most: timedelta) -> Parsed:
    """Return a parser of a duration such as 24h or 7d, which names one that is too long."""

    def read(text: str) -> timedelta:
        try:
            return parse_duration(text, most)
        except ValueError as error:
            raise InputError(str(error)) from error

    return Parsed("duration", read)


def prover_module(text: str) -> str:
    """Read the name of a prover module, in either case; InputError if it cannot be one."""
    if not _MODULE.fullmatch(text):
        raise InputError(
            f"{shorten(text)} is not a prover module: write letters, digits and _, such as HUB"
        )
    return text.upper()


def _at_most(most: int) -> Callable[[str], str]:
    """Return a parser of text up to the length that pages accept; InputError for a longer one."""

    def read(text: str) -> str:
        if len(text) > most:
            raise InputError(f"it has {len(text):,} characters: write at most {most}")
        return text

    return read


def tags(text: str) -> str:
    """Read tags, with or without #; InputError names a word that is not a tag."""
    return tidy_tags(_at_most(LONGEST_TAGS)(text))


SEARCH: Final = Parsed("text", _at_most(LONGEST_SEARCH))
NOTE: Final = Parsed("note", _at_most(LONGEST_NOTE))
OWNER: Final = Parsed("owner", _at_most(LONGEST_OWNER))
TAGS: Final = Parsed("tags", tags)
MOMENT: Final = Parsed("time", lambda text: moment(text, utc_now()))
TO_COME: Final = Parsed("time", lambda text: moment_to_come(text, utc_now()))
NAME: Final = Parsed("name", parse_name)
"""Who acts, if that is not the user of this machine."""

ATTEMPT: Final = Parsed("time", lambda text: parse_attempt(text, utc_now()))
HASH_RANGE: Final = Parsed("hash", hash_range)
DURATION: Final = duration_up_to(LONGEST)
MODULE: Final = Parsed("module", prover_module)
ADDRESS: Final = Parsed("address", Address.parse)

FILE: Final = click.Path(path_type=Path, allow_dash=True, readable=False)
"""A file that a command reads; it may be sent from elsewhere, so no disk is checked for it here."""

as_json = click.option("--json", "as_json", is_flag=True, help="Answer in JSON, for programs.")

search = partial(click.option, "--search", type=SEARCH, default="")
label = partial(click.option, "--label", type=Parsed("label", _at_most(LONGEST_LABEL)), default="")
case_id = partial(
    click.option, "--case-id", type=Parsed("case id", _at_most(LONGEST_CASE_ID)), default=""
)

by = click.option("--by", "name", type=NAME, help="Who acts; by default the user who runs this.")


def _once(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Return the one value; click itself would silently take the last of several."""
    if len(given) > 1:
        raise click.BadParameter(
            f"{shorten(given[1])} is the second one: give one only", None, parameter
        )
    return given[0] if given else None


network = click.option(
    "--network",
    "network_text",
    metavar="NAME|ID",
    multiple=True,
    callback=_once,
    help="Only this network, by name or chain id.",
)
networks = click.option(
    "--network",
    "network_texts",
    metavar="NAME|ID",
    multiple=True,
    help="Only this network, by name or chain id. Repeatable.",
)
limit = click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="At most this many rows.",
)


def lasting(most: timedelta, usual: str) -> Callable[[Command], Command]:
    """Add --for: how long a new token or link is valid."""
    return click.option(
        "--for",
        "lasts",
        type=duration_up_to(most),
        default=usual,
        show_default=True,
        help=f"{most.days}d at most.",
    )


exit_code = click.option(
    "--exit-code", "sets_exit_status", is_flag=True, help="Exit status 3 if something is found."
)


def within(command: Command) -> Command:
    """Add --since and --until; InputError before the command runs if they are reversed."""

    @wraps(command)
    def checked(**given: Any) -> object:  # noqa: ANN401 - whatever the command takes
        refuse_reversed(given["since"], given["until"])
        return command(**given)

    since = click.option(
        "--since", type=MOMENT, help="From this time on, or from this long ago: 24h, 7d."
    )
    until = click.option("--until", type=MOMENT, help="Up to this time.")
    return cast("Command", since(until(checked)))


def refuse_reversed(since: datetime | None, until: datetime | None) -> None:
    """Raise InputError unless a period begins before it ends."""
    if since is not None and until is not None and since >= until:
        raise InputError(
            f"--since {format_timestamp(since)} is not before {format_timestamp(until)}: "
            "let it begin earlier, or end later with --until"
        )


def chosen(text: str | None, profiles: tuple[NetworkProfile, ...]) -> NetworkProfile | None:
    """Return the configured network that a person named; InputError if there is none."""
    if text is None:
        return None
    for profile in profiles:
        if text.casefold() == profile.name.casefold() or text == str(profile.network_id):
            return profile
    known = ", ".join(f"{profile.name} ({profile.network_id})" for profile in profiles) or "none"
    raise InputError(f"{shorten(text)} is not a network of this installation: {known}")


def chosen_ones(
    texts: Sequence[str], profiles: tuple[NetworkProfile, ...]
) -> tuple[NetworkProfile, ...]:
    """Return the networks that a person named, or all; InputError if one is not configured."""
    named = {chosen(each, profiles) for each in texts}
    return tuple(each for each in profiles if not texts or each in named)


def chosen_id(
    text: str | None, profiles: tuple[NetworkProfile, ...], is_stored: Callable[[NetworkId], bool]
) -> NetworkId | None:
    """Return the id of a network; one that left the configuration is named by its number.

    `is_stored` says whether the store still has data of it; InputError if it does not.
    """
    if text is not None and text.isascii() and text.isdecimal() and len(text) <= 18:  # noqa: PLR2004 - what the store's numbers hold
        network_id = NetworkId(int(text))
        if network_id not in {profile.network_id for profile in profiles} and is_stored(network_id):
            return network_id
    profile = chosen(text, profiles)
    return None if profile is None else profile.network_id
