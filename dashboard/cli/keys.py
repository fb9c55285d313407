"""`linewatch keys`: who may call our own APIs, new, limited, renewed and revoked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click

from dashboard.application.keys import NEW_LIMITS, Keys, NewKey
from dashboard.application.network_status import NetworkProfile
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.options import DURATION, Parsed, as_json, chosen
from dashboard.cli.output import Output, output, print_json, print_list, say
from dashboard.domain.people.access import Actor, KeyLimits, parse_key_name, parse_rate
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError
from dashboard.wire.params import METHODS

_ALL: Final = "all"
_DEFAULT: Final = "default"

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class GivenLimits:
    """The options as given; None and the empty tuple where an option was not given."""

    networks: tuple[str, ...]
    methods: tuple[str, ...]
    rate: str | None
    burst: int | str | None
    report: bool | None

    def is_empty(self) -> bool:
        """Whether no option was given."""
        return not (self.networks or self.methods) and (self.rate, self.burst, self.report) == (
            None,
            None,
            None,
        )

    def applied_to(self, limits: KeyLimits, profiles: tuple[NetworkProfile, ...]) -> KeyLimits:
        """Return the limits with what the options change."""
        if self.networks:
            limits = replace(limits, network_ids=_network_ids(self.networks, profiles))
        if self.methods:
            is_all = _ALL in self.methods
            limits = replace(limits, methods=None if is_all else frozenset(self.methods))
        if self.rate is not None:
            rate = None if self.rate == _DEFAULT else parse_rate(self.rate)
            limits = replace(limits, requests_per_second=rate)
        if self.burst is not None:
            limits = replace(limits, burst=self.burst if isinstance(self.burst, int) else None)
        if self.report is not None:
            limits = replace(limits, may_report=self.report)
        return limits


def _network_ids(
    texts: tuple[str, ...], profiles: tuple[NetworkProfile, ...]
) -> frozenset[NetworkId] | None:
    if _ALL in texts:
        return None
    found = (chosen(text, profiles) for text in texts)
    return frozenset(profile.network_id for profile in found if profile is not None)


def limit_options(command: Command) -> Command:
    """Add the options, handed to the command as one value `given`."""

    @wraps(command)
    def gathered(**options: Any) -> object:  # noqa: ANN401 - whatever the command takes
        named = {name: options.pop(name) for name in GivenLimits.__slots__}
        return command(given=GivenLimits(**named), **options)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return cast("Command", gathered)


def _method(text: str) -> str:
    if text not in (_ALL, *METHODS):
        known = ", ".join(METHODS)
        raise InputError(f"{shorten(text)} is no method: choose from {known}, or {_ALL}")
    return text


def _rate(text: str) -> str:
    if text != _DEFAULT:
        parse_rate(text)
    return text


def _burst(text: str) -> int | str:
    if text == _DEFAULT:
        return text
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < _DIGITS and int(text)):
        raise InputError(
            f"{shorten(text)} is no burst: write how many calls may come at once, such as 100, "
            f"or {_DEFAULT}"
        )
    return int(text)


_DIGITS: Final = 10

_OPTIONS: Final = (
    click.option(
        "--network",
        "networks",
        multiple=True,
        metavar="NAME|ID",
        help=f"Only this network, by name or chain id; repeatable. {_ALL}: every network.",
    ),
    click.option(
        "--method",
        "methods",
        multiple=True,
        type=Parsed("method", _method),
        help=f"Only this method or gas operation; repeatable. {_ALL}: every one. "
        f"There are {', '.join(METHODS)}.",
    ),
    click.option(
        "--rate",
        type=Parsed("rate", _rate),
        help="How often it may call: 50/s, 600/m, 1000/h or none; a batch counts as its calls. "
        f"{_DEFAULT}: requests_per_second of [serve].",
    ),
    click.option(
        "--burst",
        type=Parsed("calls", _burst),
        help="How many calls may come at once, so also the largest batch. "
        f"{_DEFAULT}: as many as one second allows, at least 10.",
    ),
    click.option(
        "--report/--no-report",
        "report",
        default=None,
        help="Whether nodes may report rejections with it. A new key may not.",
    ),
)


@click.group()
def keys() -> None:
    """Make, limit, renew and revoke the API keys with which clients call our own APIs.

    A key is shown once, when it is made; the store keeps digests. Every change reaches each
    running `linewatch serve` within a second, without a restart.
    """


NAME = Parsed("name", parse_key_name)


@keys.command(
    epilog="\b\nlinewatch keys create wallet --rate 50/s --network devnet\n"
    "linewatch keys create sequencer --report --method saveRejectedTransactionV1"
)
@click.argument("name", type=NAME)
@limit_options
@as_json
def create(*, name: str, given: GivenLimits, as_json: bool) -> None:
    """Make a key and its secret, and show both this one time.

    The key goes into the path of a request, or key and secret into HTTP Basic for the gas API.
    NAME stands for the client in logs and lists. Without options it may ask everything and report
    nothing.
    """
    with open_installation() as here:
        limits = given.applied_to(NEW_LIMITS, here.source.networks)
        new = Keys(here.source).create(name, limits, here.user())
        _print_new_key(here, name, new, as_json=as_json)


@keys.command("list")
@output
def list_(*, output: Output) -> None:
    """Show every key: its limits, last use and counts.

    Revoked ones stay listed. Keys of the settings file are there too. Running serve processes
    write their counts every few seconds.
    """
    with open_installation() as here:
        known = Keys(here.source)
        print_list(known.listing(), known.all(), output)


@keys.command(
    epilog="\b\nlinewatch keys limit wallet --rate 10/s --burst 100\n"
    "linewatch keys limit wallet --network all --method all"
)
@click.argument("name")
@limit_options
@as_json
def limit(*, name: str, given: GivenLimits, as_json: bool) -> None:
    """Change what a key may do; what no option names stays as it is."""
    if given.is_empty():
        raise InputError("nothing to change: give --network, --method, --rate, --burst or --report")

    def act(known: Keys, by: Actor, profiles: tuple[NetworkProfile, ...]) -> None:
        known.limit(name, lambda limits: given.applied_to(limits, profiles), by)

    _act(act, name, f"{name} has its new limits.", as_json=as_json)


@keys.command()
@click.argument("name", metavar="OLD")
@click.argument("new_name", metavar="NEW", type=NAME)
@as_json
def rename(*, name: str, new_name: str, as_json: bool) -> None:
    """Rename a key; its clients need no change."""
    _act(
        lambda known, by, _: known.rename(name, new_name, by),
        new_name,
        f"{name} is now called {new_name}.",
        as_json=as_json,
    )


@keys.command()
@click.argument("name")
@as_json
def revoke(*, name: str, as_json: bool) -> None:
    """Revoke a key permanently, in every running serve within a second.

    Open WebSockets that it opened are closed. Its name is free again, and the list still
    shows it.
    """
    with open_installation() as here:
        Keys(here.source).revoke(name, here.user())
    if as_json:
        print_json({"name": name, "state": "revoked"})
    else:
        say(f"{name} is revoked: every running serve refuses it within a second.")


@keys.command()
@click.argument("name")
@click.option(
    "--grace",
    type=DURATION,
    default=None,
    help="How long the old key still works, such as 24h; by default it ends at once.",
)
@as_json
def rotate(*, name: str, grace: timedelta | None, as_json: bool) -> None:
    """Make a new key and secret under the same name.

    The limits stay. Both are shown this one time.
    """
    with open_installation() as here:
        new = Keys(here.source).rotate(name, grace, here.user())
        _print_new_key(here, name, new, as_json=as_json)
    if not as_json:
        ends_at = new.credential.created_at + (grace or timedelta(0))
        until = f"works until {ends_at:%Y-%m-%d %H:%M:%S} UTC" if grace else "no longer works"
        say(f"The old key {until}.")


def _act(
    act: Callable[[Keys, Actor, tuple[NetworkProfile, ...]], None],
    name: str,
    text: str,
    *,
    as_json: bool,
) -> None:
    """Change a key, and print what became of it under its name."""
    with open_installation() as here:
        known = Keys(here.source)
        act(known, here.user(), here.source.networks)
        if as_json:
            print_json(known.listing().form(known.named(name)))
        else:
            say(text)


def _print_new_key(here: Installation, name: str, new: NewKey, *, as_json: bool) -> None:
    """Show a key and its secret, which cannot be shown again."""
    key, secret = new.key.reveal(), new.secret.reveal()
    if as_json:
        known = Keys(here.source)
        form = known.listing().form(known.named(name))
        print_json({"key": key, "secret": secret, **form})
        return
    address = f"{here.settings.serve.host}:{here.settings.serve.port}"
    for line in (
        f"The key of {name}, shown only now:",
        "",
        f"  key      {key}",
        f"  secret   {secret}",
        "",
        f"  RPC      http://{address}/v3/{key}",
        f"           ws://{address}/ws/v3/{key}",
        f"  gas      http://{address}/v3/{key}/networks/NETWORK_ID/suggestedGasFees",
        f"           http://{address}/networks/NETWORK_ID/suggestedGasFees with HTTP Basic",
        "",
        "Keep both where secrets are kept. Running serve processes accept the key within a second.",
    ):
        say(line)
