"""`linewatch keys`: API keys for our own APIs: created, limited, rotated and revoked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar

import click
from msgspec.structs import replace

from dashboard.application.keys import NEW_LIMITS, Keys, NewKey
from dashboard.application.network_status import NetworkProfile
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.options import DURATION, Parsed, as_json, chosen
from dashboard.cli.output import Output, answer, output, print_list, say
from dashboard.domain.formatting import moment
from dashboard.domain.people.access import parse_key_name, parse_rate
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError
from dashboard.settings.values import authority_of
from dashboard.wire.params import METHODS

_ALL: Final = "all"
_DEFAULT: Final = "default"

Command = TypeVar("Command", bound=Callable[..., Any])


def limit_options(command: Command) -> Command:
    """Add the options that limit a key; `_changes` reads them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _changes(given: Mapping[str, Any], profiles: tuple[NetworkProfile, ...]) -> dict[str, Any]:
    """Return the limits given by options; empty if none is given."""
    changes: dict[str, Any] = {}
    if networks := given["networks"]:
        found = (chosen(each, profiles) for each in networks if each != _ALL)
        ids = frozenset(each.network_id for each in found if each is not None)
        changes["network_ids"] = None if _ALL in networks else ids
    if methods := given["methods"]:
        changes["methods"] = None if _ALL in methods else frozenset(methods)
    for limit in ("requests_per_second", "burst"):
        if given[limit] is not None:
            changes[limit] = None if given[limit] == _DEFAULT else given[limit]
    if given["may_report"] is not None:
        changes["may_report"] = given["may_report"]
    return changes


def _method(text: str) -> str:
    if text not in (_ALL, *METHODS):
        known = ", ".join(METHODS)
        raise InputError(f"{shorten(text)} is not a method: choose from {known}, or {_ALL}")
    return text


def _rate(text: str) -> float | str:
    return text if text == _DEFAULT else parse_rate(text)


def _burst(text: str) -> int | str:
    if text == _DEFAULT:
        return text
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < _DIGITS and int(text)):
        raise InputError(
            f"{shorten(text)} is not a burst: write how many calls may come at once, such as 100, "
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
        "requests_per_second",
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
        "may_report",
        default=None,
        help="Whether nodes may report rejections with it. A new key may not.",
    ),
)


@click.group()
def keys() -> None:
    """Create, limit, rotate and revoke the API keys with which clients call our APIs.

    A key is shown once, when it is created; the store keeps digests. Every change reaches each
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
def create(*, name: str, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - limits
    """Create a key and its secret, and show both this one time.

    The key goes into the path of a request, or key and secret into HTTP Basic for the gas API. NAME
    identifies the client in logs and lists. Without options the key may ask everything and report
    nothing.
    """
    with open_installation() as here:
        limits = replace(NEW_LIMITS, **_changes(given, here.source.networks))
        new = Keys(here.source).create(name, limits, here.user())
        _print_new_key(here, name, new, as_json=as_json)


@keys.command("list")
@output
def list_(*, output: Output) -> None:
    """List every key with its limits, last use and counts.

    Revoked keys stay listed. Keys of the settings file are listed too. Running serve processes
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
def limit(*, name: str, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - limits
    """Change what a key may do; a limit without an option stays as it is."""
    if all(each in {None, ()} for each in given.values()):
        raise InputError("nothing to change: give --network, --method, --rate, --burst or --report")
    with open_installation() as here:
        changes = _changes(given, here.source.networks)
        Keys(here.source).limit(name, lambda limits: replace(limits, **changes), here.user())
        _print_key(here, name, f"{name} has its new limits.", as_json=as_json)


@keys.command()
@click.argument("name", metavar="OLD")
@click.argument("new_name", metavar="NEW", type=NAME)
@as_json
def rename(*, name: str, new_name: str, as_json: bool) -> None:
    """Rename a key; its clients need no change."""
    with open_installation() as here:
        Keys(here.source).rename(name, new_name, here.user())
        _print_key(here, new_name, f"{name} is now called {new_name}.", as_json=as_json)


@keys.command()
@click.argument("name")
@as_json
def revoke(*, name: str, as_json: bool) -> None:
    """Revoke a key permanently, in every running serve within a second.

    Open WebSockets of the key are closed. Its name is free again, and the list still shows it.
    """
    with open_installation() as here:
        Keys(here.source).revoke(name, here.user())
    said = f"{name} is revoked: every running serve refuses it within a second."
    answer({"name": name, "state": "revoked"}, said, as_json=as_json)


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
    """Create a new key and secret under the same name.

    The limits stay. Both are shown this one time.
    """
    with open_installation() as here:
        new = Keys(here.source).rotate(name, grace, here.user())
        _print_new_key(here, name, new, as_json=as_json)
    if not as_json:
        ends_at = new.credential.created_at + (grace or timedelta(0))
        say(f"The old key {f'works until {moment(ends_at)}' if grace else 'no longer works'}.")


def _print_key(here: Installation, name: str, said: str, *, as_json: bool) -> None:
    known = Keys(here.source)
    answer(known.listing().form(known.named(name)), said, as_json=as_json)


def _print_new_key(here: Installation, name: str, new: NewKey, *, as_json: bool) -> None:
    """Print a key and its secret, which cannot be shown again."""
    known, key, secret = Keys(here.source), new.key.reveal(), new.secret.reveal()
    address = authority_of(here.settings.serve.host, here.settings.serve.port)
    answer(
        {"key": key, "secret": secret, **known.listing().form(known.named(name))},
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
        as_json=as_json,
    )
